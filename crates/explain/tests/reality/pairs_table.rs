//! The table of pairs, and what can be said of all of them together.

use crate::reality::fits::median;
use crate::reality::judged::{
    Judged, error, fit_ratios, gains, holds, r9700, rtx_pro_6000, silicon,
};
use crate::reality::rows::{HELD_OUT, ROWS};
use explain::Range;

/// A way to say the time of a size.
struct Way {
    name: &'static str,
    says: fn(&Judged) -> Option<f64>,
    /// Where it has one.
    interval: Option<fn(&Judged) -> Option<Range>>,
}

const ROOFLINE: Way = Way {
    name: "links and roofline",
    says: |row| Some(row.roofline.mid),
    interval: Some(|row| Some(row.roofline)),
};

const FROM_ONE: Way = Way {
    name: "from TP1",
    says: |row| row.from_one.map(|range| range.mid),
    interval: Some(|row| row.from_one),
};

const CONSTANT: Way = Way {
    name: "TP1 / 1.6 per doubling",
    says: |row| row.constant,
    interval: None,
};

const FITTED: Way = Way {
    name: "TP1 / the other sets' ratio",
    says: |row| row.fitted,
    interval: None,
};

const HOCKNEY: Way = Way {
    name: "from TP1 with Hockney",
    says: |row| row.hockney,
    interval: None,
};

const WAYS: [Way; 5] = [ROOFLINE, FROM_ONE, CONSTANT, FITTED, HOCKNEY];

impl Way {
    fn error(&self, row: &Judged) -> Option<f64> {
        Some(error((self.says)(row)?, row.measured))
    }

    /// Median of the errors without their sign; `None` where it says nothing of any.
    fn median(&self, rows: &[&Judged]) -> Option<f64> {
        let errors: Vec<f64> = self.errors(rows);
        (!errors.is_empty()).then(|| median(&errors))
    }

    fn errors(&self, rows: &[&Judged]) -> Vec<f64> {
        let errors = rows.iter().filter_map(|row| self.error(row));
        errors.map(f64::abs).collect()
    }

    /// How many of how many measured times its interval holds.
    fn held(&self, rows: &[&Judged]) -> Option<(usize, usize)> {
        let interval = self.interval?;
        let all: Vec<bool> = rows
            .iter()
            .filter_map(|row| Some(holds(&interval(row)?, row.measured)))
            .collect();
        Some((all.iter().filter(|held| **held).count(), all.len()))
    }

    /// Rows of which it is nearer than another, of those that both say something of.
    fn nearer(&self, other: &Self, rows: &[&Judged]) -> (usize, usize) {
        let both = rows
            .iter()
            .filter_map(|row| Some((self.error(row)?.abs(), other.error(row)?.abs())));
        let all: Vec<bool> = both.map(|(own, others)| own < others).collect();
        (all.iter().filter(|won| **won).count(), all.len())
    }
}

fn percent(error: Option<f64>) -> String {
    error.map_or("—".to_owned(), |error| format!("{:.1}%", 100.0 * error))
}

fn line(row: &Judged) -> String {
    let with_error = |range: Option<Range>| match range {
        Some(range) => format!(
            "{:.1} [{:.1}, {:.1}], {:+.0}%",
            range.mid,
            range.low,
            range.high,
            100.0 * error(range.mid, row.measured)
        ),
        None => "—".to_owned(),
    };
    let other = |way: &Way| {
        let error = way.error(row);
        error.map_or("—".to_owned(), |error| format!("{:+.0}%", 100.0 * error))
    };
    format!(
        "| {} | {} | {} | {:.2} | {} | {} | {} | {} | {} |",
        row.set,
        row.load,
        row.tp,
        row.measured,
        with_error(Some(row.roofline)),
        with_error(row.from_one),
        other(&CONSTANT),
        other(&FITTED),
        other(&HOCKNEY)
    )
}

/// Prints the rows, and medians by size, by set and over all.
fn print(title: &str, rows: &[&Judged]) {
    println!("\n{title}\n");
    println!(
        "| Server | Load | TP | Measured, ms | Links and roofline, ms [5%, 95%], error | From TP1, ms [5%, 95%], error | TP1 / 1.6 per doubling | TP1 / other sets' ratio | From TP1 with Hockney |"
    );
    println!("|---|---|--:|--:|---|---|--:|--:|--:|");
    for row in rows {
        println!("{}", line(row));
    }
    println!("\n| Rows | n | Median error | Largest | Within [5%, 95%] |");
    println!("|---|--:|--:|--:|--:|");
    let several: Vec<&Judged> = rows.iter().copied().filter(|row| row.tp > 1).collect();
    let one = |name: &str, way: &Way, rows: &[&Judged]| {
        let errors = way.errors(rows);
        let held = way.held(rows);
        println!(
            "| {name} | {} | {} | {:.0}% | {} |",
            errors.len(),
            percent(way.median(rows)),
            100.0 * errors.iter().copied().fold(0.0, f64::max),
            held.map_or("—".to_owned(), |(held, of)| format!("{held} of {of}"))
        );
    };
    one("links and roofline, with one GPU", &ROOFLINE, rows);
    one("links and roofline, several GPUs", &ROOFLINE, &several);
    for way in &WAYS[1..] {
        one(way.name, way, &several);
    }
    println!(
        "\n| TP | n | links and roofline | from TP1 | TP1 / 1.6 | TP1 / other sets' ratio | from TP1 nearer than 1.6 | than the ratio |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|");
    for tp in [2, 4, 8] {
        let of_size: Vec<&Judged> = several
            .iter()
            .copied()
            .filter(|row| row.tp == tp && row.from_one.is_some())
            .collect();
        let of = |way: &Way| percent(way.median(&of_size));
        let won = |other: &Way| {
            let (won, of) = FROM_ONE.nearer(other, &of_size);
            format!("{won} of {of}")
        };
        println!(
            "| {tp} | {} | {} | {} | {} | {} | {} | {} |",
            of_size.len(),
            of(&ROOFLINE),
            of(&FROM_ONE),
            of(&CONSTANT),
            of(&FITTED),
            won(&CONSTANT),
            won(&FITTED)
        );
    }
    println!(
        "\n| Server | n | links and roofline | within | from TP1 | within | TP1 / 1.6 | TP1 / other sets' ratio |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    let mut sets: Vec<&str> = rows.iter().map(|row| row.set.as_str()).collect();
    sets.dedup();
    for set in sets {
        let of_set: Vec<&Judged> = several
            .iter()
            .copied()
            .filter(|row| row.set == set)
            .collect();
        let held = |way: &Way| {
            let held = way.held(&of_set).filter(|(_, of)| *of > 0);
            held.map_or("—".to_owned(), |(held, of)| format!("{held} of {of}"))
        };
        println!(
            "| {set} | {} | {} | {} | {} | {} | {} | {} |",
            of_set.len(),
            percent(ROOFLINE.median(&of_set)),
            held(&ROOFLINE),
            percent(FROM_ONE.median(&of_set)),
            held(&FROM_ONE),
            percent(CONSTANT.median(&of_set)),
            percent(FITTED.median(&of_set))
        );
    }
}

/// The rows that were there when the model was changed.
fn seen() -> Vec<Judged> {
    let mut judged = silicon(&ROWS);
    judged.extend(rtx_pro_6000());
    judged.extend(r9700());
    let known = gains(&judged);
    fit_ratios(&mut judged, &known);
    judged
}

#[test]
fn published_pairs_are_predicted_better_than_by_a_constant() {
    let judged = seen();
    let rows: Vec<&Judged> = judged.iter().collect();
    print("Rows that the model was changed on", &rows);
    let both: Vec<&Judged> = rows
        .iter()
        .copied()
        .filter(|row| row.from_one.is_some())
        .collect();
    let (from_one, constant) = (FROM_ONE.median(&both), CONSTANT.median(&both));
    assert!(from_one < constant, "{from_one:?} {constant:?}");
    assert!(from_one.unwrap() < 0.08, "{from_one:?}");
}

#[test]
fn held_out_rows_are_predicted_better_than_by_constants() {
    let known = gains(&seen());
    let mut judged = silicon(&HELD_OUT);
    fit_ratios(&mut judged, &known);
    let rows: Vec<&Judged> = judged.iter().collect();
    print("Held-out rows", &rows);
    let (from_one, constant) = (FROM_ONE.median(&rows), CONSTANT.median(&rows));
    assert!(from_one < constant, "{from_one:?} {constant:?}");
}
