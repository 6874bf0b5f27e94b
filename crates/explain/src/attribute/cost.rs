//! What a step's collectives take by the best curve there is: of this box, else published for its GPU.

use measure::record::{CallMode, CollectiveKind, CollectivePath, PlannedCollective};
use measure::unit::ByteCount;

use super::deck::{Deck, Knob};
use super::result::{CollectiveCost, ELSEWHERE, Grade, Lack, PublishedTime};
pub(crate) use super::term::Term;
use crate::curve::{Curve, Place, all_reduce_as_large};
use crate::inputs::{Inputs, PeerState};
use crate::priors::{PublishedCurve, PublishedPath};

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
    source: String,
    /// What the library's curve lacks whatever is read off it.
    lacks: Vec<Lack>,
    /// How the library's curve was timed, in words.
    pub(crate) timed_in: String,
    custom_source: String,
    pub(crate) caveats: Vec<String>,
}

/// From a curve's mode to what happens between GEMMs.
fn in_situ(mode: Option<CallMode>) -> &'static str {
    match mode {
        Some(CallMode::Interleaved) => "in_situ_interleaved",
        _ => "in_situ",
    }
}

impl Curves {
    /// The best there is, its priors put into the deck; `None` where there is none.
    pub(crate) fn choose(
        inputs: &Inputs,
        eager: bool,
        planned: &[PlannedCollective],
        deck: &mut Deck,
    ) -> Option<Self> {
        Self::own(inputs, eager, planned, deck)
            .or_else(|| Self::published(inputs, eager, deck, Knob::Transfer))
    }

    /// What was published for the messages of a prefill, where this box's curve is too short for them; `None` where nothing was.
    /// They are so large that the mode of a call does not matter.
    pub(crate) fn of_prefill(inputs: &Inputs, deck: &mut Deck) -> Option<Self> {
        let published = Self::published(inputs, false, deck, Knob::TransferOfPrefill)?;
        Some(Self {
            mode: None,
            ..published
        })
    }

    fn own(
        inputs: &Inputs,
        eager: bool,
        planned: &[PlannedCollective],
        deck: &mut Deck,
    ) -> Option<Self> {
        // Engines replay graphs with work between the calls, which interleaved calls have too.
        let fitting: &[CallMode] = match (inputs.is_on_cpus(), eager) {
            // No calls are launched there ahead, so work between them makes them no other calls.
            (true, _) => &[CallMode::Interleaved, CallMode::BackToBack],
            (false, true) => &[CallMode::BackToBack],
            (false, false) => &[CallMode::Interleaved, CallMode::Graph],
        };
        let others = [
            Some(CallMode::Graph),
            Some(CallMode::BackToBack),
            Some(CallMode::Interleaved),
            None,
            Some(CallMode::HostSynced),
        ];
        let modes = fitting.iter().copied().map(Some).chain(others);
        let fits = |mode: Option<CallMode>| mode.is_some_and(|mode| fitting.contains(&mode));
        let points = inputs.usable_curve();
        let of = |kind, mode| Curve::of_points(&points, kind, inputs.tp, mode);
        // The best mode that tells the sizes asked for, else the best that tells any.
        let known: Vec<(Option<CallMode>, Curve)> = modes
            .clone()
            .filter_map(|mode| Some((mode, of(CollectiveKind::AllReduce, mode)?)))
            .collect();
        let told = |(_, curve): &&(Option<CallMode>, Curve)| {
            let mut reduces = planned
                .iter()
                .filter(|of| of.kind == CollectiveKind::AllReduce);
            reduces.all(|of| curve.reaches(of.bytes_per_rank))
        };
        let (mode, all_reduce) = known.iter().find(told).or(known.first())?.clone();
        let factor = match mode {
            _ if inputs.is_on_cpus() => None,
            Some(CallMode::HostSynced) => Some("host_synced_over_graph"),
            Some(CallMode::Graph | CallMode::Interleaved) if eager => Some("graph_over_eager"),
            Some(CallMode::BackToBack) | None if !eager => Some("back_to_back_over_graph"),
            _ => None,
        };
        if let Some(name) = factor {
            deck.add(Knob::Mode, inputs.prior(name)?);
        }
        deck.add(Knob::Transfer, inputs.prior(in_situ(mode))?);
        deck.add(
            Knob::CustomOverLibrary,
            inputs.prior("custom_over_library")?,
        );
        let mut caveats: Vec<String> = Vec::new();
        let words = mode.map_or("a mode that the file does not state".to_owned(), |mode| {
            mode.to_string()
        });
        if !fits(mode) {
            let wanted: Vec<String> = fitting.iter().map(CallMode::to_string).collect();
            let wanted = wanted.join(" or ");
            caveats.push(format!(
                "the curve of this box was timed in {words}, the engine runs as {wanted}, so its evidence is D: measure with allreduce-bench in that mode, or say it in the column `mode`"
            ));
        }
        let taken = points.iter().find(|p| {
            let its = (p.kind, p.ranks, p.mode, p.engine.is_none());
            its == (CollectiveKind::AllReduce, inputs.tp, mode, true)
        });
        let origin = taken.map_or("—", |point| point.origin.as_str());
        // A file that names no library names nothing that it was timed on: a bare table of sizes and times.
        let names_nothing = !inputs.is_on_cpus() && taken.is_some_and(|of| of.library.is_none());
        let of_mode = match mode {
            mode if fits(mode) => None,
            Some(_) => Some(Lack::Mode),
            None => Some(Lack::ModeStated),
        };
        let lacks = names_nothing.then_some(Lack::Box).into_iter();
        // What the engine's own code did here, in a mode that is the engine's; the factors of other modes are the library's.
        let engine = modes.filter(|mode| fits(*mode)).find_map(|mode| {
            let kind = CollectiveKind::AllReduce;
            Some((mode?, Curve::of_engine(&points, kind, inputs.tp, mode)?))
        });
        let custom_transfer = match &engine {
            Some((own, _)) if in_situ(Some(*own)) != in_situ(mode) => {
                deck.add(Knob::TransferOfEngine, inputs.prior(in_situ(Some(*own)))?);
                caveats.push(format!(
                    "the library's collectives are read from a curve that was timed in {words}, and the engine's own all-reduce from one in {own}: of these two only the interleaved one has work between the calls, so that they are not to be compared with each other"
                ));
                Knob::TransferOfEngine
            }
            _ => Knob::Transfer,
        };
        let custom_source = engine.as_ref().map_or_else(
            || {
                format!(
                    "the library's curve of this box, {words} ({origin}), an upper figure for the engine's own kernel"
                )
            },
            |(mode, _)| format!("this box, the engine's own code, {mode}"),
        );
        Some(Self {
            all_reduce,
            custom_is_own: engine.is_some(),
            custom_transfer,
            custom: engine.map(|(_, curve)| curve),
            all_gather: of(CollectiveKind::AllGather, mode).filter(|curve| {
                let gathers = planned
                    .iter()
                    .filter(|of| of.kind == CollectiveKind::AllGather);
                gathers
                    .into_iter()
                    .all(|of| curve.reaches(of.bytes_per_rank))
            }),
            is_own: true,
            fits: fits(mode),
            transfer: Knob::Transfer,
            mode: Some(Knob::Mode),
            source: format!("this box, {words} ({origin})"),
            lacks: lacks.chain(of_mode).collect(),
            timed_in: words,
            custom_source,
            caveats,
        })
    }

    /// `knob` is that of the factor from that box to this one.
    fn published(inputs: &Inputs, eager: bool, deck: &mut Deck, knob: Knob) -> Option<Self> {
        let curves = inputs.priors.curves(inputs.known.gpu.as_deref(), inputs.tp);
        let of = |path| curves.iter().copied().find(|curve| curve.path == path);
        let state = inputs.peer_state();
        let staged = matches!(state, PeerState::Denied | PeerState::Staged);
        let library: &PublishedCurve = match of(PublishedPath::Staged) {
            Some(curve) if staged => curve,
            _ => of(PublishedPath::Peer)?,
        };
        let transfer = match (state, library.path) {
            (PeerState::Direct, _) => "transfer_peer",
            (_, PublishedPath::Staged) => "transfer_staged",
            _ => "transfer_unprobed",
        };
        deck.add(knob, inputs.prior(transfer)?);
        let custom = of(PublishedPath::Custom).filter(|_| !staged);
        if custom.is_none() {
            deck.add(
                Knob::CustomOverLibrary,
                inputs.prior("custom_over_library")?,
            );
        } else if eager {
            deck.add(Knob::Mode, inputs.prior("graph_over_eager")?);
        }
        let source = format!("{ELSEWHERE}: {}", library.source);
        Some(Self {
            all_reduce: Curve::of_published(library),
            custom: custom.map(Curve::of_published),
            custom_is_own: false,
            custom_transfer: knob,
            all_gather: None,
            is_own: false,
            fits: false,
            transfer: knob,
            mode: Some(Knob::Mode),
            custom_source: custom.map_or_else(
                || source.clone(),
                |curve| format!("{ELSEWHERE}: {}", curve.source),
            ),
            source,
            lacks: Vec::new(),
            timed_in: "published times".to_owned(),
            caveats: vec![
                "there is no curve of this box that can be used: published times of the same GPU elsewhere stand in, times a wide factor; run allreduce-bench".to_owned(),
            ],
        })
    }

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
        let of_read = [
            own(Lack::Kernel, own_kernel && !self.custom_is_own),
            own(Lack::Operation, !as_planned),
            own(Lack::Size, as_planned && reading.place != Place::Exact),
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
