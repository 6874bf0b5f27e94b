//! The table of ceilings: read, compared with what is counted, tightened, written.
//!
//! It counts nothing and opens no file.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use toml::Value;

use crate::tidy::finding::Finding;

/// Where the table stands below the repository's root.
pub(crate) const FILE: &str = "xtask/ratchets.toml";

/// What stands above the rows; `tighten` writes it anew.
const HEAD: &str = "\
# Ceilings of every crate and page, which `cargo xtask tidy` checks. They fall: `cargo xtask tidy --tighten` writes today's
# value where that is lower, and rows for what is new. A rise is written by hand, with its reason:
#     code = { at = 1100, was = 1000, reason = \"reads the reports of tool X\" }
# How lines, circles and sentences are counted: xtask/src/tidy/ratchet/.

";

/// The most that something may count.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ceiling {
    at: usize,
    raised: Option<Raise>,
}

/// Why a ceiling rose, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Raise {
    was: usize,
    reason: String,
}

/// The name of a crate or page, and what is counted of it.
pub(crate) type Key = (String, String);

/// Every ceiling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table(BTreeMap<Key, Ceiling>);

impl Table {
    /// Reads the file's text.
    pub(crate) fn parse(text: &str) -> Result<Table> {
        let mut ceilings = BTreeMap::new();
        for (name, row) in text.parse::<toml::Table>()? {
            let row = row.as_table().context("each row is a table")?;
            for (what, value) in row {
                let ceiling = Ceiling::parse(value).with_context(|| format!("{name}: {what}"))?;
                ceilings.insert((name.clone(), what.clone()), ceiling);
            }
        }
        Ok(Table(ceilings))
    }

    /// Writes the file's text.
    pub(crate) fn render(&self) -> String {
        let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for ((name, what), ceiling) in &self.0 {
            let cell = format!("{what} = {}", ceiling.render());
            rows.entry(name).or_default().push(cell);
        }
        let rows = rows
            .iter()
            .map(|(name, cells)| format!("\"{name}\" = {{ {} }}\n", cells.join(", ")));
        HEAD.to_owned() + &rows.collect::<String>()
    }

    /// Returns a ceiling for everything that is counted: as low as the count or as it was.
    pub(crate) fn tightened(&self, counts: &BTreeMap<Key, usize>) -> Table {
        let ceilings = counts.iter().map(|(key, count)| {
            let old = self.0.get(key).cloned();
            (key.clone(), Ceiling::lowered(old, *count))
        });
        Table(ceilings.collect())
    }

    /// Finds counts above their ceilings, counts without one, and ceilings of nothing.
    pub(crate) fn check(&self, counts: &BTreeMap<Key, usize>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (key @ (name, what), count) in counts {
            match self.0.get(key).map(|ceiling| ceiling.at) {
                None => findings.push(format!(
                    "{name}: {what} has no ceiling; run `cargo xtask tidy --tighten`"
                )),
                Some(at) if *count > at => findings.push(format!(
                    "{name}: {what} rose from {at} to {count}; cut it, or raise it with a reason"
                )),
                Some(_) => {}
            }
        }
        for (name, what) in self.0.keys().filter(|key| !counts.contains_key(*key)) {
            findings.push(format!(
                "{name}: {what} is gone; run `cargo xtask tidy --tighten`"
            ));
        }
        findings.into_iter().map(Finding::whole).collect()
    }

    /// Finds ceilings that are higher than before and do not say so.
    pub(crate) fn check_raises(&self, before: &Table) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (key @ (name, what), Ceiling { at, raised }) in &self.0 {
            let old = before.0.get(key).map_or(*at, |before| before.at);
            if *at > old && raised.as_ref().is_none_or(|raise| raise.was != old) {
                findings.push(Finding::whole(format!(
                    "{name}: write {what} = {{ at = {at}, was = {old}, reason = \"...\" }}"
                )));
            }
        }
        findings
    }

    /// How far the ceilings stand above the counts, summed by what is counted.
    pub(crate) fn room(&self, counts: &BTreeMap<Key, usize>) -> BTreeMap<&str, usize> {
        let mut room = BTreeMap::new();
        for (key, Ceiling { at, .. }) in &self.0 {
            if let Some(count) = counts.get(key).filter(|count| *count < at) {
                *room.entry(key.1.as_str()).or_default() += at - count;
            }
        }
        room
    }
}

impl Ceiling {
    /// Reads a number, or a raise: `{ at, was, reason }`.
    fn parse(value: &Value) -> Result<Ceiling> {
        let number = |value: Option<&Value>| {
            let number = value.and_then(Value::as_integer).map(usize::try_from);
            let number = number.context("write a number, or { at = N, was = N, reason = \"...\" }");
            anyhow::Ok(number??)
        };
        let Some(raise) = value.as_table() else {
            let (at, raised) = (number(Some(value))?, None);
            return Ok(Ceiling { at, raised });
        };
        let (at, was) = (number(raise.get("at"))?, number(raise.get("was"))?);
        let reason = raise.get("reason").and_then(Value::as_str).unwrap_or("");
        if at <= was || reason.trim().is_empty() {
            bail!("a raise has `at` above `was`, and a `reason`");
        }
        let reason = reason.to_owned();
        let raised = Some(Raise { was, reason });
        Ok(Ceiling { at, raised })
    }

    fn render(&self) -> String {
        let at = self.at;
        let Some(Raise { was, reason }) = &self.raised else {
            return at.to_string();
        };
        let reason = Value::from(reason.as_str());
        format!("{{ at = {at}, was = {was}, reason = {reason} }}")
    }

    /// As low as the count; a reason stays while the count is above what it was.
    fn lowered(old: Option<Ceiling>, count: usize) -> Ceiling {
        let (at, raised) = old.map_or((count, None), |old| (old.at, old.raised));
        Ceiling {
            at: at.min(count),
            raised: raised.filter(|raise| count > raise.was),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAISED: &str = "a = { code = { at = 12, was = 10, reason = \"reads \\\"x\\\"\" } }";

    fn table(text: &str) -> Table {
        Table::parse(text).unwrap()
    }

    fn code(count: usize) -> BTreeMap<Key, usize> {
        BTreeMap::from([(("a".to_owned(), "code".to_owned()), count)])
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in [
            "",
            "a = { code = 1, tests = 0 }\n\"b/c.md\" = { lines = 3 }",
            RAISED,
        ] {
            assert_eq!(table(&table(text).render()), table(text), "{text}");
        }
    }

    #[test]
    fn a_ceiling_is_a_number_or_a_raise_with_a_reason() {
        for value in [
            "-1",
            "\"1\"",
            "{ at = 2 }",
            "{ at = 2, was = 1 }",
            "{ at = 2, was = 1, reason = \" \" }",
            "{ at = 2, was = 2, reason = \"x\" }",
        ] {
            assert!(
                Table::parse(&format!("a = {{ code = {value} }}")).is_err(),
                "{value}"
            );
        }
        assert!(Table::parse("a = 1").is_err());
    }

    #[test]
    fn a_count_above_its_ceiling_is_found_and_one_below_is_room() {
        let ceiling = table("a = { code = 10 }");
        for (count, findings, room) in [(11, 1, None), (10, 0, None), (7, 0, Some(10 - 7))] {
            assert_eq!(ceiling.check(&code(count)).len(), findings, "{count}");
            assert_eq!(
                ceiling.room(&code(count)).get("code").copied(),
                room,
                "{count}"
            );
        }
    }

    #[test]
    fn what_has_no_ceiling_and_a_ceiling_of_nothing_are_found() {
        assert_eq!(table("").check(&code(0)).len(), 1);
        assert_eq!(
            table("a = { code = 1 }\nb = { code = 1, tests = 1 }")
                .check(&code(1))
                .len(),
            2
        );
        assert_eq!(
            table("b = { code = 1 }").tightened(&code(4)),
            table("a = { code = 4 }")
        );
    }

    #[test]
    fn tightening_never_raises_and_keeps_the_reason_while_it_is_needed() {
        for (before, count, after) in [
            ("a = { code = 10 }", 11, "a = { code = 10 }"),
            ("a = { code = 10 }", 9, "a = { code = 9 }"),
            (RAISED, 12, RAISED),
            (RAISED, 11, &RAISED.replace("12", "11")),
            (RAISED, 10, "a = { code = 10 }"),
        ] {
            assert_eq!(
                table(before).tightened(&code(count)),
                table(after),
                "{before} {count}"
            );
        }
    }

    #[test]
    fn a_raise_names_the_ceiling_that_was() {
        for (before, now, findings) in [
            ("a = { code = 10 }", "a = { code = 12 }", 1),
            ("a = { code = 10 }", RAISED, 0),
            ("a = { code = 9 }", RAISED, 1),
            ("a = { code = 10 }", "a = { code = 9 }", 0),
            (RAISED, RAISED, 0),
            (RAISED, &RAISED.replace("12", "13"), 1),
            ("", "a = { code = 12 }", 0),
        ] {
            let found = table(now).check_raises(&table(before));
            assert_eq!(found.len(), findings, "{before} {now}");
        }
    }
}
