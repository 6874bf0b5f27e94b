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

/// What one side sends, with times; nothing on one GPU.
pub(super) struct OnSide {
    sent: Option<Collectives>,
    /// What its curve may be off by where too few launches of it were timed to show that.
    pub(super) start: Option<Prior>,
}

impl OnSide {
    /// # Errors
    /// This side has no curve of its own, or it does not reach what is sent.
    pub(super) fn new(
        inputs: &Inputs,
        planned: &[PlannedCollective],
        by: impl Fn(&Inputs, &[PlannedCollective]) -> Result<Collectives, Finding>,
    ) -> Result<Self, Finding> {
        let own = inputs.usable_curve();
        let is_sent = !planned.is_empty();
        // A published curve is of no link under comparison.
        if is_sent && !own.iter().any(|point| point.ranks == inputs.tp) {
            return Err(Finding::NoCurve { ranks: inputs.tp });
        }
        Ok(Self {
            sent: is_sent.then(|| by(inputs, planned)).transpose()?,
            start: starts::of_curve(inputs, planned),
        })
    }

    pub(super) fn sent(&self) -> Option<&Collectives> {
        self.sent.as_ref()
    }

    fn timed_in(&self) -> Option<Option<CallMode>> {
        self.sent().map(Collectives::timed_in)
    }

    pub(super) fn face_ms(&self) -> f64 {
        self.sent().map_or(0.0, Collectives::face_ms)
    }

    fn grade(&self) -> Grade {
        self.sent().map_or(Grade::A, Collectives::grade)
    }

    fn costs(&self) -> Vec<CollectiveCost> {
        self.sent().map_or_else(Vec::new, Collectives::costs)
    }

    /// One draw of both: what both have in common is drawn once.
    fn draw_both(a: &Self, b: &Self, random: &mut Random) -> [Taken; 2] {
        let nothing = Taken {
            ms: 0.0,
            bare_ms: 0.0,
        };
        let (on_a, on_b) = match (&a.sent, &b.sent) {
            (Some(a), Some(b)) => Collectives::draw_both(a, b, random),
            (Some(a), None) => (a.draw(random), nothing),
            (None, Some(b)) => (nothing, b.draw(random)),
            (None, None) => (nothing, nothing),
        };
        [(on_a, a), (on_b, b)].map(|(on, side)| {
            let start = side.start.as_ref();
            let factor = start.map_or(1.0, |start| start.at(random.uniform()));
            Taken {
                ms: on.ms * factor,
                bare_ms: on.bare_ms * factor,
            }
        })
    }
}

/// Draws of both sides, ms.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    /// B less A.
    pub(super) measured: Vec<f64>,
    sent_a: Vec<f64>,
    sent_b: Vec<f64>,
    predicted: Vec<f64>,
    beyond: Vec<f64>,
    ratio: Vec<f64>,
}

impl Drawn {
    pub(super) fn time(&mut self, a: f64, b: f64) {
        self.a.push(a);
        self.b.push(b);
        self.measured.push(b - a);
    }

    pub(super) fn send(&mut self, [a, b]: &[OnSide; 2], random: &mut Random) {
        let [on_a, on_b] = OnSide::draw_both(a, b, random);
        let measured = self.measured.last().copied().unwrap_or(0.0);
        let predicted = on_b.ms - on_a.ms;
        self.sent_a.push(on_a.ms);
        self.sent_b.push(on_b.ms);
        self.predicted.push(predicted);
        self.beyond.push(measured - predicted);
        self.ratio.push(measured / (on_b.bare_ms - on_a.bare_ms));
    }

    pub(super) fn prediction(&self, [a, b]: &[OnSide; 2]) -> Result<LinkPrediction, Finding> {
        let range = |draws: &[f64]| Range::of(draws).ok_or(Finding::NoStepTime);
        let difference = range(&self.predicted)?;
        let planned = b.sent().map_or(0, Collectives::all_reduces);
        let count = f64::from(planned);
        // A ratio of what is not known from zero says nothing.
        let effective = Range::of(&self.ratio).filter(|_| difference.is_told());
        let effective = effective.map(|ratio| Range {
            low: ratio.low * count,
            mid: ratio.mid * count,
            high: ratio.high * count,
        });
        Ok(LinkPrediction {
            a: range(&self.sent_a)?,
            b: range(&self.sent_b)?,
            difference,
            beyond: range(&self.beyond)?,
            planned,
            effective: effective.filter(|effective| effective.high > 0.0),
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
