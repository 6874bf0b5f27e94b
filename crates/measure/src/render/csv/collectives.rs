//! The numbers of an `allreduce-bench` record.

use super::cell::{number, run_word, table, verification_word, word_of};
use crate::record::{
    CollectiveOutcome, CollectivePoint, Collectives, LibraryFacts, Record, Verification,
};

const COLUMNS: [&str; 20] = [
    "op",
    "ranks",
    "element",
    "bytes_per_rank",
    "mode",
    "outcome",
    "time",
    "unit",
    "low",
    "high",
    "n",
    "clock",
    "busbw_gb_per_s",
    "algbw_gb_per_s",
    "verification",
    "reason",
    "library",
    "transport",
    "run",
    "simulated",
];

/// One line for each point, a header line first.
pub(super) fn lines(record: &Record, collectives: &Collectives) -> String {
    let simulated = record.soft_box().unwrap_or_default();
    let run = run_word(&record.status);
    let library = collectives.library.clone().unwrap_or_default();
    let rows = collectives
        .points
        .iter()
        .map(|point| row(point, &library, run, &simulated));
    table(COLUMNS, rows)
}

fn row(
    point: &CollectivePoint,
    library: &LibraryFacts,
    run: &str,
    simulated: &str,
) -> [String; 20] {
    let mut row: [String; 20] = std::array::from_fn(|_| String::new());
    row[0] = point.kind.to_string();
    row[1] = point.ranks.to_string();
    row[2] = point.element.to_string();
    row[3] = point.bytes_per_rank.to_string();
    row[4] = point.mode.to_string();
    row[16] = library
        .version
        .iter()
        .fold(library.name.clone(), |name, version| {
            format!("{name} {version}")
        });
    row[17] = library.transport.clone().unwrap_or_default();
    run.clone_into(&mut row[18]);
    simulated.clone_into(&mut row[19]);
    let (word, reason) = match &point.outcome {
        CollectiveOutcome::Measured { .. } => ("measured", ""),
        CollectiveOutcome::NotApplicable { reason } => ("not_applicable", reason.as_str()),
        CollectiveOutcome::Skipped { reason } => ("skipped", reason.as_str()),
        CollectiveOutcome::Failed { reason } => ("failed", reason.as_str()),
        CollectiveOutcome::Hang { doing } => ("hang", doing.as_str()),
    };
    word.clone_into(&mut row[5]);
    reason.clone_into(&mut row[15]);
    let CollectiveOutcome::Measured { time, verification } = &point.outcome else {
        return row;
    };
    row[7] = time.unit.to_string();
    row[10] = time.n.to_string();
    row[11] = word_of(&time.timing.source);
    verification_word(verification).clone_into(&mut row[14]);
    if let Verification::WrongData { seen } = verification {
        // A number that belongs to wrong data stands for nothing and is not written.
        row[15].clone_from(seen);
        return row;
    }
    row[6] = number(time.value);
    if let Some(interval) = time.interval {
        row[8] = number(interval.low);
        row[9] = number(interval.high);
    }
    row[12] = number(point.bus_gb_per_s(time.value));
    row[13] = number(point.algorithm_gb_per_s(time.value));
    row
}
