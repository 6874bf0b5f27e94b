//! A comparison of two files as a document: a table with the worst first, and at most three sentences.

use record::unit::ByteCount;
use stats::{Interval, Threshold, Verdict};

use crate::cell::{or_absent, shown, significant};
use crate::document::{Block, Document, Item, Next, Section, Table, Tone};

/// Rows that stand on a screen without `-v`.
const MOST: usize = 10;

/// Things that stand in a finding.
const NAMED: usize = 3;

/// Names that a line lists before it counts the rest.
const LISTED: usize = 6;

/// A number of both files.
#[derive(Debug, Clone)]
pub struct ComparedRow {
    /// What it is of.
    pub of: String,
    /// Bytes, where both have the same.
    pub bytes: Option<u64>,
    /// Its unit.
    pub unit: String,
    /// In the baseline, in the new file, and the one over the other.
    pub values: [f64; 3],
    /// 95% interval of the ratio.
    pub interval: Option<Interval>,
    /// What the ratio says.
    pub verdict: Verdict,
}

/// What a document of a comparison is made of.
#[derive(Debug)]
pub struct Compared<'a> {
    /// The simulated machines behind both files.
    pub simulated: Option<&'a (String, String)>,
    /// Both files in a line each.
    pub sides: [String; 2],
    /// What differs beside the numbers.
    pub differences: Vec<String>,
    /// The numbers, the worst first.
    pub rows: Vec<ComparedRow>,
    /// What the new file tried and has no number of.
    pub lost: Vec<String>,
    /// What it did not try.
    pub untried: Vec<String>,
    /// Numbers that one file alone has.
    pub only: [usize; 2],
    /// What both files say of themselves.
    pub troubles: [&'a [String]; 2],
    /// Ordered pairs of devices whose peer access got worse.
    pub worse_peers: usize,
    /// What counts as a difference.
    pub threshold: Threshold,
}

impl Compared<'_> {
    /// The document.
    #[must_use]
    pub fn document(self) -> Document {
        let count = |verdict| {
            self.rows
                .iter()
                .filter(|row| row.verdict == verdict)
                .count()
        };
        let worse = count(Verdict::Regression);
        let judged = self.rows.len() - count(Verdict::NotJudged);
        let is_worse = worse + self.lost.len() + self.worse_peers > 0;
        let tone = match (is_worse, judged) {
            (true, _) => Tone::Bad,
            (false, 0) => Tone::Warning,
            (false, _) if !self.untried.is_empty() => Tone::Warning,
            (false, _) => Tone::Good,
        };
        let percent = self.threshold.0 * 100.0;
        let head = match (is_worse, judged) {
            (true, _) if self.lost.is_empty() && count(Verdict::Faster) > worse => {
                "B is better in most, and worse in some"
            }
            (true, _) => "B is worse",
            (false, 0) => "Nothing could be compared",
            (false, _) => "B is not worse",
        };
        let mut parts = vec![format!("{worse} of {judged} worse by more than {percent}%")];
        let further = [
            (count(Verdict::Faster), "better"),
            (count(Verdict::Unclear), "not told apart"),
            (self.lost.len(), "lost"),
            (self.untried.len(), "not tried"),
        ];
        let further = further.iter().filter(|(count, _)| *count > 0);
        parts.extend(further.map(|(count, words)| format!("{count} {words}")));
        let mut answer = vec![format!("{head}: {}.", parts.join(", "))];
        if let Some(row) = self.rows.first().filter(|_| worse > 0) {
            let [a, b, ratio] = row.values.map(significant);
            let unit = &row.unit;
            answer.push(format!(
                "Worst: {}: {a} to {b} {unit} ({ratio} of A).",
                place(&row.of, row.bytes)
            ));
        }
        let mut next = Vec::new();
        if count(Verdict::Unclear) > 0 {
            next.push(Next::plain(
                "Measure again with more samples: some are not told apart.",
            ));
        }
        Document {
            title: "Comparison with a baseline".to_owned(),
            simulated: self.simulated.map(|(a, b)| format!("{a} (A), {b} (B)")),
            tone,
            answer,
            findings: self.findings(),
            next,
            sections: self.sections(),
            ..Document::default()
        }
    }

    fn findings(&self) -> Vec<Item> {
        let mut all = Vec::new();
        if !self.lost.is_empty() {
            let text = format!("Lost in B: {}.", listed(&few(&self.lost), ", "));
            all.push(Item::of(Tone::Bad, text).coded("slower"));
        }
        if self.worse_peers > 0 {
            let text = format!("Peer access got worse in {} directions.", self.worse_peers);
            all.push(Item::of(Tone::Bad, text).coded("peer-not-direct"));
        }
        if !self.untried.is_empty() {
            let text = format!("Not tried in B: {}.", listed(&few(&self.untried), ", "));
            all.push(Item::of(Tone::Warning, text).coded("not-compared"));
        }
        if !self.differences.is_empty() {
            let text = format!("The runs differ: {}.", few(&self.differences).join("; "));
            all.push(Item::of(Tone::Warning, text).coded("runs-differ"));
        }
        all
    }

    fn sections(&self) -> Vec<Section> {
        let shown = self.rows.len().min(MOST);
        let mut sections = Vec::new();
        if shown > 0 {
            let heading = match self.rows.len() {
                all if all > shown => {
                    format!("A (baseline) and B, the worst {shown} of {all} numbers")
                }
                _ => "A (baseline) and B, the worst first".to_owned(),
            };
            let block = Block::Table(table(&self.rows[..shown]));
            sections.push(Section::new(heading, vec![block]));
        }
        if self.rows.len() > shown {
            let block = Block::Table(table(&self.rows[shown..]));
            sections.push(Section::detail("The others", vec![block]));
        }
        let lists = [
            ("Files", self.sides.to_vec()),
            ("What differs", self.differences.clone()),
            ("Lost in B", self.lost.clone()),
            ("Not tried in B", self.untried.clone()),
            ("A says", self.troubles[0].to_vec()),
            ("B says", self.troubles[1].to_vec()),
            (
                "In one file only",
                vec![format!("A {}, B {}", self.only[0], self.only[1])],
            ),
        ];
        let lists = lists.into_iter().filter(|(_, lines)| !lines.is_empty());
        sections.extend(
            lists.map(|(heading, lines)| Section::detail(heading, vec![Block::list(lines)])),
        );
        sections
    }
}

fn few(all: &[String]) -> Vec<String> {
    let mut shown: Vec<String> = all.iter().take(NAMED).cloned().collect();
    if all.len() > NAMED {
        shown.push(format!("{} more", all.len() - NAMED));
    }
    shown
}

/// What is said first of files in which this shows two machines.
#[must_use]
pub fn two_machines(differs: &str) -> String {
    format!("A and B may be of two machines: {differs}.")
}

/// A number's name, with its bytes where they are known.
#[must_use]
pub fn place(of: &str, bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) => format!("{of}, {}", ByteCount(bytes)),
        None => of.to_owned(),
    }
}

/// What a ratio says, in a table.
#[must_use]
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regression => "worse",
        Verdict::Unclear => "not told apart",
        Verdict::Same => "the same",
        Verdict::Faster => "better",
        Verdict::NotJudged => "not judged",
    }
}

fn table(rows: &[ComparedRow]) -> Table {
    let mut table = Table::under([
        "",
        "size",
        "A",
        "B",
        "unit",
        "B/A",
        "95% interval",
        "verdict",
    ]);
    for row in rows {
        let [a, b, ratio] = row.values;
        table.row([
            row.of.clone(),
            shown(row.bytes.map(ByteCount)),
            significant(a),
            significant(b),
            row.unit.clone(),
            format!("{ratio:.3}"),
            or_absent(
                row.interval
                    .map(|of| format!("{:.3}-{:.3}", of.low, of.high)),
            ),
            verdict(row.verdict).to_owned(),
        ]);
    }
    // Of things without a size, none.
    if rows.iter().all(|row| row.bytes.is_none()) {
        table.heads.remove(1);
        table.rows.iter_mut().for_each(|row| drop(row.remove(1)));
    }
    table
}

/// The first few of a list, and how many more there are.
#[must_use]
pub fn listed(all: &[String], between: &str) -> String {
    let shown = all.iter().take(LISTED).cloned().collect::<Vec<_>>();
    match all.len().saturating_sub(LISTED) {
        0 => shown.join(between),
        more => format!("{} and {more} more", shown.join(between)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_counted() {
        let all: Vec<String> = (0..8).map(|number| number.to_string()).collect();
        assert_eq!(listed(&all, ", "), "0, 1, 2, 3, 4, 5 and 2 more");
        assert_eq!(listed(&all[..6], ", "), "0, 1, 2, 3, 4, 5");
    }
}
