//! What a step's collectives take by the best curve there is: of this box, else published for its GPU.

mod choose;

use measure::import::CurvePoint;
use measure::record::{CallMode, CollectiveKind, CollectivePath, PlannedCollective};
use measure::unit::ByteCount;

use super::deck::Knob;
use super::result::{CollectiveCost, Grade, Lack, PublishedTime};
pub(crate) use super::term::Term;
use crate::curve::{Curve, Place, all_reduce_as_large};
use crate::inputs::Inputs;
use crate::priors::PublishedCurve;

/// From this size on the time of a message grows about as its size does.
const BANDWIDTH_BOUND: u64 = 256 << 10;

/// A curve's bandwidth is not taken for messages of more than this many times its largest size.
const BEYOND: u64 = 16;

/// Curves that a plan's collectives are read from.
#[derive(Debug, Clone)]
pub(crate) struct Curves {
    all_reduce: Curve,
    /// The engine's own kernel; `None` where only the library's curve is known.
    custom: Option<Curve>,
    /// Whether that was measured on this box, in the mode of the engine.
    custom_is_own: bool,
    /// The factor from that curve to the engine.
    custom_transfer: Knob,
    /// `None` where all-gathers are read off the all-reduce's curve.
    all_gather: Option<Curve>,
    /// Whether the curves are of this box.
    pub(crate) is_own: bool,
    /// The mode of the library's curve and of the engine's own, where they are of this box and have one.
    modes: (Option<CallMode>, Option<CallMode>),
    /// Whether they are of this box in the mode of the engine.
    fits: bool,
    /// The factor from the library's curve to the engine, and that of the mode; the latter is `None` where no mode matters.
    transfer: Knob,
    mode: Option<Knob>,
    source: String,
    /// What the library's curve lacks whatever is read off it.
    lacks: Vec<Lack>,
    /// How the library's curve was timed, in words.
    pub(crate) timed_in: String,
    custom_source: String,
    pub(crate) caveats: Vec<String>,
}

/// A size at which a collective is read, and the curve that it is read from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadAt {
    kind: CollectiveKind,
    ranks: u32,
    mode: Option<CallMode>,
    by_engine: bool,
    pub(crate) bytes: u64,
}

impl ReadAt {
    /// The same where the points of a curve bear the engine that reduced on CPUs.
    pub(crate) fn of_engine_on_cpus(self) -> Self {
        Self {
            by_engine: true,
            ..self
        }
    }

    /// Whether it is read from the curve that a point is of.
    pub(crate) fn is_of(&self, point: &CurvePoint) -> bool {
        let of_point = (point.kind, point.ranks, point.mode, point.engine.is_some());
        of_point == (self.kind, self.ranks, self.mode, self.by_engine)
    }
}

impl Curves {
    /// Says of curves that were worked out from a link's rate what they are: no box's, and no evidence but prior knowledge.
    pub(crate) fn calculated(&mut self, words: &str) {
        words.clone_into(&mut self.source);
        words.clone_into(&mut self.custom_source);
        self.fits = false;
        self.custom_is_own = false;
        self.caveats.clear();
    }

    /// Whether the largest size shows the bandwidth that messages of `bytes` get.
    pub(crate) fn show_bandwidth(&self, bytes: u64) -> bool {
        let largest = self.all_reduce.largest();
        largest >= BANDWIDTH_BOUND && largest.saturating_mul(BEYOND) >= bytes
    }

    /// Why these curves cannot be read at an all-reduce of the plan; `None` where they can.
    pub(crate) fn too_far(&self, planned: &[PlannedCollective]) -> Option<String> {
        let reduces = planned
            .iter()
            .filter(|of| of.kind == CollectiveKind::AllReduce);
        let curve = |of: &PlannedCollective| {
            let is_custom = self.custom_is_own && of.path == CollectivePath::Custom;
            let custom = self.custom.as_ref().filter(|_| is_custom);
            custom.unwrap_or(&self.all_reduce)
        };
        let far = reduces.filter(|of| !curve(of).reaches(of.bytes_per_rank));
        let mut sizes: Vec<u64> = far.map(|of| of.bytes_per_rank).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let words: Vec<String> = sizes
            .iter()
            .map(|size| ByteCount(*size).to_string())
            .collect();
        (!sizes.is_empty()).then(|| {
            format!(
                "the curve ({}) ends too far from the all-reduces of {} that the model sends, by more than a factor of 2: left out; measure at that size: {}",
                self.source,
                words.join(" and "),
                by_hand(self.all_reduce.ranks, &sizes)
            )
        })
    }

    /// The curve that a collective is read from, and at how many bytes.
    fn read(&self, planned: &PlannedCollective) -> (&Curve, u64) {
        let own_kernel = planned.path == CollectivePath::Custom;
        match (planned.kind, &self.all_gather) {
            (CollectiveKind::AllReduce, _) => {
                let custom = self.custom.as_ref().filter(|_| own_kernel);
                (custom.unwrap_or(&self.all_reduce), planned.bytes_per_rank)
            }
            (CollectiveKind::AllGather, Some(curve)) => (curve, planned.bytes_per_rank),
            // Plans hold gathers besides, and nothing else today.
            _ => {
                let ranks = self.all_reduce.ranks;
                (
                    &self.all_reduce,
                    all_reduce_as_large(planned.bytes_per_rank, ranks),
                )
            }
        }
    }

    /// Which points of this box's curve a collective is read from; `None` where it is read from published times.
    pub(crate) fn taken_from(&self, planned: &PlannedCollective) -> Option<ReadAt> {
        let (curve, bytes) = self.read(planned);
        let by_engine = self
            .custom
            .as_ref()
            .is_some_and(|own| std::ptr::eq(own, curve));
        self.is_own.then_some(ReadAt {
            kind: curve.kind,
            ranks: curve.ranks,
            mode: if by_engine {
                self.modes.1
            } else {
                self.modes.0
            },
            by_engine,
            bytes,
        })
    }

    /// The least and the most share of a collective's time that its bytes take; `None` where the curve shows no bandwidth.
    pub(super) fn on_the_wire(&self, planned: &PlannedCollective) -> Option<(f64, f64)> {
        let (curve, bytes) = self.read(planned);
        curve.on_the_wire(bytes)
    }

    /// A collective with its time, and what there is to say about it.
    pub(crate) fn term(&self, planned: &PlannedCollective) -> (Term, Option<String>) {
        let own_kernel = planned.path == CollectivePath::Custom;
        let (curve, bytes) = self.read(planned);
        let reading = curve.at(bytes);
        let as_planned = curve.kind == planned.kind;
        let is_in_mode = if own_kernel {
            self.custom_is_own
        } else {
            self.fits
        };
        let good = is_in_mode && as_planned && reading.place == Place::Exact;
        let mut factors = vec![match own_kernel {
            true => self.custom_transfer,
            false => self.transfer,
        }];
        // A published curve of the engine's kernel needs no step from the library to it.
        if own_kernel && self.custom.is_none() {
            factors.push(Knob::CustomOverLibrary);
        }
        // The factor of the mode is that of the library's curve here, and of a published curve of the engine's kernel.
        let is_of_mode = if self.custom_is_own {
            !own_kernel
        } else {
            own_kernel || self.custom.is_none()
        };
        factors.extend(self.mode.filter(|_| is_of_mode));
        let source = if own_kernel {
            &self.custom_source
        } else {
            &self.source
        };
        let own = |lack: Lack, is: bool| Some(lack).filter(|_| is && self.is_own);
        let of_size = match reading.place {
            Place::Between(..) => Lack::SizeBetween,
            Place::Exact | Place::Below(_) | Place::Above(_) => Lack::Size,
        };
        let of_read = [
            own(Lack::Kernel, own_kernel && !self.custom_is_own),
            own(Lack::Operation, !as_planned),
            own(of_size, as_planned && reading.place != Place::Exact),
        ];
        let whole = self.lacks.iter().copied();
        let lacks = whole.filter(|_| !(own_kernel && self.custom_is_own));
        let cost = CollectiveCost {
            lacks: lacks.chain(of_read.into_iter().flatten()).collect(),
            kind: planned.kind,
            role: planned.role.clone(),
            count: planned.count,
            bytes_per_rank: planned.bytes_per_rank,
            path: planned.path,
            us: reading.us,
            grade: if good { Grade::C } else { Grade::D },
            source: match as_planned {
                true => source.clone(),
                false => format!("{source}, an all-reduce that moves as much"),
            },
        };
        let term = Term {
            cost,
            spread: reading.spread,
            is_unstated: reading.is_unstated,
            beyond: reading.beyond,
            factors,
        };
        (term, place_in_words(planned, bytes, reading.place))
    }
}

/// The command that times all-reduces of these sizes.
pub(crate) fn by_hand(ranks: u32, sizes: &[u64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!("allreduce-bench --sizes {} --tp {ranks}", sizes.join(","))
}

fn place_in_words(planned: &PlannedCollective, bytes: u64, place: Place) -> Option<String> {
    let size = ByteCount(bytes);
    let what = format!("{} at {size} ({})", planned.kind, planned.role);
    match place {
        Place::Exact => None,
        Place::Between(low, high) => Some(format!(
            "{what} is read between {} and {}: measure that size",
            ByteCount(low),
            ByteCount(high)
        )),
        Place::Below(smallest) => Some(format!(
            "{what} lies below the curve's smallest size, {}: it is read on with any slope from flat to that of the first two sizes (D); measure that size",
            ByteCount(smallest)
        )),
        Place::Above(largest) => Some(format!(
            "{what} lies above the curve's largest size, {}: it is read on with any exponent of the size from half that of the last two sizes to 1 (D); measure that size",
            ByteCount(largest)
        )),
    }
}

/// What was published for this GPU at that size.
pub(super) fn published_times(inputs: &Inputs, bytes: u64) -> Vec<PublishedTime> {
    let curves = inputs.priors.curves(inputs.known.gpu.as_deref(), inputs.tp);
    let time = |curve: &&PublishedCurve| PublishedTime {
        us: Curve::of_published(curve).at(bytes).us,
        path: curve.path.words().to_owned(),
        source: curve.source.clone(),
    };
    curves.iter().map(time).collect()
}
