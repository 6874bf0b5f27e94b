//! What text and JSON of nccl-tests share: the operation's name, sizes, types, and whether ranks and bandwidths agree.
//!
//! In nccl-tests one time is the mean over the calls of one loop. Source: nccl-tests 2.19.6, src/common.cu, src/util.cu,
//! doc/PERFORMANCE.md.

use super::value::{CallFile, CallTrouble, CallValue};
use crate::calls::Series;
use crate::import::error::ImportError;
use crate::import::links::TroubleKind;
use crate::record::{
    BufferCache, BufferPlacement, CallMode, CollectiveKind, CollectivePoint, ElementType,
};

/// What nccl-tests calls the types that are known here; `fp8_` is how older versions began those of 8 bits.
const TYPES: [(&str, ElementType); 7] = [
    ("float", ElementType::F32),
    ("half", ElementType::F16),
    ("bfloat16", ElementType::Bf16),
    ("f8e4m3", ElementType::F8E4m3),
    ("f8e5m2", ElementType::F8E5m2),
    ("fp8_e4m3", ElementType::F8E4m3),
    ("fp8_e5m2", ElementType::F8E5m2),
];

/// What nccl-tests calls a type.
pub(crate) fn type_name(element: ElementType) -> &'static str {
    TYPES
        .iter()
        .find_map(|(name, known)| (*known == element).then_some(*name))
        .unwrap_or("none")
}

/// How far an algorithm bandwidth may lie from size over time, as a part of it.
const OFF: f64 = 0.05;

/// A test as far as its head tells it.
#[derive(Debug, Clone)]
pub(super) struct Test<'a> {
    pub(super) origin: &'a str,
    pub(super) kind: Option<CollectiveKind>,
    pub(super) ranks: u32,
    pub(super) mode: CallMode,
    pub(super) cache: BufferCache,
    pub(super) engine: Option<String>,
    pub(super) arm: Option<String>,
}

/// A row: bytes as nccl-tests counts them, and its two measurements.
pub(super) struct Row {
    /// Where it stands, such as `line 15`.
    pub(super) place: String,
    pub(super) size: u64,
    pub(super) element: Option<String>,
    pub(super) out_of_place: Option<Measured>,
    pub(super) in_place: Option<Measured>,
}

/// One of a row's measurements: time in us, bandwidths in GB/s, number of wrong elements.
pub(super) struct Measured {
    pub(super) us: f64,
    pub(super) bandwidths: Option<(f64, f64)>,
    pub(super) wrong: f64,
}

/// The operation that a program's name stands for, such as `./build/all_reduce_perf`; `None` for one that is not known here.
pub(super) fn kind(program: &str) -> Option<CollectiveKind> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let name = name.strip_suffix("_perf").unwrap_or(name);
    CollectiveKind::ALL
        .into_iter()
        .find(|kind| kind.to_string() == name)
}

/// `2.27.3` of 22703, and of 2708 the older `2.7.8`.
pub(super) fn version(number: u64) -> String {
    let (major, rest) = if number >= 10_000 {
        (number / 10_000, number % 10_000)
    } else {
        (number / 1000, number % 1000)
    };
    format!("{major}.{}.{}", rest / 100, rest % 100)
}

impl<'a> Test<'a> {
    /// A test of which nothing is known yet.
    pub(super) fn unknown(origin: &'a str) -> Self {
        Self {
            origin,
            kind: None,
            ranks: 0,
            mode: CallMode::BackToBack,
            cache: BufferCache::Hot,
            engine: None,
            arm: None,
        }
    }

    /// Adds what a row says to a file.
    pub(super) fn add(&self, file: &mut CallFile, row: &Row) -> Result<(), ImportError> {
        let nonsense = |seen: String, want: &str| ImportError::Nonsense {
            origin: self.origin.to_owned(),
            key: format!("the row of {} bytes", row.size),
            seen,
            want: want.to_owned(),
        };
        let Some(kind) = self.kind else {
            let names = CollectiveKind::ALL.map(|kind| format!("{kind}_perf"));
            return Err(ImportError::Missing {
                origin: self.origin.to_owned(),
                what: "an operation that is known here".to_owned(),
                next: format!("give a run of {} with its whole output", names.join(" or ")),
            });
        };
        if self.ranks < 2 {
            return Err(ImportError::Missing {
                origin: self.origin.to_owned(),
                what: "two ranks or more".to_owned(),
                next: "give the whole output, with its list of devices, of a run with two ranks or more".to_owned(),
            });
        }
        // The size of what parts make is the whole there, and a rank's part here.
        let parts = u64::from(kind.parts(self.ranks));
        if !row.size.is_multiple_of(parts) {
            let want = format!("a multiple of {} ranks", self.ranks);
            return Err(nonsense(format!("{} bytes", row.size), &want));
        }
        for (placement, measured) in [
            (BufferPlacement::OutOfPlace, &row.out_of_place),
            (BufferPlacement::InPlace, &row.in_place),
        ] {
            let Some(measured) = measured else {
                continue;
            };
            let series = self.series(kind, row, placement);
            let bytes_per_rank = row.size / parts;
            if measured.wrong > 0.0 {
                let words = format!("{} wrong elements", measured.wrong);
                if placement == BufferPlacement::OutOfPlace {
                    return Err(nonsense(
                        words,
                        "none: times of wrong data stand for nothing; mend the box and measure again",
                    ));
                }
                file.troubles.push(CallTrouble {
                    kind: TroubleKind::WrongData,
                    series: Some(series),
                    bytes_per_rank: Some(bytes_per_rank),
                    words: format!("wrong data: {words}"),
                });
                continue;
            }
            // No time is taken of a size of 0 bytes.
            if row.size == 0 {
                continue;
            }
            if !measured.us.is_finite() || measured.us <= 0.0 {
                return Err(nonsense(format!("{} us", measured.us), "a time above zero"));
            }
            self.check_ranks(kind, row.size, measured)?;
            let value = CallValue {
                series,
                bytes_per_rank,
                us: measured.us,
                interval: None,
                n: Some(1),
                over_launches: false,
                samples: Vec::new(),
                clock: None,
                library: Some("nccl".to_owned()).filter(|_| self.engine.is_none()),
                not_judged: None,
            };
            let key = format!("the time of {}, {} bytes,", row.place, row.size);
            file.values.push(value.plausible(self.origin, &key)?);
            self.check_time(row, measured)?;
        }
        Ok(())
    }

    fn series(&self, kind: CollectiveKind, row: &Row, placement: BufferPlacement) -> Series {
        let element = row.element.as_deref();
        let of = |(name, known): &(&str, ElementType)| (Some(*name) == element).then_some(*known);
        Series {
            kind,
            element: TYPES.iter().find_map(of),
            ranks: self.ranks,
            mode: Some(self.mode),
            placement,
            cache: self.cache,
            engine: self.engine.clone(),
            arm: self.arm.clone(),
        }
    }

    /// Algorithm bandwidth is size over time, so another time, unit or row shows.
    fn check_time(&self, row: &Row, measured: &Measured) -> Result<(), ImportError> {
        let Some((algorithm, _)) = measured.bandwidths else {
            return Ok(());
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "messages are far below 2^53 bytes"
        )]
        let expected = row.size as f64 / (measured.us * 1e3);
        // Bandwidths have two decimals, and times at least three digits.
        let most = OFF * expected + 0.01;
        if (algorithm - expected).abs() <= most {
            return Ok(());
        }
        Err(ImportError::Nonsense {
            origin: self.origin.to_owned(),
            key: format!("algbw of {}, {} bytes,", row.place, row.size),
            seen: format!("{algorithm} GB/s"),
            want: format!(
                "{expected:.2} GB/s, which its time of {} us makes: the row contradicts itself; give the file as nccl-tests wrote it",
                measured.us
            ),
        })
    }

    /// Bus over algorithm bandwidth depends on the number of ranks alone, so it shows a list of devices that is not whole.
    fn check_ranks(
        &self,
        kind: CollectiveKind,
        size: u64,
        measured: &Measured,
    ) -> Result<(), ImportError> {
        // Below 1 GB/s the printed decimals say too little.
        let bandwidths = measured.bandwidths;
        let Some((algorithm, bus)) = bandwidths.filter(|(algorithm, _)| *algorithm >= 1.0) else {
            return Ok(());
        };
        let expected = CollectivePoint::bus_factor(kind, self.ranks);
        let seen = bus / algorithm;
        if (seen - expected).abs() <= 0.02 * expected {
            return Ok(());
        }
        Err(ImportError::Nonsense {
            origin: self.origin.to_owned(),
            key: format!("busbw / algbw of the row of {size} bytes"),
            seen: format!("{seen:.3}"),
            want: format!(
                "{expected:.3} for the {} ranks that the file lists; is its list of devices whole?",
                self.ranks
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_two_digits_each_and_were_one_before() {
        assert_eq!(version(22_703), "2.27.3");
        assert_eq!(version(2708), "2.7.8");
    }

    #[test]
    fn operations_are_known_by_their_programs() {
        for (program, expected) in [
            (
                "./build/reduce_scatter_perf",
                Some(CollectiveKind::ReduceScatter),
            ),
            ("sendrecv_perf", Some(CollectiveKind::SendRecv)),
            ("broadcast", Some(CollectiveKind::Broadcast)),
            ("alltoall_perf", None),
        ] {
            assert_eq!(kind(program), expected, "{program}");
        }
    }
}
