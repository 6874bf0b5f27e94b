//! Events of the kernel's log during the run that tell of a fault of a device or link.
//!
//! Which lines do is known to the doctor; here what is bad to it fails.

use super::inventory::seen;
use super::judging::Judging;
use crate::report::{Check, ReasonCode, Seen, Verdict};

const KIND: &str = "kernel_log";

/// One check on the log of the whole run.
pub(super) fn kernel_log(judging: &Judging<'_>) -> Vec<Check> {
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
    let source = "/dev/kmsg";
    let is_fault = |(_, verdict, _): &&(&String, Verdict, String)| *verdict == Verdict::Fail;
    let first = events.iter().find(is_fault).or(events.first());
    let Some((_, worst, means)) = first else {
        let value = format!("none of {} new lines tells of a fault", lines.len());
        let evidence = seen(
            "lines of the kernel's log since the start",
            value.clone(),
            Some("none".to_owned()),
            source,
        );
        let came = (Verdict::Pass, ReasonCode::AsExpected, value);
        return vec![judging.judged(KIND, about(), came, None, Seen::new(evidence, []))];
    };
    let evidence = events
        .iter()
        .map(|(line, _, means)| seen(means.clone(), (*line).clone(), None, source));
    let evidence: Vec<_> = evidence.collect();
    let text = format!("{} events: {means}", events.len());
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

/// What is bad to the doctor fails.
fn verdict(how_bad: doctor::Verdict) -> Verdict {
    match how_bad {
        doctor::Verdict::Bad => Verdict::Fail,
        _ => Verdict::Warn,
    }
}
