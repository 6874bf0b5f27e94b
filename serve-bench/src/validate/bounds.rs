//! What must hold, and whether it does.

use serde::Serialize;

use super::judge::COMMUNICATION;
use super::report::Report;
use super::slopes::Planted;
use super::tally::Share;

/// Where the coverage of a 90% interval must lie.
const COVERAGE: (f64, f64) = (0.85, 0.95);

/// The same at least where an assumption is broken and nothing is refused.
const BROKEN: f64 = 0.8;

/// Claims of communication where there is none, at most.
const FALSE_CLAIMS: f64 = 0.05;

/// Slope tests that name what is planted, at least, where their design can tell it.
const NAMED: f64 = 0.9;

/// One bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Bound {
    /// What it is about.
    pub(super) of: String,
    /// Smallest share that is right.
    pub(super) low: f64,
    /// Largest share that is right.
    pub(super) high: f64,
    /// What was found.
    pub(super) found: Share,
    /// Whether it holds.
    pub(super) holds: bool,
}

impl Bound {
    /// Whether it holds, in a word: `open` where it does not, and the share's own interval reaches what is wanted.
    pub(super) fn word(&self) -> &'static str {
        let Share { n, low, high, .. } = self.found;
        match self.holds {
            true => "ok",
            false if n > 0 && low <= self.high && self.low <= high => "open",
            false => "MISS",
        }
    }
}

/// Every bound of the report.
pub(super) fn bounds(report: &Report) -> Vec<Bound> {
    let mut bounds = Vec::new();
    let mut add = |of: String, (low, high): (f64, f64), found: Share| {
        bounds.push(Bound {
            of,
            low,
            high,
            found,
            holds: (low..=high).contains(&found.share) && found.n > 0,
        });
    };
    for row in &report.kept.rows {
        add(format!("coverage, {}", row.bar), COVERAGE, row.held);
    }
    add(
        "communication claimed where there is none".to_owned(),
        (0.0, FALSE_CLAIMS),
        report.false_claims,
    );
    for section in &report.broken {
        let Some(broken) = section.broken.filter(|broken| broken.is_bound()) else {
            continue;
        };
        let found = match section.row(COMMUNICATION) {
            Some(row) => row.held,
            // All refused, or nothing claimed: as good as held.
            None => Share::new(section.cases, section.cases),
        };
        add(
            format!("coverage, communication, {}", broken.words()),
            (BROKEN, 1.0),
            found,
        );
    }
    for row in &report.slopes {
        let words = row.planted.words();
        if row.planted == Planted::Count {
            add(format!("slope, {words}: coverage"), COVERAGE, row.held);
        } else {
            add(format!("slope, {words}: named"), (NAMED, 1.0), row.named);
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_few_cases_leave_open_is_no_miss() {
        let word = |of: usize, n: usize| {
            let found = Share::new(of, n);
            let (low, high) = COVERAGE;
            Bound {
                of: String::new(),
                low,
                high,
                found,
                holds: (low..=high).contains(&found.share),
            }
            .word()
        };
        // 48 of 58 are 82.8%, by Wilson 71.1 to 90.4: 85% is among them. 480 of 580 are 79.5 to 85.6, and 400 of 580 at most 72.6.
        assert_eq!(word(48, 58), "open");
        assert_eq!(word(480, 580), "open");
        assert_eq!(word(400, 580), "MISS");
        assert_eq!(word(52, 58), "ok");
    }
}
