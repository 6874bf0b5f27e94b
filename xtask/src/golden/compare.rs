//! Two sets of values against each other: what moved, by how much, the worst first.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::values::{Values, group};

/// A value that is not what it was.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Move {
    pub(super) case: String,
    pub(super) name: String,
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
}

impl Move {
    /// How bad it is, and in a word: words and what is gone stand above numbers, by percent of what they were, what is new below.
    fn weight(&self) -> (f64, Cow<'static, str>) {
        let (Some(old), Some(new)) = (&self.old, &self.new) else {
            return match self.old {
                None => (-1.0, "new".into()),
                Some(_) => (f64::MAX, "gone".into()),
            };
        };
        match (old.parse::<f64>(), new.parse::<f64>()) {
            (Ok(old), Ok(new)) => {
                let percent = 100.0 * (new - old) / old.abs();
                (percent.abs().min(1e300), format!("{percent:+.3}%").into())
            }
            _ => (f64::INFINITY, "word".into()),
        }
    }
}

/// What differs in the cases that `ran` and in those that are `known` no longer, the worst first. `tolerance` is a case's.
pub(super) fn compare(
    old: &Values,
    ran: &Values,
    known: impl Fn(&str) -> bool,
    tolerance: impl Fn(&str) -> f64,
) -> Vec<Move> {
    let mut moves = Vec::new();
    let nothing = Default::default();
    let removed = old.keys().filter(|case| !known(case));
    for case in ran.keys().chain(removed) {
        let before = old.get(case).unwrap_or(&nothing);
        let now = ran.get(case).unwrap_or(&nothing);
        let names = before
            .keys()
            .chain(now.keys().filter(|name| !before.contains_key(*name)));
        for name in names {
            let (old, new) = (before.get(name), now.get(name));
            if !is_same(old, new, tolerance(case)) {
                moves.push(Move {
                    case: case.clone(),
                    name: name.clone(),
                    old: old.cloned(),
                    new: new.cloned(),
                });
            }
        }
    }
    moves.sort_by(|a, b| {
        (b.weight().0)
            .total_cmp(&a.weight().0)
            .then_with(|| (&a.case, &a.name).cmp(&(&b.case, &b.name)))
    });
    moves
}

fn is_same(old: Option<&String>, new: Option<&String>, tolerance: f64) -> bool {
    let (Some(old), Some(new)) = (old, new) else {
        return false;
    };
    old == new
        || match (old.parse::<f64>(), new.parse::<f64>()) {
            (Ok(old), Ok(new)) => (new - old).abs() <= tolerance * old.abs().max(new.abs()),
            _ => false,
        }
}

/// Lines of a table of moves, at most so many, with the count of the rest.
pub(super) fn table(moves: &[&Move], at_most: usize) -> String {
    let row = |one: &&Move| {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let (old, new) = (text(&one.old), text(&one.new));
        let by = one.weight().1.into_owned();
        [by, old, new, one.case.clone(), one.name.clone()]
    };
    let rows: Vec<[String; 5]> = moves.iter().take(at_most).map(row).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    let mut text = String::new();
    for [by, old, new, case, name] in &rows {
        let [a, b, c, d] = widths;
        text.push_str(&format!(
            "  {by:>a$}  {old:>b$} -> {new:<c$}  {case:<d$}  {name}\n"
        ));
    }
    if moves.len() > at_most {
        text.push_str(&format!("  ... and {} more\n", moves.len() - at_most));
    }
    text
}

/// A line with how many values of each group moved: the table may hold one group alone.
pub(super) fn by_group(moves: &[&Move]) -> String {
    let mut groups: BTreeMap<&str, (usize, BTreeSet<&str>)> = BTreeMap::new();
    for one in moves {
        let (count, cases) = groups.entry(group(&one.case)).or_default();
        *count += 1;
        cases.insert(&one.case);
    }
    let text = |(group, (count, cases)): (&&str, &(usize, BTreeSet<&str>))| {
        format!("{group} {count} in {} cases", cases.len())
    };
    let groups: Vec<String> = groups.iter().map(text).collect();
    format!("  by group: {}\n", groups.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: &[(&str, &str, &str)]) -> Values {
        let mut values = Values::new();
        for (case, name, value) in of {
            let of_case: &mut BTreeMap<_, _> = values.entry((*case).to_owned()).or_default();
            of_case.insert((*name).to_owned(), (*value).to_owned());
        }
        values
    }

    #[test]
    fn what_moved_is_found_and_the_worst_is_first() {
        let old = values(&[
            ("a/1", "same", "1.5"),
            ("a/1", "rate", "200"),
            ("a/1", "time", "50"),
            ("a/1", "code", "pass"),
            ("a/1", "lost", "7"),
            ("a/2", "not-run", "1"),
            ("a/3", "removed", "1"),
        ]);
        let ran = values(&[
            ("a/1", "same", "1.5"),
            ("a/1", "rate", "190"),
            ("a/1", "time", "51"),
            ("a/1", "code", "fail"),
            ("a/1", "made", "8"),
        ]);
        let moves = compare(&old, &ran, |case| case != "a/3", |_| 0.0);
        let by: Vec<(String, String)> = moves
            .iter()
            .map(|one| (one.name.clone(), one.weight().1.into_owned()))
            .collect();
        // (190 - 200) / 200 = -5%, (51 - 50) / 50 = 2%.
        let wanted = [
            ("code", "word"),
            ("lost", "gone"),
            ("removed", "gone"),
            ("rate", "-5.000%"),
            ("time", "+2.000%"),
            ("made", "new"),
        ];
        assert_eq!(
            by,
            wanted.map(|(name, by)| (name.to_owned(), by.to_owned()))
        );
        let all: Vec<&Move> = moves.iter().collect();
        assert!(table(&all, 2).ends_with("  ... and 4 more\n"));
        assert_eq!(table(&all, 40).lines().count(), 6);
        assert_eq!(by_group(&all), "  by group: a 6 in 2 cases\n");
    }
}
