//! What is drawn: one number for each thing that is not known exactly, under a name.

use crate::inputs::Inputs;
use crate::priors::Prior;
use crate::range::each_once;
use stats::SplitMix;
use tp_plan::StepModel;

/// Something that is not known exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Knob {
    /// Microseconds of a GEMM that are there whatever it reads.
    GemmStart,
    /// Microseconds of a layer's router and experts that are there whatever they read.
    ExpertStart,
    Attention,
    Elementwise,
    Host,
    /// What one process a rank adds to a step, in place of one process.
    Executor,
    KvRead,
    PrefillRate,
    PrefixCache,
    /// From the curve to the engine: in-situ factor of an own curve, transfer factor of a published one.
    Transfer,
    /// In-situ factor of what the engine's own code did here, where it was timed in another mode than the library.
    TransferOfEngine,
    /// From a published curve to the messages of a prefill, where this box's curve is too short for them.
    TransferOfPrefill,
    /// From a traced kernel to the same one without a tracer.
    InTrace,
    /// The part of a collective's time that no other work hides.
    Exposed,
    /// From the curve's mode to the engine's.
    Mode,
    CustomOverLibrary,
    /// Milliseconds that the host takes for any step.
    HostFloor,
    /// Microseconds that the host takes for each sequence of a step.
    HostPerSequence,
    /// Share of the peak bandwidth at which weights are read.
    MemoryRate,
    /// The same of experts.
    ExpertRate,
    /// Share of the peak rate of multiplications.
    MathRate,
    /// Microseconds, standard deviation: how unequally ranks arrive at a collective.
    Jitter,
    /// A predicted step over what its parts sum to.
    LeftOut,
    /// Microseconds of a layer's attention that are there whatever it reads.
    AttentionStart,
    /// Time to read the cache over that of as many bytes at the peak bandwidth.
    CacheOverPeak,
    /// Share of the other sequences' prompts that a sequence sees while it decodes.
    PromptsSeen,
    /// Microseconds a layer that the host takes to launch a step that no graph holds.
    Launches,
    /// Share of the peak rate of 16-bit multiplications that attention of prompts reaches.
    PromptAttention,
    UnstatedSpread,
    StartOfOne,
    StartOfSeveral,
    StartOfHalf,
    /// Standard normal: error of the curve's points.
    CurveError,
    /// Standard deviation of the logarithm of times that came without an interval.
    UnstatedCurveSpread,
    /// Standard normal: error of the step on one GPU.
    ErrorOfOne,
    /// Standard normal: error of the step on several.
    ErrorOfSeveral,
    /// Standard normal: error of the step of the half-width model.
    ErrorOfHalf,
    /// Uniform in 0..1: which of the exponents that a curve may go on by beyond its end.
    Beyond,
    /// Uniform in 0..1: how much of what may be mixed into a time per token is.
    MixedIn,
    /// Uniform in 0..1: how far the mean of several repeats on one GPU is off.
    RepeatOfOne,
    /// The same of those on several.
    RepeatOfSeveral,
    /// The same of the half-width model's.
    RepeatOfHalf,
}

/// The factors between a curve and the engine.
pub(super) const BETWEEN: [Knob; 7] = [
    Knob::Transfer,
    Knob::TransferOfEngine,
    Knob::TransferOfPrefill,
    Knob::InTrace,
    Knob::Exposed,
    Knob::Mode,
    Knob::CustomOverLibrary,
];

/// Number of knobs.
const KNOBS: usize = Knob::RepeatOfHalf as usize + 1;

/// One value for each knob.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hand([f64; KNOBS]);

/// The priors behind the knobs; a knob without a prior is a factor of 1, or is drawn by its own law.
#[derive(Debug, Clone)]
pub(crate) struct Deck {
    priors: Vec<(Knob, Prior)>,
}

impl Deck {
    /// The priors that always count; those of communication are added by [`Deck::add`].
    pub(crate) fn new(inputs: &Inputs, eager: bool) -> Option<Self> {
        let host = if eager { "host_eager_ms" } else { "host_ms" };
        let mut deck = Self { priors: Vec::new() };
        for (knob, name) in [
            (Knob::GemmStart, "gemm_start_us"),
            (Knob::Attention, "attention_us_per_layer"),
            (Knob::Elementwise, "elementwise_us_per_layer"),
            (Knob::Host, host),
            (Knob::Executor, "executor_ms"),
            (Knob::KvRead, "kv_read_factor"),
        ] {
            deck.add(knob, inputs.prior(name)?);
        }
        if inputs.model.experts.is_some() {
            deck.add(Knob::ExpertStart, inputs.prior("expert_start_us")?);
        }
        for (knob, tp) in [
            (Knob::StartOfOne, inputs.from()),
            (Knob::StartOfSeveral, inputs.tp),
        ] {
            deck.add(knob, inputs.start_to_start(inputs.runs(tp).count())?);
        }
        Some(deck)
    }

    pub(crate) fn add(&mut self, knob: Knob, prior: Prior) {
        self.priors.push((knob, prior));
    }

    /// Drops what a measurement makes known.
    pub(crate) fn drop(&mut self, knob: Knob) {
        self.priors.retain(|(of, _)| *of != knob);
    }

    /// Drops the factors between curve and engine that are none of these.
    pub(super) fn keep(&mut self, factors: &[Knob]) {
        self.priors
            .retain(|(knob, _)| !BETWEEN.contains(knob) || factors.contains(knob));
    }

    pub(crate) fn prior(&self, knob: Knob) -> Option<&Prior> {
        let found = self.priors.iter().find(|(of, _)| *of == knob);
        found.map(|(_, prior)| prior)
    }

    /// Every prior once.
    pub(crate) fn priors(&self) -> Vec<Prior> {
        each_once(self.priors.iter().map(|(_, prior)| prior))
    }

    /// The same hand with the factors between curve and engine at an end of their ranges.
    pub(super) fn between(&self, hand: &Hand, end: fn(&Prior) -> f64) -> Hand {
        let factors = self.priors.iter();
        let factors = factors.filter(|(knob, _)| BETWEEN.contains(knob));
        factors.fold(*hand, |hand, (knob, prior)| hand.with(*knob, end(prior)))
    }

    pub(crate) fn draw(&self, random: &mut SplitMix) -> Hand {
        let mut values = [1.0; KNOBS];
        for knob in [Knob::CurveError, Knob::ErrorOfOne, Knob::ErrorOfSeveral] {
            values[knob as usize] = random.normal();
        }
        // An offset, and no factor.
        for knob in [Knob::StartOfOne, Knob::StartOfSeveral, Knob::StartOfHalf] {
            values[knob as usize] = 0.0;
        }
        values[Knob::MixedIn as usize] = random.uniform();
        values[Knob::RepeatOfOne as usize] = random.uniform();
        for (knob, prior) in &self.priors {
            values[*knob as usize] = prior.at(random.uniform());
        }
        values[Knob::ErrorOfHalf as usize] = random.normal();
        // A stream of its own: hands that read nothing beyond a curve's end stay as they were.
        let mut own = SplitMix::new(values[Knob::RepeatOfOne as usize].to_bits());
        for knob in [Knob::Beyond, Knob::RepeatOfSeveral, Knob::RepeatOfHalf] {
            values[knob as usize] = own.uniform();
        }
        Hand(values)
    }
}

impl Hand {
    pub(crate) fn get(&self, knob: Knob) -> f64 {
        self.0[knob as usize]
    }

    /// What of a model's GEMMs does not get shorter with more ranks, ms.
    pub(crate) fn gemm_starts_ms(&self, of: &StepModel<'_>) -> f64 {
        of.gemm_starts(self.get(Knob::GemmStart), self.get(Knob::ExpertStart))
    }

    /// The same hand with another value for one knob.
    pub(super) fn with(mut self, knob: Knob, value: f64) -> Self {
        self.0[knob as usize] = value;
        self
    }
}
