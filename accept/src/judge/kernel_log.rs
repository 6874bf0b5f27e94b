//! Events of the kernel's log that tell of a fault of a device or link: those of the run, and those that stood there before.
//!
//! Which lines do is known to the doctor. What is bad to it fails where it came during the run; what stood there before warns, since nobody
//! knows what the machine did then.

use std::time::Duration;

use program::kernel_log::Logged;

use super::inventory::seen;
use super::judging::Judging;
use crate::plural::plural;
use crate::report::{Check, ReasonCode, Seen, Verdict};

const KIND: &str = "kernel_log";

/// The place in reports.
const SOURCE: &str = "the kernel's log";

/// Lines from before that are shown, the latest.
const SHOWN: usize = 8;

/// One check on the log of the whole run, and one on what stood in it before.
pub(super) fn kernel_log(judging: &Judging<'_>) -> Vec<Check> {
    let mut checks = during(judging);
    checks.extend(before(judging));
    checks
}

/// What stood in the log before the run. A log that may not be read is told of by the other check, and one that holds nothing, as in a
/// container, says nothing.
fn before(judging: &Judging<'_>) -> Option<Check> {
    let lines = match &judging.findings.kernel_log_before {
        Some(Ok(lines)) if !lines.is_empty() => lines,
        _ => return None,
    };
    let about = || ["before the run".to_owned()];
    let bad: Vec<(&Logged, String)> = lines
        .iter()
        .filter_map(|line| Some((line, doctor::event(&line.text)?)))
        .filter(|(_, (how_bad, _))| verdict(*how_bad) == Verdict::Fail)
        .map(|(line, (_, means))| (line, means))
        .collect();
    let what = "lines of the kernel's log before the run that tell of a fault";
    let Some((last, means)) = bad.last() else {
        let value = format!("none of {}", plural(lines.len(), "line"));
        let text = format!("{value} from before the run tells of a fault of a device or link");
        let evidence = seen(what, value, Some("none".to_owned()), SOURCE);
        let came = (Verdict::Pass, ReasonCode::AsExpected, text);
        return Some(judging.judged(KIND, about(), came, None, Seen::new(evidence, [])));
    };
    let when = match last.ago {
        Some(ago) => format!("the last one {} before the run", words(ago)),
        None => format!("the last one: {}", last.text),
    };
    let count = plural(bad.len(), "event");
    let text = format!("{count} of a fault stood in the log before the run, {when}: {means}");
    let evidence = seen(what, count, Some("none".to_owned()), SOURCE);
    let latest = bad.iter().rev().take(SHOWN);
    let latest = latest.map(|(line, means)| seen(means.clone(), line.text.clone(), None, SOURCE));
    let came = (Verdict::Warn, ReasonCode::KernelEvents, text);
    Some(judging.judged(KIND, about(), came, None, Seen::new(evidence, latest)))
}

/// A span in the unit in which a reader would say it.
fn words(ago: Duration) -> String {
    let minutes = ago.as_secs() / 60;
    match minutes {
        0 => plural(ago.as_secs(), "second"),
        1..120 => plural(minutes, "minute"),
        120..2880 => plural(minutes / 60, "hour"),
        _ => plural(minutes / 1440, "day"),
    }
}

fn during(judging: &Judging<'_>) -> Vec<Check> {
    let about = || ["box".to_owned()];
    let lines = match &judging.findings.kernel_log {
        None => return Vec::new(),
        Some(Err(why)) => {
            let text = format!("the kernel's log may not be read: {why}");
            let subject = judging.subject(KIND, about());
            return vec![subject.inconclusive(ReasonCode::Permission, text, None, vec![])];
        }
        Some(Ok(lines)) => lines,
    };
    let events: Vec<(&String, Verdict, String)> = lines
        .iter()
        .filter_map(|line| Some((line, doctor::event(line)?)))
        .map(|(line, (how_bad, means))| (line, verdict(how_bad), means))
        .collect();
    let is_fault = |(_, verdict, _): &&(&String, Verdict, String)| *verdict == Verdict::Fail;
    let first = events.iter().find(is_fault).or(events.first());
    let Some((_, worst, _)) = first else {
        let value = format!(
            "none of {} tells of a fault",
            plural(lines.len(), "new line")
        );
        let evidence = seen(
            "lines of the kernel's log since the start",
            value.clone(),
            Some("none".to_owned()),
            SOURCE,
        );
        let came = (Verdict::Pass, ReasonCode::AsExpected, value);
        return vec![judging.judged(KIND, about(), came, None, Seen::new(evidence, []))];
    };
    let evidence = events
        .iter()
        .map(|(line, _, means)| seen(means.clone(), (*line).clone(), None, SOURCE));
    let evidence: Vec<_> = evidence.collect();
    // Each kind once, faults first.
    let (faults, others): (Vec<_>, Vec<_>) = events.iter().partition(is_fault);
    let mut kinds: Vec<&str> = Vec::new();
    for (_, _, means) in faults.into_iter().chain(others) {
        if !kinds.contains(&means.as_str()) {
            kinds.push(means);
        }
    }
    let text = format!("{}: {}", plural(events.len(), "event"), kinds.join("; "));
    let came = (*worst, ReasonCode::KernelEvents, text);
    let Some((first, rest)) = evidence.split_first() else {
        return Vec::new();
    };
    vec![judging.judged(
        KIND,
        about(),
        came,
        None,
        Seen::new(first.clone(), rest.to_vec()),
    )]
}

/// What is bad to the doctor fails where it is of the run.
fn verdict(how_bad: doctor::Verdict) -> Verdict {
    match how_bad {
        doctor::Verdict::Bad => Verdict::Fail,
        _ => Verdict::Warn,
    }
}
