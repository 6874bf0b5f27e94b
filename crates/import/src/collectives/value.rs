//! What a file of collective times says, whoever wrote it: values, who measured them, and what is no value and why.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::ImportError;
use crate::links::TroubleKind;
use crate::number::float;
use record::calls::Series;
use record::quantity::{TimeSource, is_above_zero};
use record::unit::ByteCount;
use record::{BufferPlacement, CallMode, CollectiveKind, CollectivePoint, ElementType};
use stats::Interval;

/// A file of collective times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallFile {
    /// The file's name in messages.
    pub origin: String,
    /// What wrote it, such as `allreduce-bench 0.1.0` or `nccl-tests 2.19.6`.
    pub made_by: String,
    /// The simulated machine behind it: its numbers are arithmetic, not measurements.
    pub simulated: Option<String>,
    /// UTC start, where it is said.
    pub started: Option<String>,
    /// The host's name.
    pub host: Option<String>,
    /// `cuda`, `hip`, `maca` or `host`.
    pub backend: Option<String>,
    /// Version of the driver package.
    pub driver: Option<String>,
    /// The library with its version, such as `nccl 2.27.3`.
    pub library: Option<String>,
    /// The transport that the library told.
    pub transport: Option<String>,
    /// The names of the devices, in rank order; fewer than ranks where the file names the first of each process only.
    pub devices: Vec<String>,
    /// The values, one for each series and size.
    pub values: Vec<CallValue>,
    /// What is no value.
    pub troubles: Vec<CallTrouble>,
    /// Keys of the file that nothing was taken from.
    pub unused: Vec<String>,
    /// Variables of the library that were set, as our records keep them.
    pub environment: BTreeMap<String, String>,
}

/// The time of one size of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct CallValue {
    /// What was called and how.
    pub series: Series,
    /// As [`record::CollectivePoint::bytes_per_rank`].
    pub bytes_per_rank: u64,
    /// Time of one call, us.
    pub us: f64,
    /// Its 95% interval, where the file has one or what makes one.
    pub interval: Option<Interval>,
    /// Samples behind it; `None` where the file does not say. A mean over the calls of one
    /// loop is one sample.
    pub n: Option<u64>,
    /// The samples in us, empty where they are not in the file.
    pub samples: Vec<f64>,
    /// The clock, where it is said.
    pub clock: Option<TimeSource>,
    /// The library's name alone, such as `nccl`; `None` where the file does not say.
    pub library: Option<String>,
}

/// Something of a file that is no value.
#[derive(Debug, Clone, PartialEq)]
pub struct CallTrouble {
    /// What kind.
    pub kind: TroubleKind,
    /// What was called; `None` where it is about the whole file.
    pub series: Option<Series>,
    /// As [`CallValue::bytes_per_rank`].
    pub bytes_per_rank: Option<u64>,
    /// What the file says of it, on which nothing is decided; may be empty.
    pub detail: String,
}

impl CallTrouble {
    /// One that is about the whole file.
    pub(super) fn of_file(kind: TroubleKind, detail: String) -> Self {
        Self {
            kind,
            series: None,
            bytes_per_rank: None,
            detail,
        }
    }
}

impl fmt::Display for CallTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.with(&self.detail, f)
    }
}

/// Something that went wrong while collectives were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Trouble {
    /// The file.
    pub origin: String,
    /// What.
    pub found: CallTrouble,
}

impl Trouble {
    /// Whether a result was wrong, so that nothing on this machine can be believed until that is fixed.
    #[must_use]
    pub fn is_wrong_data(&self) -> bool {
        self.found.kind == TroubleKind::WrongData
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, found } = self;
        match (&found.series, found.bytes_per_rank) {
            (Some(series), Some(bytes)) => {
                let bytes = ByteCount(bytes);
                write!(f, "{} of {bytes}: {found}", series.kind)
            }
            _ => write!(f, "{origin}: {found}"),
        }
    }
}

/// The time of one collective at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The operation.
    pub kind: CollectiveKind,
    /// Number of ranks.
    pub ranks: u32,
    /// As [`record::CollectivePoint::bytes_per_rank`]: of an all-gather what each rank contributes, not the gathered whole.
    pub bytes_per_rank: u64,
    /// Time of one call, us.
    pub us: f64,
    /// Lower end of its 95% interval, us; `None` where the file has no samples to make one from.
    pub low: Option<f64>,
    /// Upper end of it, us.
    pub high: Option<f64>,
    /// Samples behind it; `None` where the file does not say. A mean over the calls of
    /// one loop is one sample.
    pub n: Option<u64>,
    /// How calls followed each other; `None` where the file does not say.
    pub mode: Option<CallMode>,
    /// The library that did it, such as `nccl`, or `host` for shared host memory; `None` where the file does not say.
    pub library: Option<String>,
    /// The engine's own code that did it; `None` for the library.
    pub engine: Option<String>,
    /// The file it came from.
    pub origin: String,
    /// The simulated machine behind it, where it is simulated.
    pub simulated: Option<String>,
}

impl CurvePoint {
    /// Whether its time is told from none at all, as [`is_above_zero`] has it.
    #[must_use]
    pub fn is_above_zero(&self) -> bool {
        is_above_zero(self.us, self.low)
    }
}

impl CallFile {
    /// What went wrong while they were measured: wrong data, hangs and failures, and that the file is not whole or the run was broken off;
    /// what did not apply or was not tried is none.
    #[must_use]
    pub fn faults(&self) -> Vec<Trouble> {
        let faults = self.troubles.iter().filter(|one| one.kind.is_fault());
        let trouble = |found: &CallTrouble| Trouble {
            origin: self.origin.clone(),
            found: found.clone(),
        };
        faults.map(trouble).collect()
    }

    /// Its curve; points with wrong data or without a time are left out, which [`CallFile::faults`] tells.
    ///
    /// # Errors
    /// It holds no time.
    pub fn points(&self) -> Result<Vec<CurvePoint>, ImportError> {
        let points = self.curve();
        if !points.is_empty() {
            return Ok(points);
        }
        let first = self.faults().into_iter().next();
        let more = first.map_or_else(String::new, |one| format!(" ({one})"));
        let why = format!("holds no time of a collective{more}; measure again");
        Err(ImportError::unusable(&self.origin, why))
    }

    /// The points that a serving engine's calls are compared with: those out of place, and of bf16 where the file has that, else of its
    /// first type. An engine's own code is held to the library's type, or where it was not timed in that, to its own bf16 or else first.
    #[must_use]
    pub fn curve(&self) -> Vec<CurvePoint> {
        let is_plain = |value: &&CallValue| value.series.placement == BufferPlacement::OutOfPlace;
        let plain = || self.values.iter().filter(is_plain);
        let elements = |by_engine: bool| {
            let of = plain().filter(move |value| value.series.engine.is_some() == by_engine);
            of.filter_map(|value| value.series.element)
        };
        let preferred = |by_engine: bool| {
            let bf16 = elements(by_engine).find(|element| *element == ElementType::Bf16);
            bf16.or_else(|| elements(by_engine).next())
        };
        let of_library = preferred(false);
        let of_engine = of_library
            .filter(|wanted| elements(true).any(|element| element == *wanted))
            .or_else(|| preferred(true));
        // What does not say its type is taken as it is.
        let is_wanted = |value: &&CallValue| {
            let wanted = match value.series.engine {
                Some(_) => of_engine,
                None => of_library,
            };
            value.series.element.is_none() || value.series.element == wanted
        };
        plain()
            .filter(is_wanted)
            .map(|value| CurvePoint {
                kind: value.series.kind,
                ranks: value.series.ranks,
                bytes_per_rank: value.bytes_per_rank,
                us: value.us,
                low: value.interval.map(|interval| interval.low),
                high: value.interval.map(|interval| interval.high),
                n: value.n,
                mode: value.series.mode,
                library: value.library.clone(),
                engine: value.series.engine.clone(),
                origin: self.origin.clone(),
                simulated: self.simulated.clone(),
            })
            .collect()
    }
}

/// No call takes longer, us; more is another unit, such as nanoseconds.
const LONGEST_US: f64 = 60e6;

/// No call between two processes is shorter, us: a message and its answer take longer. Less is another unit.
const SHORTEST_US: f64 = 0.1;

/// No link between GPUs carries more, GB/s of bus bandwidth: the fastest of 2026 carry 1800 in both directions together.
const FASTEST_BUS_GB_PER_S: f64 = 2000.0;

impl CallValue {
    /// Refuses a time that cannot be one in microseconds, in a table that people make; `key` says where it stands.
    pub(super) fn plausible(self, origin: &str, key: &str) -> Result<Self, ImportError> {
        let Series { kind, ranks, .. } = self.series;
        let bytes = float(self.bytes_per_rank) * f64::from(kind.parts(ranks));
        let bus = bytes / (self.us * 1e3) * CollectivePoint::bus_factor(kind, ranks);
        if (SHORTEST_US..=LONGEST_US).contains(&self.us) && bus <= FASTEST_BUS_GB_PER_S {
            return Ok(self);
        }
        Err(ImportError::Nonsense {
            origin: origin.to_owned(),
            key: key.to_owned(),
            seen: format!("{} us, {bus:.0} GB/s of bus bandwidth", self.us),
            want: "the time of one call in us; this looks like the wrong unit".to_owned(),
        })
    }
}
