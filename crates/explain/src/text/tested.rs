//! A slope test that was given beside the runs: what it says of them, in a few words and with its figures.

use super::figures::by_difference;
use super::waterfall::step_decimals;
use crate::ablated::{Kept, timed_alone};
use crate::attribute::{Attribution, Bar, Cause, HalfModel};
use crate::explanation::Explanation;
use crate::range::Range;
use crate::slope::{Change, Slope, SlopeVerdict};

/// What arms of another load say.
const OTHER_LOAD: &str = "the ablation is of another load and tests nothing here";

/// A slope test that was given beside the runs.
pub(super) struct Tested<'a> {
    pub(super) slope: &'a Slope,
    of_these_runs: bool,
    /// What keeps it from raising a grade.
    kept: Option<Kept>,
    /// What its arms time of communication in the step of these very runs, ms: a lower figure. `None` where they raise no grade.
    told: Option<Range>,
    /// The same where nothing else tells communication.
    alone: Option<Bar>,
    /// Whether it is more than the bar of communication has room for.
    is_more: bool,
    /// What its arms time against what else gives communication, where that is more.
    less: Option<String>,
    /// Whether a half-width model leaves more than the calls take, and no arm changes it.
    has_beyond: bool,
}

impl<'a> Tested<'a> {
    /// That of an explanation; `None` where there is none.
    pub(super) fn of(explanation: &'a Explanation) -> Option<Self> {
        let slope = explanation.slope.as_ref()?;
        let of_these_runs = explanation.of_other_runs(slope).is_none();
        let kept = explanation.kept_from_raising(slope);
        let raises = of_these_runs && kept.is_none();
        let evidence = slope.evidence().filter(|_| raises);
        let attribution = explanation.outcome.attribution();
        let told = evidence.as_ref().map(|evidence| evidence.communication_ms);
        let bar = attribution.and_then(|of| of.bar(Cause::Communication));
        Some(Self {
            slope,
            of_these_runs,
            kept,
            told,
            alone: attribution
                .zip(evidence.as_ref())
                .and_then(|(attribution, evidence)| timed_alone(attribution, evidence)),
            is_more: bar
                .zip(told)
                .is_some_and(|(bar, told)| told.low > bar.ms.high),
            less: attribution
                .zip(bar.zip(told))
                .filter(|(_, (bar, told))| told.high < bar.ms.low)
                // What no arm changes fills the rest up, where a half-width model says so.
                .filter(|_| slope.check().is_none_or(|check| !check.agrees))
                .map(|(attribution, (bar, told))| less(attribution, bar, &told)),
            has_beyond: attribution
                .and_then(|of| of.half.as_ref())
                .is_some_and(HalfModel::is_contradicted)
                && slope.check().is_some_and(|of| of.constant_ms.low > 0.0),
        })
    }

    /// Communication as its arms alone tell it, a lower figure; `None` where something else tells it, or where they raise no grade.
    pub(super) fn alone(&self) -> Option<&Bar> {
        self.alone.as_ref()
    }

    /// Whether it says anything of these runs: it is of them and of their load.
    pub(super) fn is_of_this_load(&self) -> bool {
        self.of_these_runs && !matches!(self.kept, Some(Kept::OtherLoad { .. }))
    }

    /// What it says of the figures before, without a figure of its own unless it contradicts them.
    pub(super) fn in_short(&self) -> String {
        match &self.kept {
            Some(Kept::Contradicts(why)) if self.of_these_runs => format!("WARNING: {why}"),
            _ => self.followed().unwrap_or_else(|| self.verdict().to_owned()),
        }
    }

    /// That the step followed the link, where this bears no other figure out, or not all of it; `None` elsewhere.
    fn followed(&self) -> Option<String> {
        let followed = "in the ablation the step followed the link";
        self.told.filter(|_| !self.is_more)?;
        match (&self.less, self.alone.is_some(), self.has_beyond) {
            // Its own figure stands before this.
            (_, true, _) => Some(followed.to_owned()),
            (Some(less), ..) => Some(format!("{followed}, and {less}")),
            (None, false, true) => Some(
                "the ablation bears out the calls by themselves, since the step followed the link, and what that run leaves beyond them follows no link"
                    .to_owned(),
            ),
            (None, false, false) => None,
        }
    }

    fn verdict(&self) -> &'static str {
        if !self.of_these_runs {
            return "the ablation is of other runs and tests nothing here";
        }
        if !self.is_of_this_load() {
            return OTHER_LOAD;
        }
        match (&self.slope.passes, &self.kept) {
            (SlopeVerdict::BelowPlan { .. } | SlopeVerdict::AbovePlan { .. }, _) => {
                "the ablation does NOT bear it out"
            }
            (SlopeVerdict::Undecided { .. }, _) => "the ablation decides nothing",
            (SlopeVerdict::Follows, Some(Kept::DelaysOnly)) => {
                "in the ablation the step followed a known delay; no link was varied"
            }
            (SlopeVerdict::Follows, Some(Kept::Contradicts(_))) => "the ablation contradicts that",
            (SlopeVerdict::Follows, Some(Kept::Warned { runs, curve })) => {
                match (runs.is_some(), curve.is_some()) {
                    (true, true) => {
                        "in the ablation the step followed the link, which raises no grade here, since the runs differ in more than the number of GPUs, and their curve is in doubt"
                    }
                    (true, false) => {
                        "in the ablation the step followed the link, which raises no grade here, since the runs differ in more than the number of GPUs"
                    }
                    (false, _) => {
                        "in the ablation the step followed the link, which raises no grade here, since the curve is in doubt"
                    }
                }
            }
            (SlopeVerdict::Follows, Some(Kept::OtherLoad { .. })) => OTHER_LOAD,
            (SlopeVerdict::Follows, None) if self.told.is_none() => {
                "the ablation and the half-width model contradict each other, and neither is believed"
            }
            (SlopeVerdict::Follows, None) if self.is_more => {
                "in the ablation the step followed the link, and communication takes more than that"
            }
            (SlopeVerdict::Follows, None) => {
                "the ablation bears it out, since the step followed the link"
            }
        }
    }

    /// The same with its figures.
    pub(super) fn in_figures(&self) -> String {
        if !self.is_of_this_load() {
            return self.verdict().to_owned();
        }
        let found = found(self.slope);
        match (&self.slope.passes, self.told) {
            (SlopeVerdict::Follows, Some(told)) => {
                // What no arm changes is not in it.
                let least = format!("{} at least", told.with_decimals(1));
                match (&self.less, self.alone.is_some(), self.has_beyond) {
                    _ if self.is_more => format!(
                        "the ablation bears out that the step follows the link, and gives more than that bar, {least}: {found}"
                    ),
                    (_, true, _) => format!("in the ablation, {found}"),
                    (Some(less), ..) => format!("in the ablation, {found}; {less}"),
                    (None, false, true) => format!(
                        "the ablation bears the calls out, {least}, and what the half-width model leaves beyond them follows no link: {found}"
                    ),
                    (None, false, false) => {
                        format!("the ablation bears communication out, {least}: {found}")
                    }
                }
            }
            _ => format!("{}: {found}", self.verdict()),
        }
    }
}

/// What the arms time against the bar, which is more.
fn less(attribution: &Attribution, bar: &Bar, told: &Range) -> String {
    let decimals = step_decimals(attribution);
    let gives = match (by_difference(attribution), attribution.is_traced()) {
        (true, _) => "the half-width model leaves",
        (false, true) => "the trace gives",
        (false, false) if attribution.is_by_published() => "published figures give",
        (false, false) => "the curve gives",
    };
    format!(
        "its arms time at least {} ms where {gives} {}",
        told.with_decimals(decimals),
        bar.ms.with_decimals(decimals)
    )
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
