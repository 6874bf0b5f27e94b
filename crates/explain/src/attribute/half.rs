//! What a half-width model's bars are worth, how it stands to a curve, and what is left of it where it is contradicted.

use serde::{Deserialize, Serialize};

use super::result::{Attribution, Bar, Grade, HalfModel};
use crate::range::Range;

/// What is taken as known may make up this part of a bar that is graded as measured.
const ASSUMED_PART: f64 = 0.1;

/// A measurement that gives communication more than a half-width model leaves for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rival {
    /// Which.
    pub by: RivalKind,
    /// What communication takes by it, ms a step; by an ablation a lower figure.
    pub ms: Range,
}

/// What a half-width model is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RivalKind {
    /// This box's curve of collectives.
    Curve,
    /// A trace of the engine.
    Trace,
    /// The arms of an ablation.
    Ablation,
}

/// The grade of a bar that was measured but for what is taken as known in it, whose range is so wide, ms; and a word on it.
pub(super) fn measured(bar: &Range, assumed_ms: f64) -> (Grade, String) {
    match assumed_ms <= ASSUMED_PART * bar.mid {
        true => (Grade::A, String::new()),
        false => (
            Grade::D,
            format!(
                "; what is taken as known in it may be {assumed_ms:.2} ms, so that it is not graded A"
            ),
        ),
    }
}

impl HalfModel {
    /// Whether the collectives as they were timed on this box are not what it leaves.
    pub(crate) fn is_contradicted(&self) -> bool {
        self.agrees == Some(false)
    }

    /// How the difference stands to the curve; `None` where there is none of this box.
    pub(crate) fn in_words(&self) -> Option<String> {
        let (by_curve, gap) = (self.by_curve?, self.gap?);
        let both = format!(
            "the half-width model leaves {} ms for collectives and executor, curve or trace give them {} ms",
            self.difference.with_decimals(2),
            by_curve.with_decimals(2)
        );
        let gap_in_words = gap.with_decimals(2);
        Some(match self.agrees? {
            true => format!("{both}: they agree (gap {gap_in_words} ms)"),
            false if gap.low > 0.0 => format!(
                "{both}: they disagree by {gap_in_words} ms, which calls alone do not take: ranks that wait for each other, contention, the host, or a path that is not the engine's"
            ),
            false => format!(
                "{both}: they disagree by {gap_in_words} ms, so either the engine does them faster (another path than was timed, or overlap), or one of the two is not of these runs"
            ),
        })
    }

    /// What curve or trace give the collectives where that is more than is left for them wherever in the intervals; else `None`.
    pub(super) fn overrun(&self) -> Option<Range> {
        self.by_curve
            .filter(|_| self.gap.is_some_and(|gap| gap.high < 0.0))
    }

    /// That it and others contradict each other, with what communication takes by each; `None` where nothing does.
    pub(crate) fn contradiction(&self, decimals: usize) -> Option<String> {
        let figure = |of: &Rival| {
            let ms = Range::number(of.ms.mid, decimals, false);
            match of.by {
                RivalKind::Curve | RivalKind::Trace => ms,
                RivalKind::Ablation => format!("{ms} at least"),
            }
        };
        let left = Range::number(self.difference.mid, decimals, false);
        match self.contradicts.as_slice() {
            [] => None,
            [one] => Some(format!(
                "The half-width model and {} contradict each other: by the one communication takes {left} ms of a step, by the other {}. Neither is believed.",
                one.by.named(),
                figure(one)
            )),
            all => {
                let names: Vec<&str> = all.iter().map(|of| of.by.named()).collect();
                let figures: Vec<String> = all.iter().map(figure).collect();
                Some(format!(
                    "The half-width model contradicts {}: by it communication takes {left} ms of a step, by them {}. None of them is believed.",
                    names.join(" and "),
                    figures.join(" and ")
                ))
            }
        }
    }

    /// What to run again so that what contradicts each other is settled; `None` where nothing does.
    pub(crate) fn again(&self) -> Option<String> {
        const HALF: &str = "the half-width model (serve-bench half-model --run)";
        match self.contradicts.as_slice() {
            [] => None,
            [one] => Some(format!(
                "{HALF} and {} again, one after the other",
                one.by.to_run()
            )),
            // Two that agree with each other are less likely to be wrong.
            _ => Some(format!("{HALF} again")),
        }
    }
}

impl RivalKind {
    fn named(self) -> &'static str {
        match self {
            Self::Curve => "the curve of this box",
            Self::Trace => "the trace",
            Self::Ablation => "the ablation",
        }
    }

    fn to_run(self) -> &'static str {
        match self {
            Self::Curve => "the curve (allreduce-bench in the server's environment)",
            Self::Trace => "the trace, of steps of this load,",
            Self::Ablation => "the ablation (serve-bench ablate)",
        }
    }
}

impl Attribution {
    /// Takes that this contradicts the half-width model: neither is believed, so that no bar that rests on one of them is better than
    /// prior knowledge.
    pub(crate) fn contradict_half(&mut self, rival: Rival) {
        let Some(half) = &mut self.half else {
            return;
        };
        let doubt = format!(
            "; the half-width model and {} contradict each other, so that its evidence is D",
            rival.by.named()
        );
        half.contradicts.push(rival);
        let is_better = |bar: &&mut Bar| bar.grade < Some(Grade::D) && bar.grade.is_some();
        let all = self.bars.iter_mut().chain(&mut self.communication);
        for bar in all.filter(is_better) {
            bar.grade = Some(Grade::D);
            bar.source.push_str(&doubt);
            self.lowered.retain(|cause| *cause != bar.cause);
        }
    }

    /// Whether something contradicts the half-width model, so that no cause leads and nothing that rests on it is advised.
    #[must_use]
    pub fn is_half_contradicted(&self) -> bool {
        let half = self.half.as_ref();
        half.is_some_and(|half| !half.contradicts.is_empty())
    }
}
