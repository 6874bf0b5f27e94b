//! Why several GPUs are not so many times as fast, in one sentence for somebody who does not know what a collective is.
//!
//! Two figures with an interval at most, and how sure each is in words; all others stand in the line of figures and the table.

use super::figures::by_difference;
use super::sure::sure;
use super::tested::Tested;
use super::waterfall::step_decimals;
use crate::attribute::{Attribution, Bar, Cause, Claim, Grade, untold};
use crate::range::Range;

/// A run's gain and that of its decode steps are both told where they differ by more than this part.
const APART: f64 = 0.05;

/// Why it is not so many times as fast.
pub(super) fn why(
    attribution: &Attribution,
    tested: Option<&Tested<'_>>,
    simulated: bool,
) -> String {
    let lead = lead(attribution);
    let decimals = step_decimals(attribution);
    let tp = attribution.tp;
    let step = attribution.step_of_several.mid;
    let lost = step - attribution.bar(Cause::Ideal).map_or(0.0, |bar| bar.ms.mid);
    if lost <= 0.0 {
        return format!(
            "{lead}: a token takes {step:.decimals$} ms, which is no longer than 1/{tp} of one GPU's time."
        );
    }
    let of =
        format!("of the {lost:.decimals$} ms that a token takes beyond 1/{tp} of one GPU's time");
    if attribution.misfit.is_some() || attribution.is_half_contradicted() {
        return format!(
            "{lead}. What takes the {lost:.decimals$} ms beyond 1/{tp} of one GPU's time is not told until that is settled."
        );
    }
    let leader = Leader::of(attribution, tested.and_then(Tested::alone));
    let main = leader
        .as_ref()
        .map_or_else(|| ", and no one cause stands out".to_owned(), Leader::words);
    let told = told(attribution, leader.as_ref(), tested, simulated).join(", and ");
    let contradicted = attribution
        .half
        .as_ref()
        .is_some_and(|half| half.is_contradicted());
    let half = match contradicted {
        true => format!(
            "; a run of the model at 1/{tp} width leaves more for communication than was timed"
        ),
        false => String::new(),
    };
    let borne_out = tested.map_or_else(String::new, |of| format!("; {}", of.in_short()));
    format!("{lead}{main}: {of}, {told}{half}{borne_out}.")
}

/// What stands before the rate of more GPUs that are not faster than fewer.
pub(crate) fn not_faster_than(fewer: &str) -> String {
    format!(
        "NOT FASTER THAN {fewer} (a slow link does that, and files given the wrong way round): "
    )
}

/// How much faster several are.
fn lead(attribution: &Attribution) -> String {
    let (tp, gain) = (attribution.tp, attribution.throughput_gain);
    let steps = attribution.speed_up.mid;
    let decoding = match (gain / steps - 1.0).abs() > APART {
        true => format!(" ({steps:.2} times while they only decode)"),
        false => String::new(),
    };
    let rate = format!("{tp} GPUs give {gain:.2} times the tokens per second of one{decoding}");
    match steps <= 1.0 {
        true => not_faster_than("ONE GPU") + &rate,
        false if gain < f64::from(tp) => format!("{rate}, not {tp} times"),
        false => rate,
    }
}

/// The cause that takes most of what is lost, where that can be said.
struct Leader<'a> {
    bar: &'a Bar,
    words: &'static str,
    /// Wherever in their intervals all causes lie; else by its median alone, which no other's interval reaches.
    is_sure: bool,
}

impl<'a> Leader<'a> {
    /// Beside communication as an ablation alone tells it.
    fn of(attribution: &'a Attribution, timed: Option<&'a Bar>) -> Option<Self> {
        attribution.leading_beside(timed).map(|of| Self {
            bar: of.bar,
            words: reason(attribution, of.bar.cause),
            is_sure: of.is_sure,
        })
    }

    /// Which bar is the largest is no better known than the bars are.
    fn words(&self) -> String {
        let is_measured = self.bar.grade.is_some_and(|grade| grade < Grade::D);
        let doubt = match (self.is_sure, is_measured) {
            (true, true) => "mainly",
            (true, false) | (false, true) => "probably mainly",
            (false, false) => "perhaps mainly",
        };
        format!(", {doubt} because of {}", self.words)
    }
}

/// A cause as what is to blame.
fn reason(attribution: &Attribution, cause: Cause) -> &'static str {
    match cause {
        Cause::NarrowGemm => "matrix products, which lose speed when they are split (narrow GEMMs)",
        Cause::Unsharded => "work that every GPU does in full (never sharded)",
        Cause::Host => "the host's CPUs, which all GPUs wait for",
        Cause::Unexplained => match attribution.claim {
            Claim::AtMost { .. } => {
                "communication or something unexplained, which cannot be told apart without this box's curve"
            }
            Claim::None { .. } | Claim::Estimated => "something that is not explained",
        },
        Cause::Ideal | Cause::AllReduce | Cause::AllGather | Cause::Communication => {
            "communication between them"
        }
    }
}

/// What the causes take that the sentence has room for: that which leads, then communication; where none leads, the largest beside
/// communication.
fn told(
    attribution: &Attribution,
    leader: Option<&Leader<'_>>,
    tested: Option<&Tested<'_>>,
    simulated: bool,
) -> Vec<String> {
    let communication = communication(attribution, tested, simulated);
    // What stands for communication already is not told twice.
    let is_work = |bar: &&Bar| {
        let is_left = bar.cause == Cause::Unexplained;
        let has_own = attribution.claim == Claim::Estimated && !by_difference(attribution);
        bar.cause != Cause::Ideal && !is_sent(bar.cause) && (!is_left || has_own)
    };
    let work = match leader {
        Some(leader) => Some(leader.bar).filter(is_work),
        None => attribution
            .bars
            .iter()
            .filter(is_work)
            .max_by(|a, b| a.ms.mid.total_cmp(&b.ms.mid)),
    };
    // Two runs and the arms' figure may leave no room for both at their medians: then the table alone has the smaller one.
    let lost = attribution.step_of_several.mid
        - attribution.bar(Cause::Ideal).map_or(0.0, |bar| bar.ms.mid);
    let timed = tested.and_then(Tested::alone);
    let has_room = |bar: &&Bar| timed.is_none_or(|timed| timed.ms.mid + bar.ms.mid <= lost);
    let work = work.filter(has_room).map(|bar| {
        let sure = match sure(attribution, bar, simulated) {
            none if none.is_empty() => none,
            sure => format!(" ({sure})"),
        };
        format!(
            "{} takes {}{sure}",
            short(bar.cause),
            ms(attribution, bar.ms)
        )
    });
    match leader {
        Some(_) => work.into_iter().chain([communication]).collect(),
        None => [communication].into_iter().chain(work).collect(),
    }
}

fn is_sent(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::AllReduce | Cause::AllGather | Cause::Communication
    )
}

/// A cause as what takes time.
fn short(cause: Cause) -> &'static str {
    match cause {
        Cause::NarrowGemm => "what matrix products lose when they are split",
        Cause::Unsharded => "work that every GPU does in full",
        Cause::Host => "the host",
        Cause::Unexplained => "something that is not explained",
        Cause::Ideal | Cause::AllReduce | Cause::AllGather | Cause::Communication => {
            "communication between them"
        }
    }
}

fn ms(attribution: &Attribution, range: Range) -> String {
    format!("{} ms", range.with_decimals(step_decimals(attribution)))
}

/// What communication takes, or what is known of it.
fn communication(
    attribution: &Attribution,
    tested: Option<&Tested<'_>>,
    simulated: bool,
) -> String {
    let remainder = ms(attribution, attribution.remainder);
    match (&attribution.claim, attribution.bar(Cause::Communication)) {
        (Claim::Estimated, Some(bar)) => {
            let perhaps = if bar.grade < Some(Grade::D) {
                ""
            } else {
                "perhaps "
            };
            format!(
                "communication takes {perhaps}{} ({})",
                ms(attribution, bar.ms),
                sure(attribution, bar, simulated)
            )
        }
        (Claim::None { .. }, _) => match tested.and_then(Tested::alone) {
            Some(told) => format!(
                "communication takes at least {} (by the ablation; the two runs alone do not tell it from nothing)",
                ms(attribution, told.ms)
            ),
            None => format!(
                "communication and what is unexplained together take {remainder}, which cannot be told from nothing{}",
                attribution
                    .tolerance_ms
                    .map_or_else(String::new, |tolerance| untold(
                        &attribution.remainder,
                        tolerance
                    ))
            ),
        },
        (Claim::AtMost { .. } | Claim::Estimated, _) => match tested.and_then(Tested::alone) {
            // Without a curve, what the arms timed of the same step.
            Some(timed) => format!(
                "communication takes at least {} (by the ablation)",
                ms(attribution, timed.ms)
            ),
            None => format!(
                "communication and what is unexplained together take {remainder} (no usable time of the exchange between these GPUs tells the two apart)"
            ),
        },
    }
}
