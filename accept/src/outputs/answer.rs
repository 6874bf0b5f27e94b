//! The answer of a report in words: on what it was measured, the verdict and what decides it, what to do, and what was not looked at. Text,
//! page and JUnit say the same because all take it from here.
//!
//! Nothing is judged here, and nothing is laid out.

use std::collections::BTreeMap;

use super::words::{list, without_stop};
use crate::checks;
use crate::plural::plural;
use crate::report::{BoxVerdict, Check, ProfileUsed, ReasonCode, Report, RunStatus, Verdict};

/// Checks that the answer names; the others are counted.
const NAMED: usize = 3;

/// The first line of every form: simulated, or on what it was measured.
pub(super) fn opening(report: &Report) -> String {
    if let Some(soft) = &report.simulated {
        return format!(
            "SIMULATED on soft box {}: arithmetic of a box file, not a measurement",
            soft.box_name
        );
    }
    let on = match report.node.fingerprint.backend.as_str() {
        "host" => "host memory; no GPU took part".to_owned(),
        _ => devices(report),
    };
    format!("Measured on {}: {on}", report.node.name)
}

/// The devices by name, as `4 x NVIDIA L40`.
fn devices(report: &Report) -> String {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for device in &report.devices {
        *names.entry(&device.name).or_default() += 1;
    }
    if names.is_empty() {
        return "no device".to_owned();
    }
    let named: Vec<String> = names
        .iter()
        .map(|(name, count)| format!("{count} x {name}"))
        .collect();
    named.join(", ")
}

/// The answer, a few sentences for a reader who reads nothing else.
pub(super) fn answer(report: &Report) -> Vec<String> {
    let required: Vec<&Check> = report
        .checks
        .iter()
        .filter(|check| check.required)
        .collect();
    let applies = |check: &&&Check| check.reason.code != ReasonCode::NotApplicable;
    let all = required.iter().filter(applies).count();
    let failed = of(&required, |check| check.verdict == Verdict::Fail);
    let open = of(&required, is_open);
    let looked_at: Vec<&Check> = report.checks.iter().collect();
    let noticed = of(&looked_at, |check| match check.verdict {
        Verdict::Warn => true,
        Verdict::Fail | Verdict::Inconclusive => !check.required,
        Verdict::Skip => !check.required && check.reason.code == ReasonCode::Budget,
        Verdict::Pass => false,
    });
    let against = against(report);
    let word = report.verdict.words();
    let mut answer = Vec::new();
    match report.verdict {
        BoxVerdict::Accepted | BoxVerdict::AcceptedWithWarnings => {
            answer.push(format!("{word}: {}, {against}.", all_good(all)));
        }
        BoxVerdict::Rejected => {
            answer.push(format!(
                "{word}: {} of {} failed, {against}.",
                failed.len(),
                plural(all, "required check")
            ));
            answer.push(format!("What rejects it: {}", named(&failed)));
            if !open.is_empty() {
                answer.push(format!(
                    "{} could not be told.",
                    plural(open.len(), "more required check")
                ));
            }
        }
        BoxVerdict::Inconclusive => {
            let what = match (all, open.is_empty()) {
                (0, _) => "no required check was measured".to_owned(),
                (_, true) => {
                    "the run did not end by itself, and what it had measured is good".to_owned()
                }
                (_, false) => format!(
                    "{} of {} could not be told, and none failed",
                    open.len(),
                    plural(all, "required check")
                ),
            };
            answer.push(format!(
                "{word}: {what}, {against}. This is no word for or against the hardware."
            ));
            if !open.is_empty() {
                answer.push(format!("What is open: {}", named(&open)));
            }
        }
    }
    if let Some(ended) = ended(&report.status) {
        answer.push(ended);
    }
    for (required, why) in [
        (true, "though required"),
        (
            false,
            "though they see faults, so that nothing is known of those",
        ),
    ] {
        let excluded = of(&looked_at, |check| {
            check.reason.code == ReasonCode::ExcludedByUser
                && check.required == required
                && (required || checks::sees_faults(&check.kind))
        });
        if !excluded.is_empty() {
            let ids: Vec<&str> = excluded.iter().map(|check| check.id.as_str()).collect();
            answer.push(format!(
                "Left out on the command line {why}: {}.",
                list(&ids)
            ));
        }
    }
    if !noticed.is_empty() {
        answer.push(format!("To look at: {}", named(&noticed)));
    }
    answer
}

/// What a box was held against.
fn against(report: &Report) -> String {
    let whose = match report.profile.shipped {
        true => "the profile",
        false => "the user's own profile",
    };
    let ProfileUsed { name, title, .. } = &report.profile;
    format!(
        "held against {whose} {name} ({title}) at level {}",
        report.level
    )
}

/// All that is to be said of a run that never came to a device: what was looked for and not found, and what to do; `None` of any other.
pub(super) fn without_devices(report: &Report) -> Option<Vec<String>> {
    if !report.devices.is_empty() {
        return None;
    }
    let (why, to_do) = match &report.status {
        RunStatus::Complete | RunStatus::Broken => return None,
        RunStatus::Failed { reason } => (
            format!("No device could be looked at: {reason}"),
            "mend that and start again with another --out; `p2p-bw doctor` says what this machine shows of its GPUs",
        ),
        RunStatus::Interrupted { signal } => (
            format!("No device was looked at: the run was interrupted by {signal} before"),
            "start again with another --out",
        ),
    };
    let word = report.verdict.words();
    Some(vec![
        why,
        format!(
            "{word}: nothing was measured, {}. This is no word for or against the hardware.",
            against(report)
        ),
        format!("What to do: {to_do}."),
    ])
}

fn all_good(all: usize) -> String {
    match all {
        1 => "the one required check was measured and did not fail".to_owned(),
        _ => format!("all {all} required checks were measured and none failed"),
    }
}

/// How a run ended that did not end by itself.
fn ended(status: &RunStatus) -> Option<String> {
    Some(match status {
        RunStatus::Complete => return None,
        RunStatus::Interrupted { signal } => {
            format!("The run was interrupted by {signal}; what was measured till then is shown.")
        }
        RunStatus::Broken => {
            "The run was broken off from outside; what was measured till then is shown.".to_owned()
        }
        RunStatus::Failed { reason } => format!("The run could not go on: {reason}"),
    })
}

/// Whether a required check leaves the box undecided.
fn is_open(check: &Check) -> bool {
    match check.verdict {
        Verdict::Inconclusive => true,
        Verdict::Skip => check.reason.code != ReasonCode::NotApplicable,
        Verdict::Pass | Verdict::Warn | Verdict::Fail => false,
    }
}

fn of<'a>(checks: &[&'a Check], is_wanted: impl Fn(&Check) -> bool) -> Vec<&'a Check> {
    checks
        .iter()
        .copied()
        .filter(|check| is_wanted(check))
        .collect()
}

/// The first checks with their reasons, one of each kind first, and how many others there are; what follows from some of them is counted.
fn named(checks: &[&Check]) -> String {
    let (follow, checks) = following(checks);
    let mut kinds: Vec<&str> = Vec::new();
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for check in &checks {
        if kinds.contains(&check.kind.as_str()) {
            later.push(*check);
        } else {
            kinds.push(&check.kind);
            first.push(*check);
        }
    }
    first.extend(later);
    let told: Vec<String> = first
        .iter()
        .take(NAMED)
        .map(|check| format!("{}: {}", check.id, without_stop(&check.reason.text)))
        .collect();
    let mut told = told.join("; ");
    if let more @ 1.. = first.len().saturating_sub(NAMED) {
        told += &format!("; and {more} more");
    }
    let mut causes: Vec<&str> = follow.iter().map(|(_, cause)| *cause).collect();
    causes.dedup();
    if !causes.is_empty() {
        let (many, from) = (follow.len(), list(&causes));
        told += &format!("; and {many} that {} from {from}", follows(many));
    }
    told + "."
}

/// The verb for so many.
fn follows(many: usize) -> &'static str {
    match many {
        1 => "follows",
        _ => "follow",
    }
}

/// What to do, the most pressing first, and the checks that ask for it. What follows from one of them stands behind it.
pub(super) fn to_do(report: &Report) -> Vec<String> {
    let mut steps: Vec<(&str, Vec<&str>)> = Vec::new();
    let all: Vec<&Check> = report
        .checks
        .iter()
        .filter(|check| step(check).is_some())
        .collect();
    let (folded, _) = following(&all);
    let is_folded = |check: &Check| folded.iter().any(|(follows, _)| follows.id == check.id);
    for wanted in [
        Verdict::Fail,
        Verdict::Inconclusive,
        Verdict::Skip,
        Verdict::Warn,
    ] {
        for check in report.checks.iter().filter(|check| check.verdict == wanted) {
            if let Some(step) = step(check).filter(|_| !is_folded(check)) {
                match steps.iter_mut().find(|(known, _)| *known == step) {
                    Some((_, ids)) => ids.push(&check.id),
                    None => steps.push((step, vec![&check.id])),
                }
            }
        }
    }
    let told = steps.iter().map(|(step, ids)| {
        let step = without_stop(step);
        let behind = folded.iter().filter(|(_, cause)| ids.contains(cause));
        let behind: Vec<&str> = behind.map(|(check, _)| check.id.as_str()).collect();
        match behind.len() {
            0 => format!("{}: {step}", list(ids)),
            1 => format!(
                "{}: {step} (what follows from it: {})",
                list(ids),
                behind[0]
            ),
            many => format!(
                "{}: {step} (what follows from it, {many} checks: {})",
                list(ids),
                list(&behind)
            ),
        }
    });
    told.collect()
}

/// Of some checks those that follow from others among them, each with the first that it follows from; then the others.
fn following<'a>(checks: &[&'a Check]) -> (Vec<(&'a Check, &'a str)>, Vec<&'a Check>) {
    let (mut follow, mut others) = (Vec::new(), Vec::new());
    for check in checks.iter().copied() {
        let is_among = |cause: &&str| checks.iter().any(|other| other.id == **cause);
        match check.causes().into_iter().find(is_among) {
            Some(cause) => follow.push((check, cause)),
            None => others.push(check),
        }
    }
    (follow, others)
}

/// What to do about one check.
fn step(check: &Check) -> Option<&str> {
    let of_kind = || Some(checks::kind(&check.kind)?.advice).filter(|advice| !advice.is_empty());
    let own = check.advice.as_deref();
    match check.verdict {
        Verdict::Pass => None,
        Verdict::Warn | Verdict::Fail => own.or_else(of_kind),
        Verdict::Inconclusive => own.or_else(|| next(check.reason.code)),
        Verdict::Skip if check.required || check.reason.code == ReasonCode::Budget => {
            own.or_else(|| next(check.reason.code))
        }
        Verdict::Skip => None,
    }
}

/// What settles a check that was not told, by its reason.
pub(super) fn next(code: ReasonCode) -> Option<&'static str> {
    use ReasonCode as R;
    Some(match code {
        R::Noisy => "stop everything else on this machine and run again",
        R::TooFewSamples => {
            "give the run more time (--budget), so that there are six samples at least"
        }
        R::CounterReset => {
            "find out what reset the counter (a reloaded driver, a reset device) and run again"
        }
        R::ResetPending => {
            "reset the device with nothing running on it (nvidia-smi --gpu-reset -i N), or start the machine anew, so that the repair takes effect, and run again"
        }
        R::CannotLoadLink => "see why no copy ran over the link (h2d_pinned) and run again",
        R::Permission => "run as a user who may read what the reason names",
        R::MonitorLost => {
            "see whether the vendor's own tool (nvidia-smi, amd-smi, mx-smi) still answers; a device that blocks it is often a failing one; then run again with another --out"
        }
        R::BusyDevice => "stop the other work on the device and run again",
        R::BusyHost => "stop the other work on this machine and run again",
        R::VersionMismatch => {
            "capture a new baseline on this driver and box, or run without --baseline"
        }
        R::Unreadable => "look at what the reason names (p2p-bw doctor)",
        R::NumaInversion => {
            "look on which node the card really hangs (p2p-bw topo): firmware may name a wrong one"
        }
        R::NotStated => "state it in a profile of your own that extends this one",
        R::WorkerFailed => {
            "read what the worker said (the result folder has it) and run again with another --out"
        }
        R::OutOfMemory => "free memory and run again",
        R::Interrupted => "the same command with --resume DIR in place of --out goes on with it",
        R::MissingLibrary => "install the library that the reason names",
        R::Budget => {
            "give the run more time: the same command with a longer --budget, and --resume DIR in place of --out, goes on with it"
        }
        R::ExcludedByUser => "run without --exclude",
        R::DependencyFailed => "mend first what it rests on",
        R::Virtualized => "ask who runs the host, or run on the host itself",
        R::UnsupportedByDevice => {
            "take it out of `required` in a profile of your own, if the box is to be taken without it"
        }
        R::NotAsked => "run at a deeper --level",
        _ => return None,
    })
}

/// What was not looked at: skipped checks by reason, then what no run of this program looks at.
pub(super) fn not_looked_at(report: &Report) -> Vec<String> {
    let mut reasons: Vec<(ReasonCode, &str, Vec<&str>)> = Vec::new();
    for check in report
        .checks
        .iter()
        .filter(|check| check.verdict == Verdict::Skip)
    {
        let (code, text) = (check.reason.code, check.reason.text.as_str());
        match reasons
            .iter_mut()
            .find(|row| row.0 == code && row.1 == text)
        {
            Some((_, _, ids)) => ids.push(&check.id),
            None => reasons.push((code, text, vec![&check.id])),
        }
    }
    let skipped = reasons.iter().map(|(code, text, ids)| {
        format!("{} ({}): {}", list(ids), code.word(), without_stop(text))
    });
    skipped.chain(report.not_covered.iter().cloned()).collect()
}
