//! What a step's collectives take by the best curve there is: of this box, else published for its GPU.

mod choose;

use record::{CollectiveKind, CollectivePath, PlannedCollective};
use tp_plan::plan;

use super::deck::{Deck, Hand, Knob};
use super::result::{CollectiveCost, TimeSource};
use crate::curve::{Beyond, Curve, all_reduce_as_large};
use crate::finding::Finding;
use crate::inputs::Inputs;
use crate::range::{Grade, whole};

/// From this size on the time of a message grows about as its size does.
const BANDWIDTH_BOUND: u64 = 256 << 10;

/// A curve's bandwidth is not taken for messages of more than this many times its largest size.
const BEYOND: u64 = 16;

/// Curves that a plan's collectives are read from.
#[derive(Debug, Clone)]
pub(crate) struct Curves {
    library: Source,
    /// The engine's own kernel; `None` where only the library's curve is known.
    custom: Option<Source>,
    /// `None` where all-gathers are read off the all-reduce's curve.
    all_gather: Option<Curve>,
    /// Whether the curves are of this box.
    pub(crate) is_own: bool,
    /// The factor of the mode; `None` where no mode matters.
    mode: Option<Knob>,
    pub(crate) caveats: Vec<Finding>,
}

/// A curve of all-reduces with what there is to know of it.
#[derive(Debug, Clone)]
struct Source {
    curve: Curve,
    /// Whether it is of this box in the mode of the engine.
    fits: bool,
    /// The factor from it to the engine.
    transfer: Knob,
    source: TimeSource,
}

/// The collectives of one step by the best curve there is.
pub(crate) struct Sent {
    pub(crate) curves: Curves,
    pub(crate) terms: Vec<Term>,
}

impl Sent {
    /// The priors of the curve are put into the deck; the error says why there is none.
    pub(crate) fn of(
        inputs: &Inputs,
        eager: bool,
        planned: &[PlannedCollective],
        deck: &mut Deck,
    ) -> Result<Self, Finding> {
        let curves = Curves::choose(inputs, eager, planned, deck);
        let curves = curves.ok_or(Finding::NoCurve { ranks: inputs.tp })?;
        if let Some(far) = curves.too_far(planned) {
            return Err(far);
        }
        let terms = planned.iter().map(|of| curves.term(of)).collect();
        Ok(Self { curves, terms })
    }
}

impl Curves {
    /// Whether the largest size shows the bandwidth that messages of `bytes` get.
    pub(crate) fn show_bandwidth(&self, bytes: u64) -> bool {
        let largest = self.library.curve.largest();
        largest >= BANDWIDTH_BOUND && largest.saturating_mul(BEYOND) >= bytes
    }

    /// The curve of the engine's own kernel, where a collective is done by that and there is one.
    fn custom(&self, planned: &PlannedCollective) -> Option<&Source> {
        let is_custom = planned.path == CollectivePath::Custom;
        self.custom.as_ref().filter(|_| is_custom)
    }

    /// Why these curves cannot be read at an all-reduce of the plan; `None` where they can.
    pub(crate) fn too_far(&self, planned: &[PlannedCollective]) -> Option<Finding> {
        let reduces = planned
            .iter()
            .filter(|of| of.kind == CollectiveKind::AllReduce);
        let curve = |of: &PlannedCollective| {
            let custom = self.custom(of).filter(|custom| custom.fits);
            &custom.unwrap_or(&self.library).curve
        };
        let far = reduces.filter(|of| !curve(of).reaches(of.bytes_per_rank));
        let mut sizes: Vec<u64> = far.map(|of| of.bytes_per_rank).collect();
        sizes.sort_unstable();
        sizes.dedup();
        (!sizes.is_empty()).then_some(Finding::CurveTooFar {
            ranks: self.library.curve.ranks,
            bytes: sizes,
        })
    }

    /// The curve that a collective is read from, and at how many bytes.
    fn read(&self, planned: &PlannedCollective) -> (&Curve, u64) {
        let (library, bytes) = (&self.library.curve, planned.bytes_per_rank);
        match (planned.kind, &self.all_gather) {
            (CollectiveKind::AllReduce, _) => {
                let custom = self.custom(planned).map(|custom| &custom.curve);
                (custom.unwrap_or(library), bytes)
            }
            (CollectiveKind::AllGather, Some(curve)) => (curve, bytes),
            // Plans hold gathers besides, and nothing else today.
            _ => (library, all_reduce_as_large(bytes, library.ranks)),
        }
    }

    /// The least and the most share of a collective's time that its bytes take; `None` where the curve shows no bandwidth.
    pub(super) fn on_the_wire(&self, planned: &PlannedCollective) -> Option<(f64, f64)> {
        let (curve, bytes) = self.read(planned);
        curve.on_the_wire(bytes)
    }

    /// A collective with its time.
    fn term(&self, planned: &PlannedCollective) -> Term {
        let own_kernel = planned.path == CollectivePath::Custom;
        let (curve, bytes) = self.read(planned);
        let reading = curve.at(bytes);
        let custom = self.custom(planned);
        let source = custom.unwrap_or(&self.library);
        let is_in_mode = source.fits && custom.is_some() == own_kernel;
        let good = is_in_mode && curve.kind == planned.kind && reading.is_exact;
        let mut factors = vec![source.transfer];
        // A published curve of the engine's kernel needs no step from the library to it.
        if own_kernel && custom.is_none() {
            factors.push(Knob::CustomOverLibrary);
        }
        // The factor of the mode is that of the library's curve here, and of a published curve of the engine's kernel.
        let is_of_mode = match &self.custom {
            Some(custom) if custom.fits => !own_kernel,
            Some(_) => own_kernel,
            None => true,
        };
        factors.extend(self.mode.filter(|_| is_of_mode));
        let grade = if good { Grade::C } else { Grade::D };
        Term {
            cost: CollectiveCost::of(planned, reading.us, grade, source.source.clone()),
            spread: reading.spread,
            is_unstated: reading.is_unstated,
            beyond: reading.beyond,
            factors,
        }
    }
}

/// A collective of the plan with its time.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    pub(crate) cost: CollectiveCost,
    pub(super) spread: f64,
    /// Whether more spread has to be assumed.
    pub(crate) is_unstated: bool,
    /// How it goes on beyond the curve's end; `None` within the curve.
    pub(super) beyond: Option<Beyond>,
    pub(crate) factors: Vec<Knob>,
}

impl Term {
    /// Microseconds of all its calls in a step.
    pub(crate) fn us(&self, hand: &Hand) -> f64 {
        let factor: f64 = self.factors.iter().map(|knob| hand.get(*knob)).product();
        let assumed = match self.is_unstated {
            true => hand.get(Knob::UnstatedCurveSpread),
            false => 0.0,
        };
        let error = (hand.get(Knob::CurveError) * self.spread.hypot(assumed)).exp();
        let beyond = self
            .beyond
            .map_or(1.0, |beyond| beyond.factor(hand.get(Knob::Beyond)));
        self.base_us() * factor * error * beyond
    }

    /// Microseconds of all its calls in a step as the curve has it.
    pub(crate) fn base_us(&self) -> f64 {
        f64::from(self.cost.count) * self.cost.us
    }
}

/// Drops from the deck the factors between curve and engine that none of these uses, and adds the spread of times without an interval.
pub(crate) fn settle<'a>(
    deck: &mut Deck,
    inputs: &Inputs,
    terms: impl Iterator<Item = &'a Term> + Clone,
) -> Option<()> {
    let is_unstated = terms.clone().any(|term| term.is_unstated);
    let factors: Vec<Knob> = terms.flat_map(|term| term.factors.clone()).collect();
    deck.keep(&factors);
    if is_unstated {
        deck.add(
            Knob::UnstatedCurveSpread,
            inputs.prior("unstated_curve_spread")?,
        );
    }
    Some(())
}

/// Collectives of `tokens` prompt tokens, none of which a cache holds; none where no curve tells them. `curves` are those of the step.
pub(super) fn prompts(
    inputs: &Inputs,
    curves: Option<&Curves>,
    tokens: f64,
    deck: &mut Deck,
) -> Option<Vec<Term>> {
    let planned = planned(inputs, tokens).into_iter();
    let reduces = planned.filter(|of| of.kind == CollectiveKind::AllReduce);
    let largest = reduces.map(|of| of.bytes_per_rank).max()?;
    if let Some(curves) = curves.filter(|curves| curves.show_bandwidth(largest)) {
        return Some(prefill(inputs, curves, tokens));
    }
    // They are so large that the mode of a call does not matter.
    let mut published = Curves::published(inputs, false, deck, Knob::TransferOfPrefill);
    published.iter_mut().for_each(|curves| curves.mode = None);
    Some(prefill(inputs, published.as_ref().or(curves)?, tokens))
}

/// Collectives of one wave's prefill with their times.
pub(crate) fn prefill(inputs: &Inputs, curves: &Curves, tokens: f64) -> Vec<Term> {
    let all = planned(inputs, tokens).into_iter();
    all.map(|collective| curves.term(&collective)).collect()
}

/// Whole chunks as the engine cuts them, and the rest.
fn planned(inputs: &Inputs, tokens: f64) -> Vec<PlannedCollective> {
    let tokens = whole(tokens);
    let Some(engine) = inputs.engine(inputs.tp) else {
        return Vec::new();
    };
    let chunk = engine.max_batched_tokens.max(1);
    let chunks = [(chunk, tokens / chunk), (tokens % chunk, 1)];
    let chunks = chunks
        .into_iter()
        .filter(|(tokens, times)| *tokens > 0 && *times > 0);
    let all = chunks.flat_map(|(tokens, times)| {
        let planned = plan(&inputs.model, engine, 0, Some(tokens)).collectives;
        planned.into_iter().map(move |of| PlannedCollective {
            count: of.count.saturating_mul(times),
            ..of
        })
    });
    all.collect()
}
