//! What an ablation beside runs is worth to them: whether its arms are of these runs, and what it raises.

use crate::attribute::{Attribution, Cause, Claim};
use crate::finding::{Finding, capped};
use crate::grade::Grade;
use crate::slope::{EMBEDDED, Slope, SlopeFit};

/// Steps of the arm and of the results that are further apart are not of one load.
const SAME_LOAD: f64 = 0.03;

/// Whether the arms are of the runs of this attribution, by `engine`, and nothing stands against them.
pub(crate) fn is_of(
    model: &str,
    engine: Option<&str>,
    findings: &[Finding],
    attribution: &Attribution,
    slope: &Slope,
) -> bool {
    let counted = attribution.all_reduces();
    let engines = engine.zip(slope.engine.as_deref());
    let is_engine = engines.is_none_or(|(runs, arms)| {
        let (runs, arms) = (engine_name(runs), engine_name(arms));
        runs.eq_ignore_ascii_case(arms)
    });
    let of = (model, attribution.tp, attribution.batch);
    let of_arms = (slope.model.as_str(), slope.tp, slope.batch);
    let of_runs = attribution.step_of_several.mid;
    let step = slope.step_of_fit();
    let is_load = step.is_none_or(|step| (step.mid / of_runs - 1.0).abs() <= SAME_LOAD);
    let is_consistent = slope.evidence().is_none_or(|fit| {
        let told = fit.communication_ms.low;
        let bar = attribution.bar(Cause::Communication);
        let bar =
            bar.filter(|_| attribution.claim == Claim::Estimated && !attribution.is_by_published());
        let within = bar.is_none_or(|bar| told <= bar.ms.high);
        slope.varied_link() && within && told <= attribution.remainder.high
    });
    of == of_arms
        && [0, slope.planned].contains(&counted)
        && is_engine
        && is_load
        && capped(findings).is_none()
        && is_consistent
}

fn engine_name(described: &str) -> &str {
    let acted = described.strip_prefix(EMBEDDED).unwrap_or(described);
    acted.split([' ', ';', ',']).next().unwrap_or(acted)
}

impl Attribution {
    /// With what an ablation that followed the link of the same runs gives: all-reduces by this machine's curve are B, nothing is said
    /// of overlap any more, and where nothing could be told of communication, free links are those of the arms.
    pub(crate) fn raise(&mut self, evidence: &SlopeFit) {
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
