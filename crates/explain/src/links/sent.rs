//! What both sides send in the time under comparison, by their curves, and what that makes of the difference.

use record::{CallMode, PlannedCollective};

use super::result::LinkPrediction;
use super::starts;
use crate::attribute::{CollectiveCost, Collectives, Taken};
use crate::finding::Finding;
use crate::grade::Grade;
use crate::inputs::Inputs;
use crate::priors::Prior;
use crate::random::Random;
use crate::range::Range;

/// What one side sends in the time under comparison by the plan.
pub(super) struct Planned {
    /// Collectives of it.
    pub(super) own: Vec<PlannedCollective>,
    /// Collectives of prompts that are in it besides; `None` where a stream keeps them apart.
    pub(super) prompts: Option<Prompts>,
}

/// Collectives of prompts in the time of an output token, where that is a latency shared out.
pub(super) struct Prompts {
    /// Those of all prompts that a request waits for.
    pub(super) all: Vec<PlannedCollective>,
    /// The part of them that one output token bears.
    pub(super) share: f64,
}

/// The same with times.
pub(super) struct OnSide {
    own: Sent,
    prompts: Option<(Sent, f64)>,
    /// What all of it may differ by from the launch that was timed; `None` where the curve itself shows that.
    start: Option<Prior>,
}

impl OnSide {
    /// By the curves of a side; `by` reads those of `own`, as its time is.
    ///
    /// # Errors
    /// A curve does not tell, in words.
    pub(super) fn new(
        inputs: &Inputs,
        planned: &Planned,
        by: impl Fn(&Inputs, &[PlannedCollective]) -> Result<Collectives, Finding>,
    ) -> Result<Self, Finding> {
        // A curve that was published for the GPU is of no link in particular.
        let own = inputs.usable_curve();
        if !planned.own.is_empty() && !own.iter().any(|point| point.ranks == inputs.tp) {
            return Err(Finding::NoCurve { ranks: inputs.tp });
        }
        let prompts = planned.prompts.as_ref();
        let prompts = prompts.map(|prompts| {
            let sent = Sent::of(&prompts.all, |all| Collectives::of_prefill(inputs, all));
            Ok::<_, Finding>((sent?, prompts.share))
        });
        Ok(Self {
            own: Sent::of(&planned.own, |planned| by(inputs, planned))?,
            prompts: prompts.transpose()?,
            start: starts::of_curve(inputs, &planned.own),
        })
    }

    /// What is assumed of the launch.
    pub(super) fn start(&self) -> Option<&Prior> {
        self.start.as_ref()
    }

    /// How the curve of the time itself was timed; `None` where nothing is sent.
    pub(super) fn timed_in(&self) -> Option<Option<CallMode>> {
        match &self.own {
            Sent::Nothing => None,
            Sent::ByCurve(of) => Some(of.timed_in()),
        }
    }

    /// Every set of collectives with times.
    pub(super) fn found(&self) -> impl Iterator<Item = &Collectives> {
        let prompts = self.prompts.iter().map(|(sent, _)| sent);
        [&self.own]
            .into_iter()
            .chain(prompts)
            .filter_map(|sent| match sent {
                Sent::Nothing => None,
                Sent::ByCurve(of) => Some(&**of),
            })
    }

    /// One draw of both sides; `fresh` is the part of prompt tokens that no cache holds.
    fn draw_both(a: &Self, b: &Self, fresh: f64, random: &mut Random) -> (Taken, Taken) {
        let (mut on_a, mut on_b) = Sent::draw_both(&a.own, &b.own, random);
        if let (Some((of_a, share_a)), Some((of_b, share_b))) = (&a.prompts, &b.prompts) {
            let (in_a, in_b) = Sent::draw_both(of_a, of_b, random);
            for (on, of, share) in [(&mut on_a, in_a, share_a), (&mut on_b, in_b, share_b)] {
                on.ms += of.ms * fresh * share;
                on.bare_ms += of.bare_ms * fresh * share;
            }
        }
        // The server's processes are none of those that were timed, on either side.
        for (on, side) in [(&mut on_a, a), (&mut on_b, b)] {
            if let Some(start) = &side.start {
                let factor = start.at(random.uniform());
                on.ms *= factor;
                on.bare_ms *= factor;
            }
        }
        (on_a, on_b)
    }

    /// What the curve gives the collectives of the time itself, ms, without its prompts.
    pub(super) fn face_ms(&self) -> f64 {
        match &self.own {
            Sent::Nothing => 0.0,
            Sent::ByCurve(of) => of.face_ms(),
        }
    }

    fn grade(&self) -> Grade {
        // Where nothing is sent, nothing is in doubt.
        let grades = self.found().map(Collectives::grade);
        grades.max().unwrap_or(Grade::A)
    }

    fn costs(&self) -> Vec<CollectiveCost> {
        match &self.own {
            Sent::Nothing => Vec::new(),
            Sent::ByCurve(of) => of.costs(),
        }
    }

    fn all_reduces(&self) -> u32 {
        match &self.own {
            Sent::Nothing => 0,
            Sent::ByCurve(of) => of.all_reduces(),
        }
    }
}

/// Collectives with times, of which there are none on one GPU.
enum Sent {
    Nothing,
    ByCurve(Box<Collectives>),
}

impl Sent {
    fn of(
        planned: &[PlannedCollective],
        by: impl Fn(&[PlannedCollective]) -> Result<Collectives, Finding>,
    ) -> Result<Self, Finding> {
        match planned {
            [] => Ok(Self::Nothing),
            some => by(some).map(|found| Self::ByCurve(Box::new(found))),
        }
    }

    fn draw_both(a: &Self, b: &Self, random: &mut Random) -> (Taken, Taken) {
        let nothing = Taken {
            ms: 0.0,
            bare_ms: 0.0,
        };
        match (a, b) {
            (Self::ByCurve(a), Self::ByCurve(b)) => Collectives::draw_both(a, b, random),
            (Self::ByCurve(a), Self::Nothing) => (a.draw(random), nothing),
            (Self::Nothing, Self::ByCurve(b)) => (nothing, b.draw(random)),
            (Self::Nothing, Self::Nothing) => (nothing, nothing),
        }
    }
}

/// Values of all draws, ms.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    pub(super) measured: Vec<f64>,
    sent_a: Vec<f64>,
    sent_b: Vec<f64>,
    predicted: Vec<f64>,
    beyond: Vec<f64>,
    /// Measured over predicted difference, as the curves are.
    ratio: Vec<f64>,
}

impl Drawn {
    /// A draw of both times.
    pub(super) fn time(&mut self, a: f64, b: f64) {
        self.a.push(a);
        self.b.push(b);
        self.measured.push(b - a);
    }

    /// A draw of what both sides send in the times that were drawn last.
    pub(super) fn send(&mut self, [a, b]: &[OnSide; 2], fresh: f64, random: &mut Random) {
        let (on_a, on_b) = OnSide::draw_both(a, b, fresh, random);
        let measured = self.measured.last().copied().unwrap_or(0.0);
        let predicted = on_b.ms - on_a.ms;
        self.sent_a.push(on_a.ms);
        self.sent_b.push(on_b.ms);
        self.predicted.push(predicted);
        self.beyond.push(measured - predicted);
        self.ratio.push(measured / (on_b.bare_ms - on_a.bare_ms));
    }

    /// What the curves make of the difference.
    ///
    /// # Errors
    /// A time is not finite.
    pub(super) fn prediction(&self, [a, b]: &[OnSide; 2]) -> Result<LinkPrediction, Finding> {
        let range = |draws: &[f64]| Range::of(draws).ok_or(Finding::NoStepTime);
        let difference = range(&self.predicted)?;
        let count = b.all_reduces();
        let effective = Range::of(&self.ratio).filter(|_| difference.is_told());
        let effective = effective.map(|ratio| Range {
            low: ratio.low * f64::from(count),
            mid: ratio.mid * f64::from(count),
            high: ratio.high * f64::from(count),
        });
        // A difference against the curves' direction is worth no number of collectives.
        let effective = effective.filter(|effective| effective.high > 0.0);
        Ok(LinkPrediction {
            a: range(&self.sent_a)?,
            b: range(&self.sent_b)?,
            difference,
            beyond: range(&self.beyond)?,
            planned: count,
            effective,
            grade: a.grade().max(b.grade()),
            collectives_of_a: a.costs(),
            collectives_of_b: b.costs(),
            modes: match (a.timed_in(), b.timed_in()) {
                (Some(a), Some(b)) if a != b => Some((a, b)),
                _ => None,
            },
        })
    }
}
