//! What a step's collectives take by the best curve there is: of this box, else published for its GPU.

mod choose;

use record::{CollectiveKind, CollectivePath, PlannedCollective};

use super::deck::Knob;
use super::result::{CollectiveCost, TimeSource};
pub(crate) use super::term::Term;
use crate::curve::{Curve, all_reduce_as_large};
use crate::finding::Finding;
use crate::grade::Grade;

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
    /// Whether they are of this box in the mode of the engine.
    fits: bool,
    /// The factor from the library's curve to the engine, and that of the mode; the latter is `None` where no mode matters.
    transfer: Knob,
    mode: Option<Knob>,
    source: TimeSource,
    custom_source: TimeSource,
    pub(crate) caveats: Vec<Finding>,
}

impl Curves {
    /// Says of curves that were worked out from a link's rate what they are: no evidence but prior knowledge.
    pub(crate) fn calculated(&mut self, source: TimeSource) {
        self.source = source.clone();
        self.custom_source = source;
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
    pub(crate) fn too_far(&self, planned: &[PlannedCollective]) -> Option<Finding> {
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
        let ranks = self.all_reduce.ranks;
        (!sizes.is_empty()).then_some(Finding::CurveTooFar {
            ranks,
            bytes: sizes,
        })
    }

    /// Whether all-gathers are read off the curve of all-reduces.
    pub(crate) fn gathers_as_reduce(&self) -> bool {
        self.all_gather.is_none()
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

    /// The least and the most share of a collective's time that its bytes take; `None` where the curve shows no bandwidth.
    pub(super) fn on_the_wire(&self, planned: &PlannedCollective) -> Option<(f64, f64)> {
        let (curve, bytes) = self.read(planned);
        curve.on_the_wire(bytes)
    }

    /// A collective with its time, and what there is to say about it.
    pub(crate) fn term(&self, planned: &PlannedCollective) -> (Term, Option<Finding>) {
        let own_kernel = planned.path == CollectivePath::Custom;
        let (curve, bytes) = self.read(planned);
        let reading = curve.at(bytes);
        let as_planned = curve.kind == planned.kind;
        let is_in_mode = if own_kernel {
            self.custom_is_own
        } else {
            self.fits
        };
        let good = is_in_mode && as_planned && reading.is_exact;
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
        let cost = CollectiveCost {
            kind: planned.kind,
            role: planned.role.clone(),
            count: planned.count,
            bytes_per_rank: planned.bytes_per_rank,
            path: planned.path,
            us: reading.us,
            grade: if good { Grade::C } else { Grade::D },
            source: source.clone(),
        };
        let term = Term {
            cost,
            spread: reading.spread,
            is_unstated: reading.is_unstated,
            beyond: reading.beyond,
            factors,
        };
        let kind = planned.kind;
        let read = (!reading.is_exact).then_some(Finding::CurveSizeRead { kind, bytes });
        (term, read)
    }
}
