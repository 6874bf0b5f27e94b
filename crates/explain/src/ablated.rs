//! What an ablation beside runs is worth to them: whether its arms are of these runs, and what keeps them from raising a grade.

use crate::attribute::{Attribution, Cause, Claim};
use crate::finding::{AblationUnused, Finding, capped};
use crate::grade::Grade;
use crate::slope::{Change, EMBEDDED, Slope, SlopeEvidence};

/// Steps of the arm and of the results that are further apart are not of one load.
const SAME_LOAD: f64 = 0.03;

/// What an explanation is of.
pub(crate) struct Case<'a> {
    pub(crate) model: &'a str,
    pub(crate) tp: u32,
    pub(crate) engine: Option<&'a str>,
    pub(crate) findings: &'a [Finding],
}

/// Why the arms raise no grade of this attribution; `None` where they do.
pub(crate) fn unused(
    case: &Case<'_>,
    attribution: &Attribution,
    slope: &Slope,
) -> Option<AblationUnused> {
    let counted = attribution.all_reduces();
    let engines = case.engine.zip(slope.engine.as_deref());
    let is_other_engine =
        engines.is_some_and(|(runs, arms)| engine_name(runs) != engine_name(arms));
    let of = (case.model, case.tp, attribution.batch);
    let of_arms = (slope.model.as_str(), slope.tp, slope.batch);
    if of != of_arms || ![0, slope.planned].contains(&counted) || is_other_engine {
        return Some(AblationUnused::OtherRuns);
    }
    let of_runs = attribution.step_of_several.mid;
    let step = slope.step_of_fit();
    if step.is_some_and(|step| (step.mid / of_runs - 1.0).abs() > SAME_LOAD) {
        return Some(AblationUnused::OtherLoad);
    }
    if capped(case.findings).is_some() {
        return Some(AblationUnused::GradeCapped);
    }
    let evidence = slope.evidence()?;
    let mut fitted = slope.arms.iter().filter(|arm| arm.fitted);
    if !fitted.any(|arm| arm.change == Change::Link) {
        return Some(AblationUnused::DelaysOnly);
    }
    let told = evidence.communication_ms.low;
    let bar = attribution.bar(Cause::Communication);
    let bar =
        bar.filter(|_| attribution.claim == Claim::Estimated && !attribution.is_by_published());
    let beyond = bar.is_some_and(|bar| told > bar.ms.high) || told > attribution.remainder.high;
    beyond.then_some(AblationUnused::Contradicts)
}

fn engine_name(described: &str) -> Option<String> {
    let acted = described.strip_prefix(EMBEDDED).unwrap_or(described);
    let name = acted.split([' ', ';', ',']).next();
    name.map(str::to_lowercase)
}

impl Attribution {
    /// With what an ablation that followed the link of the same runs gives: all-reduces by this machine's curve are B, nothing is said
    /// of overlap any more, and where nothing could be told of communication, free links are those of the arms.
    pub(crate) fn raise(&mut self, evidence: &SlopeEvidence) {
        let is_raised = |cause: Cause, grade| cause == Cause::AllReduce && grade == Some(Grade::C);
        for bar in self
            .bars
            .iter_mut()
            .filter(|bar| is_raised(bar.cause, bar.grade))
        {
            bar.grade = Some(Grade::B);
        }
        self.caveats
            .retain(|caveat| !matches!(caveat, Finding::OverlapPossible { .. }));
        if self.claim == Claim::None && self.misfit.is_none() {
            self.free_links_by_arms = Some(self.step_of_one.over(&evidence.intercept_ms));
        }
    }
}
