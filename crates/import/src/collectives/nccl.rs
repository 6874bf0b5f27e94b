//! What text and JSON of nccl-tests share: a test's rows, and which operation and how many ranks they are of.
//!
//! In nccl-tests one time is the mean over the calls of one loop. Source: nccl-tests 2.19.6, src/common.cu, src/util.cu, src/alltoall.cu,
//! doc/PERFORMANCE.md.

use super::value::{CallFile, CallTrouble, CallValue};
use crate::error::ImportError;
use crate::links::TroubleKind;
use crate::number::float;
use crate::row::named;
use record::calls::Series;
use record::{BufferPlacement, CallMode, CollectiveKind, CollectivePoint, ElementType};

/// What nccl-tests calls the types that are known here; `fp8_` is how older versions began those of 8 bits.
#[rustfmt::skip]
const TYPES: [(&str, ElementType); 7] = [
    ("float", ElementType::F32), ("half", ElementType::F16), ("bfloat16", ElementType::Bf16), ("f8e4m3", ElementType::F8E4m3),
    ("f8e5m2", ElementType::F8E5m2), ("fp8_e4m3", ElementType::F8E4m3), ("fp8_e5m2", ElementType::F8E5m2),
];

/// How far an algorithm bandwidth may lie from size over time, as a part of it: times are printed with two digits at least.
const OFF: f64 = 0.05;

/// The most ranks that bandwidths alone are taken for.
const MOST_RANKS: u32 = 4096;

/// A test: what its head says, and its rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Test {
    /// The program, such as `./build/all_reduce_perf`; `None` where nothing names it.
    pub(super) program: Option<String>,
    /// Whether its output says that it began.
    pub(super) begun: bool,
    /// Ranks by the list of devices, or none.
    pub(super) ranks: Option<u32>,
    pub(super) mode: Option<CallMode>,
    pub(super) rows: Vec<Row>,
    /// The line in which it says why it failed.
    pub(super) failure: Option<String>,
}

/// A row: bytes as nccl-tests counts them, and its two measurements.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Where it stands, such as `line 15`.
    pub(super) place: String,
    pub(super) size: u64,
    pub(super) element: Option<String>,
    /// The reduction; `none` for operations without one.
    pub(super) reduction: Option<String>,
    /// The root, -1 for operations without one.
    pub(super) root: Option<i64>,
    pub(super) out_of_place: Option<Measured>,
    pub(super) in_place: Option<Measured>,
}

/// One of a row's measurements: time in us, bandwidths in GB/s, number of wrong elements where they were counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) us: f64,
    pub(super) bandwidths: Option<(f64, f64)>,
    pub(super) wrong: Option<f64>,
}

/// The operation that a program's name stands for; `None` for one that is not known here.
fn kind(program: &str) -> Option<CollectiveKind> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let name = name.strip_suffix("_perf").unwrap_or(name);
    named(name)
}

/// `2.27.3` of 22703, and of 2708 the older `2.7.8`.
pub(super) fn version(number: u64) -> String {
    let (major, rest) = match number >= 10_000 {
        true => (number / 10_000, number % 10_000),
        false => (number / 1000, number % 1000),
    };
    format!("{major}.{}.{}", rest / 100, rest % 100)
}

impl Test {
    /// Adds what the test says to a file; `asked` is the operation where neither a name nor the rows tell it. One whose operation is
    /// not read here is one trouble.
    ///
    /// # Errors
    /// Nobody knows the operation or the number of ranks.
    pub(super) fn add_to(
        self,
        file: &mut CallFile,
        asked: Option<CollectiveKind>,
    ) -> Result<(), ImportError> {
        if self.rows.is_empty() {
            if let Some(program) = self.program.as_ref().filter(|_| self.begun) {
                let why = self.failure.as_deref().unwrap_or("began and has no row");
                let words = format!("{}: {why}", record::control::shortened(program));
                file.troubles
                    .push(CallTrouble::of_file(TroubleKind::Failed, words));
            }
            return Ok(());
        }
        let missing = |what: &str, next: &str| ImportError::Missing {
            origin: file.origin.clone(),
            what: what.to_owned(),
            next: next.to_owned(),
        };
        let kind = match self.operation() {
            Ok(kind) => kind.or(asked).ok_or_else(|| {
                missing(
                    "its operation",
                    "give the output with the command line above it",
                )
            })?,
            Err(name) => {
                let name = record::control::shortened(name);
                let rows = self.rows.len();
                let words = format!("{name}: not read here, its {rows} rows are left out");
                file.troubles
                    .push(CallTrouble::of_file(TroubleKind::Absent, words));
                return Ok(());
            }
        };
        let by_rows = self.ranks_by_rows(kind);
        let ranks = match (self.ranks.filter(|ranks| *ranks >= 2), by_rows.as_slice()) {
            (Some(listed), []) => {
                if self.factor().is_some_and(|(low, _)| low.is_finite()) && !is_flat(kind) {
                    let words = format!(
                        "busbw over algbw is not that of {listed} ranks, which its list of devices has"
                    );
                    file.troubles
                        .push(CallTrouble::of_file(TroubleKind::File, words));
                }
                listed
            }
            (Some(listed), fits) if fits.contains(&listed) => listed,
            (Some(listed), [ranks]) => {
                let words = format!(
                    "its list of devices has {listed} ranks, and busbw over algbw {ranks}, which is taken"
                );
                file.troubles
                    .push(CallTrouble::of_file(TroubleKind::File, words));
                *ranks
            }
            (None, [ranks]) => *ranks,
            _ => {
                return Err(missing(
                    "how many ranks it had: no list of devices, and its bandwidths tell no one number",
                    "give the whole output of a run with two ranks or more",
                ));
            }
        };
        for row in &self.rows {
            self.add_row(file, kind, ranks, row);
        }
        Ok(())
    }

    /// By the program's name; else by reduction, root, whether results in place were checked, and bus over algorithm bandwidth, where they
    /// leave one. Of an operation that is not read here the name.
    fn operation(&self) -> Result<Option<CollectiveKind>, &str> {
        use CollectiveKind as Kind;
        if let Some(program) = &self.program {
            return kind(program).map(Some).ok_or(program);
        }
        let row = self.rows.iter().rfind(|row| row.size > 0);
        let Some((row, reduction, root)) =
            row.and_then(|row| Some((row, row.reduction.as_deref()?, row.root?)))
        else {
            return Ok(None);
        };
        let checked = |of: Option<Measured>| of.is_some_and(|of| of.wrong.is_some());
        // sendrecv and alltoall check no result in place.
        let apart_only = checked(row.out_of_place).then_some(!checked(row.in_place));
        let known: &[Kind] = match (reduction, root, apart_only) {
            ("none", 0.., _) => &[Kind::Broadcast],
            ("none", _, Some(false)) => &[Kind::AllGather],
            (_, 0.., _) => return Err("reduce"),
            ("none", _, Some(true)) => return Err("alltoall"),
            ("none", ..) => &[],
            (_, _, Some(true)) => &[Kind::SendRecv],
            _ => &[Kind::AllReduce, Kind::ReduceScatter],
        };
        let fitting: Vec<Kind> = known
            .iter()
            .copied()
            .filter(|kind| self.fits(*kind))
            .collect();
        match (&fitting[..], known) {
            ([one], _) => Ok(Some(*one)),
            ([], [Kind::Broadcast]) => Err("gather or scatter"),
            ([], [_]) => Err("another operation"),
            _ => Ok(None),
        }
    }

    /// Whether the bandwidths can be those of an operation, over the ranks that are listed or any number.
    fn fits(&self, kind: CollectiveKind) -> bool {
        let fits = self.ranks_by_rows(kind);
        self.ranks
            .map_or(!fits.is_empty(), |listed| fits.contains(&listed))
    }

    /// Between what bus over algorithm bandwidth lies by all rows, as far as the printed decimals tell; `None` without a row that
    /// tells, and nothing between where rows contradict each other.
    fn factor(&self) -> Option<(f64, f64)> {
        let rows = self
            .rows
            .iter()
            .flat_map(|row| [row.out_of_place, row.in_place]);
        let told = rows
            .flatten()
            .filter_map(|of| of.bandwidths)
            .filter(|(algorithm, _)| *algorithm >= 1.0);
        // Two decimals are printed, and what was cut off may be half of the last one and a little.
        const HALF: f64 = 0.0051;
        told.map(|(algorithm, bus)| {
            (
                (bus - HALF) / (algorithm + HALF),
                (bus + HALF) / (algorithm - HALF),
            )
        })
        .reduce(|one, other| (one.0.max(other.0), one.1.min(other.1)))
    }

    /// The numbers of ranks that make such bandwidths; all where they tell nothing.
    fn ranks_by_rows(&self, kind: CollectiveKind) -> Vec<u32> {
        let (low, high) = self.factor().unwrap_or((0.0, f64::INFINITY));
        let fits = |ranks: &u32| (low..=high).contains(&CollectivePoint::bus_factor(kind, *ranks));
        (2..=MOST_RANKS).filter(fits).collect()
    }

    fn add_row(&self, file: &mut CallFile, kind: CollectiveKind, ranks: u32, row: &Row) {
        // The size of what parts make is the whole there, and a rank's part here.
        let parts = u64::from(kind.parts(ranks));
        let bytes_per_rank = row.size / parts;
        for (placement, measured) in [
            (BufferPlacement::OutOfPlace, row.out_of_place),
            (BufferPlacement::InPlace, row.in_place),
        ] {
            // No time is taken of a size of 0 bytes.
            let Some(measured) = measured.filter(|_| row.size > 0) else {
                continue;
            };
            let series = self.series(kind, ranks, row, placement);
            let mut trouble = |kind, detail: String| {
                file.troubles.push(CallTrouble {
                    kind,
                    series: Some(series.clone()),
                    bytes_per_rank: Some(bytes_per_rank),
                    detail: format!("{}: {detail}", row.place),
                });
            };
            if let Some(wrong) = measured.wrong.filter(|wrong| *wrong > 0.0) {
                trouble(TroubleKind::WrongData, format!("{wrong} wrong elements"));
                continue;
            }
            if !row.size.is_multiple_of(parts) || !measured.us.is_finite() || measured.us <= 0.0 {
                let words = format!(
                    "{} us for {} bytes is no time of {ranks} ranks",
                    measured.us, row.size
                );
                trouble(TroubleKind::File, words);
                continue;
            }
            if let Some(own) = other_bandwidth(row.size, measured) {
                trouble(
                    TroubleKind::File,
                    format!(
                        "algbw is printed as another than {own:.2} GB/s, its size over its time"
                    ),
                );
            }
            file.values.push(CallValue {
                series,
                bytes_per_rank,
                us: better_time(row.size, measured),
                interval: None,
                n: Some(1),
                samples: Vec::new(),
                clock: None,
                library: Some("nccl".to_owned()),
            });
        }
    }

    fn series(
        &self,
        kind: CollectiveKind,
        ranks: u32,
        row: &Row,
        placement: BufferPlacement,
    ) -> Series {
        let element = row.element.as_deref();
        let of = |(name, known): &(&str, ElementType)| (Some(*name) == element).then_some(*known);
        Series {
            kind,
            element: TYPES.iter().find_map(of),
            ranks,
            mode: self.mode.or(Some(CallMode::BackToBack)),
            placement,
            engine: None,
        }
    }
}

/// Whether bus and algorithm bandwidth of an operation are the same whatever the number of ranks.
fn is_flat(kind: CollectiveKind) -> bool {
    (CollectivePoint::bus_factor(kind, 2) - CollectivePoint::bus_factor(kind, 8)).abs() < 1e-9
}

/// The algorithm bandwidth that size and time make, GB/s, where the row says another: another time, unit or row.
fn other_bandwidth(size: u64, measured: Measured) -> Option<f64> {
    let (algorithm, _) = measured.bandwidths?;
    let own = float(size) / (measured.us * 1e3);
    ((algorithm - own).abs() > OFF * own + 0.01).then_some(own)
}

/// The time in us: from 10 s on nccl-tests prints two digits of it and more of the bandwidth. Source: getFloatStr in src/util.cu.
fn better_time(size: u64, measured: Measured) -> f64 {
    let told = measured.bandwidths.filter(|_| measured.us >= 1e7);
    let told = told.filter(|(algorithm, _)| *algorithm >= 0.1);
    told.map_or(measured.us, |(algorithm, _)| {
        float(size) / (algorithm * 1e3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_two_digits_gives_way_to_the_bandwidth_beside_it() {
        let time = |us, algorithm| {
            let bandwidths = Some((algorithm, algorithm));
            let wrong = None;
            better_time(
                1 << 34,
                Measured {
                    us,
                    bandwidths,
                    wrong,
                },
            )
        };
        // 2^34 B / 0.93 GB/s = 18.47298 s.
        assert!((time(1.8e7, 0.93) / 18_472_978.0 - 1.0).abs() < 1e-6);
        assert_eq!(time(4_907_438.0, 3.5), 4_907_438.0);
    }

    #[test]
    fn versions_are_two_digits_each_and_were_one_before() {
        assert_eq!(version(22_703), "2.27.3");
        assert_eq!(version(2708), "2.7.8");
    }
}
