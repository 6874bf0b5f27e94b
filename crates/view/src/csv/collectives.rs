//! The numbers of an `tplens allreduce` record.

use super::cell::{
    Column, high, low, outcome, run, shown, simulated, table, verification, word_of,
};
use record::calls;
use record::quantity::Quantity;
use record::{
    CallMode, CollectiveOutcome, CollectivePoint, Collectives, Record, Unmeasured, Verification,
};
use stats::percentile;

struct Line<'a> {
    record: &'a Record,
    collectives: &'a Collectives,
    point: &'a CollectivePoint,
    /// The algorithm and protocol that the library chose.
    chosen: Option<String>,
}

/// One line for each point, a header line first. Newer columns stand behind older ones.
pub(super) fn lines(record: &Record, collectives: &Collectives) -> String {
    let columns: [Column<Line<'_>>; 26] = [
        ("op", |of| of.point.kind.to_string()),
        ("ranks", |of| of.point.ranks.to_string()),
        ("element", |of| of.point.element.to_string()),
        ("bytes_per_rank", |of| of.point.bytes_per_rank.to_string()),
        ("mode", |of| of.point.mode.to_string()),
        ("outcome", |of| {
            outcome(of.point.outcome.unmeasured()).0.to_owned()
        }),
        ("time", |of| shown(of.sound().map(|sound| sound.value))),
        ("unit", |of| shown(of.measured().map(|of| of.0.unit))),
        ("low", |of| low(of.sound())),
        ("high", |of| high(of.sound())),
        ("n", |of| shown(of.measured().map(|of| of.0.n))),
        ("clock", |of| {
            word_of(of.measured().map(|of| &of.0.timing.source))
        }),
        ("busbw_gb_per_s", |of| {
            shown(of.above_zero().map(|us| of.point.bus_gb_per_s(us)))
        }),
        ("algbw_gb_per_s", |of| {
            shown(of.above_zero().map(|us| of.point.algorithm_gb_per_s(us)))
        }),
        ("verification", |of| {
            verification(of.measured().map(|of| of.1))
        }),
        ("reason", |of| {
            shown(of.point.outcome.unmeasured().map(|(_, seen)| seen))
        }),
        ("library", |of| {
            let library = of.collectives.library.as_ref();
            shown(library.map(|library| match &library.version {
                Some(version) => format!("{} {version}", library.name),
                None => library.name.clone(),
            }))
        }),
        ("transport", |of| {
            let library = of.collectives.library.as_ref();
            shown(library.and_then(|library| library.transport.as_ref()))
        }),
        ("run", |of| run(of.record)),
        ("simulated", |of| simulated(of.record)),
        ("engine", |of| shown(of.point.engine.as_ref())),
        ("chosen", |of| shown(of.chosen.as_ref())),
        ("p50", |of| of.percentile(0.5)),
        ("p90", |of| of.percentile(0.9)),
        ("p99", |of| of.percentile(0.99)),
        ("gap_us", |of| {
            let gap = of.sound().and(of.measured()).and_then(|of| of.2);
            shown(gap.map(|gap| gap.value))
        }),
    ];
    let rows = calls::rows(collectives);
    let chosen: Vec<Option<String>> = rows
        .iter()
        .map(|row| calls::chosen(collectives, row))
        .collect();
    // In the order in which they were measured.
    let lines = collectives.points.iter().map(|point| {
        let mut of_rows = rows.iter().zip(&chosen);
        let of_row = of_rows.find(|(row, _)| std::ptr::eq(row.point, point));
        Line {
            record,
            collectives,
            point,
            chosen: of_row.and_then(|(_, chosen)| chosen.clone()),
        }
    });
    table(&columns, lines)
}

impl<'a> Line<'a> {
    /// Its time, whether data was compared, and the gap between calls.
    fn measured(&self) -> Option<(&'a Quantity, &'a Verification, Option<&'a Quantity>)> {
        match &self.point.outcome {
            CollectiveOutcome::Measured {
                time,
                verification,
                gap,
            } => Some((time, verification, gap.as_deref())),
            _ => None,
        }
    }

    /// The time; one that belongs to wrong data stands for nothing and is not written.
    fn sound(&self) -> Option<&'a Quantity> {
        let is_wrong = matches!(
            self.point.outcome.unmeasured(),
            Some((Unmeasured::WrongData, _))
        );
        self.measured().filter(|_| !is_wrong).map(|of| of.0)
    }

    fn above_zero(&self) -> Option<f64> {
        let time = self.sound().filter(|time| time.is_above_zero())?;
        Some(time.value)
    }

    /// Of calls, not of means over many of them.
    fn percentile(&self, fraction: f64) -> String {
        let is_of_calls = self.point.mode == CallMode::HostSynced;
        let time = self.sound().filter(|_| is_of_calls);
        shown(time.and_then(|time| percentile(&time.samples, fraction)))
    }
}
