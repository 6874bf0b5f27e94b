//! What the end of a step says: whether its record holds evidence, which devices were lost, and what its group lacks.
//!
//! Nothing is judged here: what figures mean is for the judges.

use record::{Endpoint, FailureKind, Outcome, Payload, Point, Record, Status};
use runner::child::Ended;

use super::steps::Step;
use crate::checks::Group;
use crate::judge::{failed, has_fault};
use crate::report::{Came, ReasonCode};

/// Whether a record holds anything that was measured or tried.
pub(super) fn has_evidence(record: &Record) -> bool {
    match &record.payload {
        Payload::Links(links) => !links.points.is_empty() || !links.probes.is_empty(),
        Payload::Numa(numa) => !numa.points.is_empty(),
        Payload::Collectives(collectives) => !collectives.points.is_empty(),
        Payload::Serve(serve) => serve.summary.is_some(),
    }
}

/// Devices whose copies from or to host memory failed because the device was lost; of a pair it is not known which end is to blame.
pub(super) fn lost(record: &Record) -> Vec<(String, String)> {
    let Payload::Links(links) = &record.payload else {
        return Vec::new();
    };
    let of_point = |point: &Point| {
        let Outcome::Failed { reason } = &point.outcome else {
            return None;
        };
        let device = match (point.from, point.to) {
            (Endpoint::Host, Endpoint::Device(device))
            | (Endpoint::Device(device), Endpoint::Host) => device,
            // Its own memory.
            (Endpoint::Device(device), Endpoint::Device(to)) if device == to => device,
            _ => return None,
        };
        let label = links.devices.get(device)?.label.clone();
        (reason.kind == FailureKind::DeviceLost).then(|| (label, reason.to_string()))
    };
    links.points.iter().filter_map(of_point).collect()
}

/// What the end of a step leaves open, and whether `--resume` does it again; `None` where its record tells all.
///
/// What a program measured, or refused by itself, stands; what died, was ended from outside, starved or had no time is done again, unless a
/// fault was met before.
pub(super) fn missing(
    step: &Step,
    ended: Option<&Ended>,
    record: Option<&Record>,
) -> Option<(Came, bool)> {
    let status = record.map(|record| (&record.status, has_evidence(record)));
    let not_measured = || Came::open(ReasonCode::NotMeasured);
    let (came, text, is_broken) = match (ended, status) {
        // One that had not begun yet leaves no evidence; the checks that want some say so.
        (None, _) if step.is_beside() => return None,
        (Some(Ended::Exit { .. }), Some((Status::Complete, true)))
        | (Some(Ended::Interrupted(_)), _) => return None,
        (Some(Ended::Stalled(silence)), _) => {
            let came = match silence.is_starved {
                true => Came::open(ReasonCode::Noisy),
                false => not_measured(),
            };
            (came, silence.to_string(), true)
        }
        (None, _) => (not_measured(), "its time was over".to_owned(), true),
        (Some(Ended::Exit { .. }), Some((Status::Refused { reason }, _))) => {
            // A server that does not answer before the first request is mostly one that was not started.
            let came = match step.group {
                Group::Serving => not_measured(),
                _ => failed(reason),
            };
            let is_broken = matches!(reason.kind, FailureKind::HostBusy | FailureKind::Stopped);
            (came, reason.to_string(), is_broken)
        }
        (Some(Ended::Exit { code, last }), status) => {
            let is_complete = matches!(status, Some((Status::Complete, _)));
            let text = format!("exit code {code}: {last}");
            (not_measured(), text, !is_complete)
        }
    };
    let is_fault = came.is_fault() || record.is_some_and(has_fault);
    // What loads memory beside another step belongs to that one, and is not done by itself.
    let is_open = is_broken && !is_fault && !step.is_beside();
    let came = came.saying(format!("tplens {}: {text}", step.command));
    Some((came, is_open))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::tests::{Plant, Played};

    fn of(ended: Option<&Ended>, record: &Record) -> (Came, bool) {
        let step = Step {
            name: "peer-links".to_owned(),
            group: Group::PeerLinks,
            command: "p2p",
            arguments: Vec::new(),
            seconds: 1.0,
        };
        missing(&step, ended, Some(record)).unwrap()
    }

    #[test]
    fn what_broke_is_done_again_and_a_fault_that_was_seen_before_is_not() {
        for (plants, is_open) in [
            (vec![], true),
            (vec![Plant::Hangs { from: 0, to: 1 }], false),
            (vec![Plant::DropsData { from: 1, to: 0 }], false),
        ] {
            let mut found = Played::new("l40x4", 1, &plants).findings(6);
            let missing = of(None, &found.links.remove(0).it);
            assert_eq!(missing.1, is_open, "{plants:?}");
        }
    }

    #[test]
    fn a_refusal_is_told_by_its_kind() {
        for (kind, code, is_open) in [
            (FailureKind::LibraryMissing, ReasonCode::Unreadable, false),
            (FailureKind::DeviceLost, ReasonCode::DeviceLost, false),
            (FailureKind::HostBusy, ReasonCode::Noisy, true),
            (FailureKind::Stopped, ReasonCode::NotMeasured, true),
        ] {
            let mut record = Played::new("l40x4", 1, &[]).findings(6).links.remove(0).it;
            record.status = Status::Refused {
                reason: kind.of("x"),
            };
            let last = String::new();
            let (came, is_redone) = of(Some(&Ended::Exit { code: 3, last }), &record);
            assert_eq!((came.code, is_redone), (code, is_open), "{kind:?}");
        }
    }
}
