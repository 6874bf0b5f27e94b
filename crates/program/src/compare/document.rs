//! A comparison of two files as a document.

use view::Document;
use view::comparison::{Compared, ComparedRow, place, two_machines};

use super::comparison::{Comparison, Difference, Missing, Row, Side};

/// Facts that one machine has once.
const MACHINE: [&str; 2] = ["host", "device"];

impl<K> Comparison<K> {
    /// The comparison as a document.
    #[must_use]
    pub fn document(&self) -> Document {
        let place_of = |one: &Missing<_>| place(&one.value.of, one.value.bytes);
        let compared = |row: &Row<K>| ComparedRow {
            of: row.of.clone(),
            bytes: row.bytes,
            unit: row.unit.to_string(),
            values: [row.a, row.b, row.ratio],
            interval: row.interval,
            verdict: row.verdict,
        };
        let mut document = Compared {
            simulated: self.simulated.as_ref(),
            sides: [side("A", &self.a), side("B", &self.b)],
            differences: self.differences.iter().map(words).collect(),
            rows: self.rows.iter().map(compared).collect(),
            lost: self
                .lost
                .iter()
                .map(place_of)
                .chain(self.worse.iter().cloned())
                .collect(),
            untried: self.untried.iter().map(place_of).collect(),
            only: [self.only_a.len(), self.only_b.len()],
            troubles: [&self.a.troubles, &self.b.troubles],
            worse_peers: self.worse_peers,
            threshold: self.threshold,
        }
        .document();
        let is_of_machine = |one: &&Difference| MACHINE.contains(&one.a.what);
        if let Some(differs) = self.differences.iter().find(is_of_machine) {
            document.answer.insert(0, two_machines(&words(differs)));
        }
        document
    }
}

fn words(one: &Difference) -> String {
    let of = match one.a.of.as_str() {
        "" => String::new(),
        of => format!(" of {of}"),
    };
    format!("{}{of} {} in A, {} in B", one.a.what, one.a.value, one.b)
}

/// A file with what is known of its run.
fn side<K>(name: &str, side: &Side<K>) -> String {
    let of_run = side.facts.iter().filter(|fact| fact.of.is_empty());
    let facts = of_run.map(|fact| format!("{} {}", fact.what, fact.value));
    let parts: Vec<String> = side.started.iter().cloned().chain(facts).collect();
    format!("{name}: {} ({})", side.file, parts.join(", "))
}
