//! The table of ceilings: read, compared with what is counted, tightened, written.
//!
//! It counts nothing and opens no file. Git says who raised a ceiling.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// Where the table stands below the repository's root.
pub(crate) const FILE: &str = "xtask/ratchets.toml";

/// What stands above the rows; `tighten` writes it anew.
const HEAD: &str = "\
# Ceilings of every crate and page, which `cargo xtask tidy` checks. They fall: `cargo xtask tidy --tighten` writes today's
# value where that is lower, and rows for what is new. A rise is written by hand, and its commit says why.
# How lines, circles and sentences are counted: xtask/src/tidy/ratchet/.

";

/// The name of a crate or page, and what is counted of it.
pub(crate) type Key = (String, String);

/// The most that each thing may count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table(BTreeMap<Key, usize>);

impl Table {
    /// Reads the file's text.
    pub(crate) fn parse(text: &str) -> Result<Table> {
        let rows: BTreeMap<String, BTreeMap<String, usize>> =
            toml::from_str(text).context("write rows of numbers")?;
        let cells = rows.into_iter().flat_map(|(name, row)| {
            row.into_iter()
                .map(move |(what, at)| ((name.clone(), what), at))
        });
        Ok(Table(cells.collect()))
    }

    /// Writes the file's text.
    pub(crate) fn render(&self) -> String {
        let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for ((name, what), at) in &self.0 {
            rows.entry(name).or_default().push(format!("{what} = {at}"));
        }
        let rows = rows
            .iter()
            .map(|(name, cells)| format!("\"{name}\" = {{ {} }}\n", cells.join(", ")));
        HEAD.to_owned() + &rows.collect::<String>()
    }

    /// Returns a ceiling for everything that is counted: as low as the count or as it was.
    pub(crate) fn tightened(&self, counts: &BTreeMap<Key, usize>) -> Table {
        let lowered = counts.iter().map(|(key, count)| {
            let at = self.0.get(key).map_or(*count, |at| *at.min(count));
            (key.clone(), at)
        });
        Table(lowered.collect())
    }

    /// Finds counts above their ceilings, counts without one, and ceilings of nothing.
    pub(crate) fn check(&self, counts: &BTreeMap<Key, usize>) -> Vec<String> {
        let mut findings = Vec::new();
        for (key @ (name, what), count) in counts {
            match self.0.get(key) {
                None => findings.push(format!(
                    "{name}: {what} has no ceiling; run `cargo xtask tidy --tighten`"
                )),
                Some(at) if count > at => findings.push(format!(
                    "{name}: {what} rose from {at} to {count}; cut it, or raise its ceiling"
                )),
                Some(_) => {}
            }
        }
        for (name, what) in self.0.keys().filter(|key| !counts.contains_key(*key)) {
            findings.push(format!(
                "{name}: {what} is gone; run `cargo xtask tidy --tighten`"
            ));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        Table::parse(text).unwrap()
    }

    fn code(count: usize) -> BTreeMap<Key, usize> {
        BTreeMap::from([(("a".to_owned(), "code".to_owned()), count)])
    }

    #[test]
    fn a_count_above_its_ceiling_and_one_without_are_found() {
        let found = |text: &str, count| table(text).check(&code(count)).len();
        assert_eq!(
            [
                found("a = { code = 10 }", 11),
                found("a = { code = 10 }", 10),
                found("", 0),
                found("a = { code = 1 }\nb = { code = 1, tests = 1 }", 1)
            ],
            [1, 0, 1, 2]
        );
    }
}
