//! What an ablation beside runs is worth to them: whether its arms are of these runs, what keeps them from raising a grade, and what they tell alone. The words
//! around it stand in `text`; the test itself stands in `slope`.

use measure::record::CollectiveKind;

use crate::attribute::{Attribution, Bar, Cause, Claim, ELSEWHERE, Grade, Lack, OVERLAP};
use crate::explanation::{Explanation, Outcome};
use crate::gates::{CURVE_GROWS, Gate, warned};
use crate::next::Raises;
use crate::slope::{Change, EMBEDDED, SAME_LOAD, Slope, SlopeEvidence};
use crate::text::step_decimals;

/// Two times of the same call that are further apart than this factor are of two environments: spreads between launches and modes make less.
const SAME_CALL: f64 = 1.25;

/// What keeps arms of these runs from raising a grade.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kept {
    /// Their baseline's step is not that of the runs.
    OtherLoad {
        /// The baseline's, ms.
        arms_ms: f64,
        /// That of the runs, ms.
        runs_ms: f64,
    },
    /// The runs differ in more than the number of GPUs, or their curve is in doubt.
    Warned {
        /// The gate on what the runs differ in, and what it saw; `None` where they differ in nothing else.
        runs: Option<String>,
        /// What is odd about the curve; `None` where nothing is.
        curve: Option<String>,
    },
    /// No link was varied.
    DelaysOnly,
    /// Arms contradict the curve or the runs; in a sentence without a full stop, with what to measure.
    Contradicts(String),
}

impl Kept {
    /// Where gates warn of the runs or of their curve, whatever the arms say; else `None`.
    fn by_gates(gates: &[Gate]) -> Option<Self> {
        let is_of_curve = |gate: &&Gate| gate.name == CURVE_GROWS;
        let curve = warned(gates).find(is_of_curve);
        let runs = warned(gates).find(|gate| !is_of_curve(gate));
        (curve.is_some() || runs.is_some()).then(|| Self::Warned {
            runs: runs.map(|gate| {
                let name = gate.name.strip_prefix("the ").unwrap_or(&gate.name);
                format!("the {name} ({})", gate.seen)
            }),
            curve: curve.map(|gate| gate.seen.clone()),
        })
    }

    /// As a reservation.
    pub(crate) fn caveat(&self) -> String {
        match self {
            Self::OtherLoad { arms_ms, runs_ms } => format!(
                "a step of the ablation's baseline takes {arms_ms:.1} ms and one of these runs {runs_ms:.1}: another load, so that it raises no grade"
            ),
            Self::Warned { runs, curve } => {
                let runs = runs.iter().map(|what| format!("not {what}"));
                let curve = curve
                    .iter()
                    .map(|seen| format!("the curve is in doubt ({seen})"));
                let all: Vec<String> = runs.chain(curve).collect();
                format!("{}: the ablation raises no grade", all.join("; "))
            }
            Self::DelaysOnly => {
                "only delays were varied in the ablation, and no link: it raises no grade"
                    .to_owned()
            }
            Self::Contradicts(why) => format!("WARNING: {why}; the ablation raises no grade"),
        }
    }
}

impl Explanation {
    /// What arms have that differs from the runs that are explained; `None` where they are of the same model, load, engine and collectives.
    pub(crate) fn of_other_runs(&self, slope: &Slope) -> Option<String> {
        let Outcome::Attributed { attribution, .. } = &self.outcome else {
            return Some("the runs were refused".to_owned());
        };
        let counted = attribution.all_reduces();
        // As far as both say; without a curve the attribution counts no collectives.
        let is_counted = !attribution.collectives.is_empty();
        let engines = self.engine.as_deref().zip(slope.engine.as_deref());
        let differs = [
            (self.model != slope.model).then(|| format!("{} for {}", slope.model, self.model)),
            (self.tp != slope.tp).then(|| format!("TP{} for TP{}", slope.tp, self.tp)),
            (attribution.batch != slope.batch)
                .then(|| format!("{} in flight for {}", slope.batch, attribution.batch)),
            (is_counted && counted != slope.planned)
                .then(|| format!("{} all-reduces a step for {counted}", slope.planned)),
            engines
                .filter(|(runs, arms)| engine_name(runs) != engine_name(arms))
                .map(|(runs, arms)| format!("engine {arms} for {runs}")),
        ];
        let differs: Vec<String> = differs.into_iter().flatten().collect();
        (!differs.is_empty()).then(|| differs.join(", "))
    }

    /// What keeps arms of these runs from raising a grade; `None` where nothing does.
    pub(crate) fn kept_from_raising(&self, slope: &Slope) -> Option<Kept> {
        let attribution = self.outcome.attribution()?;
        let of_runs = attribution.step_of_several;
        let other = slope
            .step_of_fit()
            .filter(|step| (step.mid / of_runs.mid - 1.0).abs() > SAME_LOAD);
        if let Some(step) = other {
            return Some(Kept::OtherLoad {
                arms_ms: step.mid,
                runs_ms: of_runs.mid,
            });
        }
        if let Some(kept) = Kept::by_gates(&self.gates) {
            return Some(kept);
        }
        let mut fitted = slope.arms.iter().filter(|arm| arm.fitted);
        if !fitted.any(|arm| arm.change == Change::Link) {
            return Some(Kept::DelaysOnly);
        }
        contradiction(attribution, slope, &slope.evidence()?).map(Kept::Contradicts)
    }
}

impl Attribution {
    /// Takes a slope test that the step passed: all-reduces by this box's curve get its grade, communication that nothing else tells gets
    /// what free links would give, and overlap needs no reservation. All-gathers are changed by no delay and hardly by a link, so
    /// their grade stays.
    pub(crate) fn raise(&mut self, evidence: &SlopeEvidence) {
        for bar in self.bars.iter_mut().filter(|bar| is_raised(bar)) {
            bar.grade = Some(Grade::B);
            bar.source.push_str("; the step follows the link: ");
            bar.source.push_str(&evidence.words);
        }
        self.caveats.retain(|caveat| !caveat.starts_with(OVERLAP));
        self.free_links_by_arms = timed_alone(self, evidence)
            .filter(|_| matches!(self.claim, Claim::None { .. }))
            .map(|_| self.step_of_one.over(&evidence.intercept_ms));
    }

    /// Whether the collectives' times are a trace's.
    pub(crate) fn is_traced(&self) -> bool {
        self.priors.iter().any(|prior| prior.name == "in_trace")
    }
}

/// Whether arms that the step follows raise this bar's grade.
fn is_raised(bar: &Bar) -> bool {
    bar.cause == Cause::AllReduce && bar.grade == Some(Grade::C)
}

/// What an ablation would do to a grade if the step followed the link, as far as anything tells beforehand.
pub(crate) fn would_raise(attribution: &Attribution, gates: &[Gate]) -> Raises {
    let first = |words: &str| Raises::Not {
        why: words.to_owned(),
    };
    if attribution.is_half_contradicted() {
        return first(
            "before the half-width model and what contradicts it are run again and agree",
        );
    }
    match Kept::by_gates(gates) {
        Some(Kept::Warned {
            runs: Some(runs), ..
        }) => {
            return Raises::Not {
                why: format!("while the runs differ in more than the number of GPUs: not {runs}"),
            };
        }
        Some(_) => {
            return first("before the sizes of the curve that are in doubt are measured again");
        }
        None => {}
    }
    if attribution.bars.iter().any(is_raised) {
        return Raises::ToB;
    }
    let bar = attribution.bar(Cause::AllReduce);
    first(match bar.and_then(|bar| bar.grade) {
        Some(Grade::A | Grade::B) => "of all-reduces that are measured already",
        Some(_) if !attribution.collectives.is_empty() && !attribution.is_by_published() => {
            "of this curve, whose evidence for the all-reduces is D: that takes one in the engine's mode, of its kernel and at their size"
        }
        _ => "without a curve of this box at the all-reduces' size",
    })
}

/// Communication as arms that raise a grade tell it alone, a lower figure; `None` where curve, trace or half-width model give it a bar,
/// or where none is told because they do not fit.
pub(crate) fn timed_alone(attribution: &Attribution, evidence: &SlopeEvidence) -> Option<Bar> {
    let has_own =
        attribution.claim == Claim::Estimated && attribution.bar(Cause::Communication).is_some();
    (!has_own && attribution.misfit.is_none()).then(|| Bar {
        cause: Cause::Communication,
        ms: evidence.communication_ms,
        grade: Some(Grade::B),
        source: evidence.words.clone(),
    })
}

/// What the arms contradict: the curve's time of the same call, else the bar of communication; and what the runs leave.
fn contradiction(
    attribution: &Attribution,
    slope: &Slope,
    evidence: &SlopeEvidence,
) -> Option<String> {
    let (told, left) = (evidence.communication_ms, attribution.remainder);
    let has_room = told.low <= left.high;
    let of_curve = other_call(attribution, slope)
        .or_else(|| beyond_bar(attribution, evidence).filter(|_| has_room));
    let of_runs = (!has_room).then(|| {
        let decimals = step_decimals(attribution);
        let settled = match attribution.half {
            None => "; a half-width model tells which of the two holds",
            Some(_) => "; run the ablation and the load again, one after the other",
        };
        format!(
            "runs and ablation contradict each other: the arms time at least {} ms and the runs leave {}{settled}",
            told.with_decimals(decimals),
            left.with_decimals(decimals)
        )
    });
    let all: Vec<String> = of_curve.into_iter().chain(of_runs).collect();
    (!all.is_empty()).then(|| all.join("; and "))
}

/// The curve's time of an all-reduce and the baseline's, where they are not of the same call.
fn other_call(attribution: &Attribution, slope: &Slope) -> Option<String> {
    let fit = slope.fit.as_ref()?;
    let is_baseline = |change| change == Change::Baseline;
    let mut arms = slope.arms.iter().filter(|arm| arm.name == fit.at);
    arms.find(|arm| is_baseline(arm.change))?;
    let (arms, curve) = (fit.collective_us, all_reduce_us(attribution)?);
    let apart = (arms.mid / curve).max(curve / arms.mid);
    let is_outside = curve < arms.low || arms.high < curve;
    let decimals = usize::from(curve.min(arms.mid) < 10.0);
    (apart > SAME_CALL && is_outside).then(|| {
        format!(
            "curve and ablation contradict each other: {curve:.decimals$} us and {:.decimals$} us for the same call; measure the curve again in the server's environment",
            arms.mid
        )
    })
}

/// What a curve of this box gives one all-reduce of a step, us; `None` where it has no time of this very call.
fn all_reduce_us(attribution: &Attribution) -> Option<f64> {
    // A trace's times hold the waits of the engine, which no bench has.
    if attribution.is_traced() {
        return None;
    }
    let reduces = attribution.collectives.iter();
    let mut reduces = reduces.filter(|cost| cost.kind == CollectiveKind::AllReduce);
    let (mut us, mut count) = (0.0, 0.0);
    let is_another = |lack: &Lack| match lack {
        Lack::Mode | Lack::Kernel | Lack::Operation | Lack::Size | Lack::SizeBetween => true,
        Lack::Box | Lack::ModeStated => false,
    };
    let is_other = reduces.any(|cost| {
        us += f64::from(cost.count) * cost.us;
        count += f64::from(cost.count);
        cost.source.starts_with(ELSEWHERE) || cost.lacks.iter().any(is_another)
    });
    (!is_other && us > 0.0).then(|| us / count)
}

/// Where the arms' communication lies wholly above a bar that was measured on this box.
fn beyond_bar(attribution: &Attribution, evidence: &SlopeEvidence) -> Option<String> {
    if attribution.claim != Claim::Estimated || attribution.is_by_published() {
        return None;
    }
    let bar = attribution.bar(Cause::Communication)?;
    let by_half = attribution.half.as_ref();
    let by_half = by_half.is_some_and(|half| !half.is_contradicted());
    let (by, run) = match (by_half, attribution.is_traced()) {
        (true, _) => ("half-width model", "run both again, one after the other"),
        (false, true) => ("trace", "trace the steps of the ablation's load"),
        (false, false) => (
            "curve",
            "measure the curve again in the server's environment",
        ),
    };
    let decimals = step_decimals(attribution);
    (evidence.communication_ms.low > bar.ms.high).then(|| {
        format!(
            "{by} and ablation contradict each other: communication takes {} ms of a step by the one and at least {} by the other; {run}",
            bar.ms.with_decimals(decimals),
            evidence.communication_ms.with_decimals(decimals)
        )
    })
}

/// The engine's name in a description of it, such as `vllm` of `vLLM 0.13.0, graphs up to 512`; the embedded engine is known by the one that it acts as.
fn engine_name(described: &str) -> Option<String> {
    let acted = described.strip_prefix(EMBEDDED).unwrap_or(described);
    let name = acted.split([' ', ';', ',']).next();
    name.map(str::to_lowercase)
}
