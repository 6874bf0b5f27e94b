//! A slope test that was given beside the runs: what it says of them, in a few words and with its figures.

use crate::attribute::{Attribution, Claim};
use crate::explanation::Explanation;
use crate::range::Range;
use crate::slope::{Change, Slope, SlopeVerdict};

/// A slope test that was given beside the runs.
pub(super) struct Tested<'a> {
    pub(super) slope: &'a Slope,
    pub(super) of_these_runs: bool,
    /// What its arms time of communication in the step of these very runs, ms: a lower figure. `None` where they raise no grade.
    told: Option<Range>,
}

impl<'a> Tested<'a> {
    /// That of an explanation; `None` where there is none.
    pub(super) fn of(explanation: &'a Explanation) -> Option<Self> {
        let slope = explanation.slope.as_ref()?;
        let of_these_runs = explanation.of_other_runs(slope).is_none();
        let raises = of_these_runs && explanation.kept_from_raising(slope).is_none();
        let evidence = slope.evidence().filter(|_| raises);
        Some(Self {
            slope,
            of_these_runs,
            told: evidence.map(|evidence| evidence.communication_ms),
        })
    }

    /// What its arms time of communication where the runs alone tell it from nothing by no curve; `None` where the runs have no room
    /// for it, so that the two contradict each other.
    pub(super) fn told_alone(&self, attribution: &Attribution) -> Option<Range> {
        let is_open =
            matches!(attribution.claim, Claim::None { .. }) && attribution.misfit.is_none();
        self.told
            .filter(|told| is_open && told.low <= attribution.remainder.high)
    }

    /// What it says of the figures before, without a figure of its own.
    pub(super) fn in_short(&self) -> &'static str {
        if !self.of_these_runs {
            return "the ablation is of other runs and tests nothing here";
        }
        match self.slope.passes {
            SlopeVerdict::Follows => "the ablation bears it out, since the step followed the link",
            SlopeVerdict::BelowPlan { .. } | SlopeVerdict::AbovePlan { .. } => {
                "the ablation does NOT bear it out"
            }
            SlopeVerdict::Undecided { .. } => "the ablation decides nothing",
        }
    }

    /// The same with its figures, beside the bar of communication.
    pub(super) fn in_figures(&self, bar: Option<Range>) -> String {
        if !self.of_these_runs {
            return self.in_short().to_owned();
        }
        match self.slope.passes {
            SlopeVerdict::Follows => {
                let fit = self.slope.fit.as_ref();
                // What no arm changes is not in it.
                let ms = fit.map_or_else(String::new, |fit| {
                    format!(", {} at least", fit.communication_ms.with_decimals(1))
                });
                let beyond = fit
                    .zip(bar)
                    .is_some_and(|(fit, bar)| fit.communication_ms.low > bar.high);
                let verdict = match beyond {
                    true => {
                        "the ablation bears out that the step follows the link, and gives more than that bar"
                    }
                    false => "the ablation bears communication out",
                };
                format!("{verdict}{ms}: {}", found(self.slope))
            }
            SlopeVerdict::BelowPlan { .. }
            | SlopeVerdict::AbovePlan { .. }
            | SlopeVerdict::Undecided { .. } => {
                format!("{}: {}", self.in_short(), found(self.slope))
            }
        }
    }
}

/// What was varied and what the step did.
pub(super) fn found(slope: &Slope) -> String {
    let late = slope
        .late
        .map_or_else(String::new, |late| format!("; {late}"));
    let Some(fit) = &slope.fit else {
        return format!("no line goes through its arms{late}");
    };
    let has = |change| {
        let mut arms = slope.arms.iter().filter(|arm| arm.fitted);
        arms.any(|arm| arm.change == change)
    };
    let varied = match (has(Change::Link), has(Change::Delay)) {
        (true, true) => "where only the link or a delay was varied",
        (true, false) => "where only the link was varied",
        (false, _) => "where only a delay was varied",
    };
    let followed = match &slope.passes {
        SlopeVerdict::Follows => "the step followed",
        SlopeVerdict::BelowPlan { .. } => "the step followed by less than planned",
        SlopeVerdict::AbovePlan { .. } => "the step followed by more than planned",
        SlopeVerdict::Undecided { .. } => "the step may or may not have followed",
    };
    format!(
        "{varied}, {followed}, with a slope of {} for {} all-reduces a step ({} arms, {} launches){late}",
        fit.slope.with_decimals(0),
        slope.planned,
        fit.arms.len(),
        fit.launches
    )
}
