//! The numbers of an `tplens allreduce` record.

use super::cell::{number, run_word, table, verification_word, word_of};
use record::calls::{self, Row};
use record::{
    CallMode, CollectiveOutcome, CollectivePoint, Collectives, LibraryFacts, Record, Unmeasured,
    Verification,
};
use stats::percentile;

/// Newer columns stand behind older ones.
const COLUMNS: [&str; 26] = [
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
    "engine",
    "chosen",
    "p50",
    "p90",
    "p99",
    "gap_us",
];

/// One line for each point, a header line first.
pub(super) fn lines(record: &Record, collectives: &Collectives) -> String {
    let simulated = record.soft_box().unwrap_or_default();
    let run = run_word(&record.status);
    let library = collectives.library.clone().unwrap_or_default();
    let rows = calls::rows(collectives);
    let chosen: Vec<Option<String>> = rows
        .iter()
        .map(|row| calls::chosen(collectives, row))
        .collect();
    // One line a point, in the order in which they were measured.
    let told = |point: &CollectivePoint| {
        let is_its = |row: &Row<'_>| std::ptr::eq(row.point, point);
        let at = rows.iter().position(is_its)?;
        chosen[at].clone()
    };
    let lines = collectives
        .points
        .iter()
        .map(|point| row(point, told(point), &library, run, &simulated));
    table(COLUMNS, lines)
}

fn row(
    point: &CollectivePoint,
    chosen: Option<String>,
    library: &LibraryFacts,
    run: &str,
    simulated: &str,
) -> [String; 26] {
    let mut row: [String; 26] = std::array::from_fn(|_| String::new());
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
    row[20] = point.engine.clone().unwrap_or_default();
    row[21] = chosen.unwrap_or_default();
    let (word, reason) = match point.outcome.unmeasured() {
        None | Some((Unmeasured::WrongData, _)) => ("measured", ""),
        Some((why, seen)) => (why.into(), seen),
    };
    word.clone_into(&mut row[5]);
    reason.clone_into(&mut row[15]);
    let CollectiveOutcome::Measured {
        time,
        verification,
        gap,
    } = &point.outcome
    else {
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
    // Percentiles of calls, not of means over many of them.
    if point.mode == CallMode::HostSynced {
        for (column, fraction) in [(22, 0.5), (23, 0.9), (24, 0.99)] {
            row[column] = percentile(&time.samples, fraction).map_or_else(String::new, number);
        }
    }
    row[25] = gap
        .as_ref()
        .map_or_else(String::new, |gap| number(gap.value));
    if time.is_above_zero() {
        row[12] = number(point.bus_gb_per_s(time.value));
        row[13] = number(point.algorithm_gb_per_s(time.value));
    }
    row
}
