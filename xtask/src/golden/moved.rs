//! `golden/moved.toml`: which values were meant to move, how far, and why.
//!
//! An entry allows moves until `--write` has taken them into the values and stamped it with what it was used for (`applied`); after that it is
//! history. So no entry lets a later change through.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::compare::{Change, Move};

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Moved {
    #[serde(default)]
    moved: Vec<Entry>,
}

/// What may move.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Id of the case; `*` stands for anything.
    case: String,
    /// Name of the value; `*` stands for anything.
    name: String,
    /// `2.5%` (a number by so much at most), `word`, `new`, `gone`.
    allows: Vec<String>,
    reason: String,
    /// What it was used for; written by the program.
    #[serde(default)]
    applied: Option<String>,
}

/// A reason that is shorter says nothing.
const SHORTEST_REASON: usize = 12;

impl Moved {
    /// Reads the file's text.
    ///
    /// # Errors
    /// It does not read, or an entry has no reason or allows what is unknown.
    pub(super) fn parse(text: &str) -> Result<Moved> {
        let moved: Moved = toml::from_str(text).context("moved.toml does not read")?;
        for entry in &moved.moved {
            let long = entry.reason.trim().len() >= SHORTEST_REASON;
            ensure!(long, "{} {}: give a reason", entry.case, entry.name);
            for allowed in &entry.allows {
                let is_percent = percent(allowed).is_some();
                if !is_percent && !["word", "new", "gone"].contains(&allowed.as_str()) {
                    bail!("`{allowed}` is none of 2.5%, word, new, gone");
                }
            }
        }
        Ok(moved)
    }

    /// The number of the first entry that allows a move and was not applied.
    pub(super) fn allows(&self, one: &Move) -> Option<usize> {
        self.moved.iter().position(|entry| entry.allows(one))
    }

    /// The open entries that allow nothing of these moves and whose case is wanted, as `CASE NAME`.
    pub(super) fn idle(&self, moves: &[Move], wanted: impl Fn(&str) -> bool) -> Vec<String> {
        self.open(wanted, |entry| !moves.iter().any(|one| entry.allows(one)))
    }

    /// The open entries that allow some of these moves and whose case is wanted, as `CASE NAME`.
    pub(super) fn used(&self, moves: &[Move], wanted: impl Fn(&str) -> bool) -> Vec<String> {
        self.open(wanted, |entry| moves.iter().any(|one| entry.allows(one)))
    }

    fn open(&self, wanted: impl Fn(&str) -> bool, is: impl Fn(&Entry) -> bool) -> Vec<String> {
        let open = self.moved.iter().filter(|entry| entry.applied.is_none());
        open.filter(|entry| wanted(&entry.case) && is(entry))
            .map(|entry| format!("{} {}", entry.case, entry.name))
            .collect()
    }

    /// The file's text with a stamp in each entry that these moves used.
    pub(super) fn stamped(&self, text: &str, moves: &[Move]) -> String {
        let mut stamps = Vec::new();
        for number in 0..self.moved.len() {
            let used: Vec<&Move> = moves
                .iter()
                .filter(|one| self.allows(one) == Some(number))
                .collect();
            stamps.push((!used.is_empty()).then(|| summary(&used)));
        }
        let mut stamps = stamps.into_iter();
        let mut stamped = String::new();
        for line in text.lines() {
            stamped.push_str(line);
            stamped.push('\n');
            if line.trim() == "[[moved]]"
                && let Some(Some(stamp)) = stamps.next()
            {
                // Writing to a string does not fail.
                let _ = writeln!(stamped, "applied = \"{stamp}\"");
            }
        }
        stamped
    }
}

impl Entry {
    fn allows(&self, one: &Move) -> bool {
        self.applied.is_none()
            && glob(&self.case, &one.case)
            && glob(&self.name, &one.name)
            && self.allows.iter().any(|allowed| match one.change() {
                Change::Number(by) => percent(allowed).is_some_and(|most| by.abs() <= most),
                Change::Word => allowed == "word",
                Change::New => allowed == "new",
                Change::Gone => allowed == "gone",
            })
    }
}

/// `2.5%` as a number.
fn percent(text: &str) -> Option<f64> {
    text.strip_suffix('%')?.trim().parse().ok()
}

/// How many values moved, and the numbers among them from where to where.
fn summary(moves: &[&Move]) -> String {
    let percents = moves.iter().filter_map(|one| match one.change() {
        Change::Number(percent) => Some(percent),
        _ => None,
    });
    let (low, high) = percents.fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(low, high), percent| (low.min(percent), high.max(percent)),
    );
    match low <= high {
        true => format!("{} values, {low:+.3}% to {high:+.3}%", moves.len()),
        false => format!("{} values", moves.len()),
    }
}

/// Whether a text is as a pattern says, in which `*` stands for anything.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len())
                .filter(|at| rest.is_char_boundary(*at))
                .any(|at| glob(after, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Why.\n[[moved]]\ncase = 'explain/*'\nname = 'bar*'\nallows = ['2%', 'new']\nreason = 'the prior of GEMMs is narrower'\n";

    fn one(case: &str, name: &str, old: Option<&str>, new: Option<&str>) -> Move {
        Move {
            case: case.to_owned(),
            name: name.to_owned(),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
        }
    }

    #[test]
    fn an_entry_allows_what_it_names_as_far_as_it_says() {
        let moved = Moved::parse(TEXT).unwrap();
        let allows = |case, name, old, new| moved.allows(&one(case, name, old, new)).is_some();
        assert!(allows(
            "explain/case2",
            "bar[x]",
            Some("100"),
            Some("101.9")
        ));
        assert!(allows("explain/case2", "bar[x]", None, Some("1")));
        assert!(!allows(
            "explain/case2",
            "bar[x]",
            Some("100"),
            Some("102.1")
        ));
        assert!(!allows("explain/case2", "bar[x]", Some("1"), None));
        assert!(!allows("explain/case2", "bar[x]", Some("A"), Some("B")));
        assert!(!allows("explain/case2", "step", Some("100"), Some("101")));
        assert!(!allows("predict/case2", "bar[x]", Some("100"), Some("101")));
    }

    #[test]
    fn an_entry_that_was_applied_allows_nothing_more() {
        let moved = Moved::parse(TEXT).unwrap();
        let moves = [
            one("explain/case2", "bar[x]", Some("100"), Some("101")),
            one("explain/case2", "bar[y]", Some("100"), Some("99.5")),
        ];
        let text = moved.stamped(TEXT, &moves);
        assert!(
            text.contains("[[moved]]\napplied = \"2 values, -0.500% to +1.000%\"\n"),
            "{text}"
        );
        let again = Moved::parse(&text).unwrap();
        assert_eq!(again.allows(&moves[0]), None);
        assert_eq!(again.idle(&[], |_| true), [""; 0]);
        // An open entry of which nothing came is named.
        assert_eq!(moved.idle(&[], |_| true), ["explain/* bar*"]);
        assert_eq!(moved.idle(&moves, |_| true), [""; 0]);
    }

    #[test]
    fn entries_without_reason_or_sense_are_refused() {
        let entry = |allows: &str, reason: &str| {
            Moved::parse(&format!(
                "[[moved]]\ncase = 'a/b'\nname = '*'\nallows = ['{allows}']\nreason = '{reason}'\n"
            ))
        };
        assert!(entry("2%", "a long enough reason").is_ok());
        assert!(entry("2%", "   ").is_err());
        assert!(entry("all", "a long enough reason").is_err());
    }

    #[test]
    fn stars_stand_for_anything() {
        assert!(glob("a*c*", "abcd") && glob("*", "") && glob("a[b]", "a[b]"));
        assert!(!glob("a*c", "abd") && !glob("ab", "abc"));
    }
}
