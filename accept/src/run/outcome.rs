//! What the end of a step says: whether its record holds evidence, which devices were lost, and what its group lacks.
//!
//! Nothing is judged here: what figures mean is for the judges.

use measure::exit;
use measure::record::{
    CollectiveOutcome, Collectives, Endpoint, Links, Outcome, Payload, Point, Record, Status,
};
use program::others::last_error;

use super::process::Ended;
use super::steps::Step;
use crate::checks::Group;
use crate::findings::Missing;
use crate::judge::{STARVED, STOPPED, has_fault};
use crate::report::ReasonCode;

/// The words of a driver's error that says that its device is gone.
const LOSS: &str = "device lost";

/// Whether a record holds anything that was measured or tried.
pub(super) fn has_evidence(record: &Record) -> bool {
    match &record.payload {
        Payload::Links(links) => {
            !links.points.is_empty() || !links.probes.is_empty() || !links.pending.is_empty()
        }
        Payload::Numa(numa) => !numa.points.is_empty(),
        Payload::Collectives(collectives) => !collectives.points.is_empty(),
        Payload::Serve(serve) => serve.summary.is_some(),
    }
}

/// Devices that a record shows as lost, each with the words that say so.
pub(super) fn lost(record: &Record) -> Vec<(String, String)> {
    match &record.payload {
        Payload::Links(links) => lost_in_copies(links),
        Payload::Collectives(all) => lost_in_collectives(all, &record.status),
        Payload::Numa(_) | Payload::Serve(_) => Vec::new(),
    }
}

/// Devices whose copies from or to host memory failed because the device was lost; of a pair it is not known which end is to blame.
fn lost_in_copies(links: &Links) -> Vec<(String, String)> {
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
        is_loss(reason).then(|| (label, reason.clone()))
    };
    links.points.iter().filter_map(of_point).collect()
}

/// Devices of the ranks that said that theirs was lost.
fn lost_in_collectives(all: &Collectives, status: &Status) -> Vec<(String, String)> {
    let of_points = all.points.iter().filter_map(|point| match &point.outcome {
        CollectiveOutcome::Failed { reason } | CollectiveOutcome::Skipped { reason } => {
            Some(reason)
        }
        _ => None,
    });
    let of_run = match status {
        Status::Refused { reason } | Status::Failed { reason } => Some(reason),
        _ => None,
    };
    let label = |reason: &String| {
        let device = all.devices.get(rank_that_lost(reason)?)?;
        Some((device.label.clone(), reason.clone()))
    };
    of_points.chain(of_run).filter_map(label).collect()
}

/// The rank whose words tell of the loss, as in `rank 1: copying: device lost: ...`.
fn rank_that_lost(reason: &str) -> Option<usize> {
    let (before, _) = reason.split_once(LOSS)?;
    let mut told = before.rmatch_indices("rank ");
    told.find_map(|(at, word)| before[at + word.len()..].split_once(':')?.0.parse().ok())
}

/// Whether a driver's error says that its device is gone.
fn is_loss(reason: &str) -> bool {
    reason.contains(LOSS)
}

/// What a program said that could not keep its result because the disk takes nothing more; `None` where that is not why it ended.
pub(super) fn disk_refused(ended: &Ended) -> Option<String> {
    // ENOSPC, EDQUOT, EROFS and EIO, as the standard library writes them.
    const REFUSALS: [i32; 4] = [28, 122, 30, 5];
    let Ended::Exit { code, said } = ended else {
        return None;
    };
    let why = last_error(said);
    let is_told = |errno: &i32| why.contains(&format!("(os error {errno})"));
    (*code == i32::from(exit::INTERNAL) && REFUSALS.iter().any(is_told))
        .then(|| why.trim_start_matches("error: ").to_owned())
}

/// What the end of a step leaves open; `None` where its record tells all.
pub(super) fn missing(step: &Step, ended: &Ended, record: Option<&Record>) -> Option<Missing> {
    let missing = lacking(step, ended, record)?;
    let is_fault = missing.code.is_fault() || record.is_some_and(has_fault);
    // What loads memory beside another step belongs to that one, and is not done by itself.
    let is_open = !is_fault && !step.is_beside() && has_broken(ended, record);
    Some(Missing { is_open, ..missing })
}

/// Whether a program did not come to its end by itself: it died, was stopped or ended from outside, starved, had no time, or could not
/// write. What it measured, or refused by itself, stands and is not tried again.
fn has_broken(ended: &Ended, record: Option<&Record>) -> bool {
    match ended {
        Ended::Silent { .. } | Ended::OutOfTime { .. } | Ended::Killed { .. } => true,
        Ended::Exit { .. } => match record.map(|record| &record.status) {
            Some(Status::Complete) => false,
            Some(Status::Refused { reason }) => {
                reason.contains(STARVED) || reason.contains(STOPPED)
            }
            Some(Status::Failed { .. } | Status::Interrupted { .. } | Status::Broken) | None => {
                true
            }
        },
        Ended::Told | Ended::Interrupted(_) => false,
    }
}

fn lacking(step: &Step, ended: &Ended, record: Option<&Record>) -> Option<Missing> {
    let program = step.program;
    let of = |code, text: String| Some(Missing::of(code, text));
    let left = |is_left_behind: &bool| match is_left_behind {
        true => "; not even SIGKILL ended it, and it was left behind",
        false => "",
    };
    match ended {
        Ended::Silent {
            silence,
            said,
            is_left_behind,
        } => {
            let end = left(is_left_behind);
            // It touches no device itself: only what it heard of its own processes tells of one.
            let told = said.lines().find(|line| refused(line) == ReasonCode::Hang);
            let code = match told {
                Some(_) => ReasonCode::Hang,
                None if silence.is_starved => ReasonCode::BusyHost,
                None => ReasonCode::WorkerFailed,
            };
            // The words of one that starved or was stopped say themselves that they are no word on the devices.
            let more = match told {
                Some(words) => format!("; {}", words.trim()),
                None if silence.is_hang() => {
                    "; it touches no device itself and named none, so that this is no word on the devices".to_owned()
                }
                None => String::new(),
            };
            let text = format!("{program} was ended{end}: {silence}{more}");
            of(code, text)
        }
        Ended::OutOfTime { is_left_behind } => of(
            ReasonCode::Budget,
            format!(
                "the time of the run was over while {program} measured{}",
                left(is_left_behind)
            ),
        ),
        Ended::Killed { signal: 9, said } => of(
            ReasonCode::OutOfMemory,
            format!(
                "{program} was ended by SIGKILL, perhaps by the kernel for want of memory: {}",
                last_error(said)
            ),
        ),
        Ended::Killed { signal, said } => of(
            ReasonCode::WorkerFailed,
            format!(
                "{program} was ended by signal {signal}: {}",
                last_error(said)
            ),
        ),
        Ended::Exit { code, said } => {
            match record.map(|record| (&record.status, has_evidence(record))) {
                Some((Status::Complete, true)) => None,
                // A server that does not answer before the first request is mostly one that was not started.
                Some((Status::Refused { reason }, _)) if step.group == Group::Serving => {
                    of(ReasonCode::WorkerFailed, format!("{program}: {reason}"))
                }
                Some((Status::Refused { reason }, _)) => {
                    of(refused(reason), format!("{program}: {reason}"))
                }
                Some((Status::Failed { reason }, _)) => {
                    of(ReasonCode::WorkerFailed, format!("{program}: {reason}"))
                }
                _ => of(
                    ReasonCode::WorkerFailed,
                    format!(
                        "{program} ended with exit code {code}: {}",
                        last_error(said)
                    ),
                ),
            }
        }
        // One that had not begun yet leaves no evidence; the checks that want some say so.
        Ended::Told | Ended::Interrupted(_) => None,
    }
}

/// What kind of refusal a program's reason is.
fn refused(reason: &str) -> ReasonCode {
    if is_loss(reason) {
        ReasonCode::DeviceLost
    } else if reason.contains(STARVED) {
        ReasonCode::BusyHost
    } else if reason.contains(STOPPED) {
        ReasonCode::WorkerFailed
    } else if reason.contains("no progress") || reason.contains("no answer") {
        ReasonCode::Hang
    } else if reason.contains("not found") {
        ReasonCode::MissingLibrary
    } else {
        ReasonCode::WorkerFailed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use supervisor::Silence;

    use super::*;
    use crate::judge::tests::{Plant, Played};

    #[test]
    fn the_end_of_a_program_says_what_its_group_lacks() {
        let step = Step {
            name: "collectives".to_owned(),
            group: Group::Collectives,
            program: "allreduce-bench",
            arguments: Vec::new(),
            seconds: 1.0,
        };
        let said = || "a\nerror: b\nc".to_owned();
        let silent = |said: &str, for_cpu, is_starved, is_stopped| Ended::Silent {
            silence: Silence {
                waited: Duration::from_secs(90),
                for_cpu: Duration::from_secs(for_cpu),
                is_starved,
                is_stopped,
            },
            said: said.to_owned(),
            is_left_behind: is_stopped,
        };
        let hang = "a\n16 MiB: HANG while copying: no progress for 20 s\nb";
        let starved = "copying: no progress for 80 s, of which 75 s were waits for a CPU: other";
        for (ended, code, says) in [
            (
                silent("a\nb", 0, false, false),
                ReasonCode::WorkerFailed,
                "was ended: no progress for 90 s; it touches no device itself",
            ),
            (
                silent(hang, 0, false, false),
                ReasonCode::Hang,
                "no progress for 90 s; 16 MiB: HANG while copying: no progress for 20 s",
            ),
            (
                silent(starved, 80, true, false),
                ReasonCode::BusyHost,
                "no progress for 90 s, of which 80 s were waits for a CPU",
            ),
            (
                silent("", 0, false, true),
                ReasonCode::WorkerFailed,
                "not even SIGKILL ended it, and it was left behind: no progress for 90 s: one of its processes was stopped",
            ),
            (
                Ended::OutOfTime {
                    is_left_behind: false,
                },
                ReasonCode::Budget,
                "the time of the run was over",
            ),
            (
                Ended::Killed {
                    signal: 9,
                    said: said(),
                },
                ReasonCode::OutOfMemory,
                "SIGKILL",
            ),
            (
                Ended::Killed {
                    signal: 11,
                    said: said(),
                },
                ReasonCode::WorkerFailed,
                "signal 11: error: b",
            ),
            (
                Ended::Exit {
                    code: 4,
                    said: said(),
                },
                ReasonCode::WorkerFailed,
                "exit code 4: error: b",
            ),
        ] {
            let missing = missing(&step, &ended, None).unwrap();
            assert_eq!(missing.code, code, "{ended:?}");
            assert!(missing.text.contains(says), "{}", missing.text);
            // All of them broke, and only a hang that was told of a device is a finding.
            assert_eq!(missing.is_open, code != ReasonCode::Hang, "{ended:?}");
        }
    }

    #[test]
    fn what_a_program_refused_by_itself_is_not_done_again_and_what_was_stopped_or_not_written_is() {
        let ended = Ended::Exit {
            code: 3,
            said: String::new(),
        };
        let of = |status| {
            let mut record = Played::new("l40x4", 1, &[]).findings(6).links.remove(0).it;
            record.status = status;
            has_broken(&ended, Some(&record))
        };
        let refused = |reason: &str| Status::Refused {
            reason: reason.to_owned(),
        };
        assert!(!of(refused("libnccl.so.2 not found")));
        assert!(!of(refused("rank 1: no progress for 20 s")));
        assert!(of(refused(
            "no progress for 20 s: one of its processes was stopped from outside"
        )));
        assert!(of(refused(
            "no progress for 80 s, of which 75 s were waits for a CPU"
        )));
        let reason = "cannot write journal.jsonl: Input/output error".to_owned();
        assert!(of(Status::Failed { reason }));
        assert!(of(Status::Interrupted {
            signal: "SIGTERM".to_owned()
        }));
        assert!(!of(Status::Complete));
    }

    #[test]
    fn a_hang_that_was_seen_before_a_program_died_is_not_tried_again() {
        let step = Step {
            name: "peer-links".to_owned(),
            group: Group::PeerLinks,
            program: "p2p-bw",
            arguments: Vec::new(),
            seconds: 1.0,
        };
        let killed = Ended::Killed {
            signal: 11,
            said: String::new(),
        };
        for (plants, is_open) in [
            (vec![], true),
            (vec![Plant::Hangs { from: 0, to: 1 }], false),
            (vec![Plant::DropsData { from: 1, to: 0 }], false),
        ] {
            let record = Played::new("l40x4", 1, &plants)
                .findings(6)
                .links
                .remove(0)
                .it;
            let missing = missing(&step, &killed, Some(&record)).unwrap();
            assert_eq!(missing.is_open, is_open, "{plants:?}");
        }
    }

    #[test]
    fn only_a_disk_that_takes_nothing_ends_the_run() {
        let ended = |code, said: &str| Ended::Exit {
            code,
            said: said.to_owned(),
        };
        let full = "error: writing record.json: No space left on device (os error 28)";
        assert_eq!(
            disk_refused(&ended(4, full)).as_deref(),
            Some("writing record.json: No space left on device (os error 28)")
        );
        assert_eq!(disk_refused(&ended(3, full)), None);
        assert_eq!(disk_refused(&ended(4, "error: a defect")), None);
    }

    #[test]
    fn the_rank_that_lost_its_device_is_named_by_its_own_words() {
        for (reason, rank) in [
            (
                "rank 1: writing what this rank contributes: device lost: cuMemcpyHtoDAsync_v2 returned 719",
                Some(1),
            ),
            (
                "the ranks were lost 2 times and are not started again; last: rank 3: device lost: x; rank 0: no progress",
                Some(3),
            ),
            ("rank 2: no progress for 20 s", None),
            ("device lost: of no rank", None),
        ] {
            assert_eq!(rank_that_lost(reason), rank, "{reason}");
        }
    }

    #[test]
    fn a_refusal_is_of_a_library_a_loss_or_a_hang_by_its_words() {
        for (reason, code) in [
            (
                "libnccl.so.2 not found (in the loader's path); install NCCL",
                ReasonCode::MissingLibrary,
            ),
            (
                "rank 1: device lost: cuStreamSynchronize returned 719",
                ReasonCode::DeviceLost,
            ),
            (
                "joining the communicator: no progress for 20 s",
                ReasonCode::Hang,
            ),
            (
                "joining the communicator: no progress for 80 s, of which 75 s were waits for a CPU: other work has",
                ReasonCode::BusyHost,
            ),
            (
                "rank 1: no progress for 20 s: one of its processes was stopped from outside (SIGSTOP",
                ReasonCode::WorkerFailed,
            ),
            ("ranks 0 and 1 disagree", ReasonCode::WorkerFailed),
        ] {
            assert_eq!(refused(reason), code, "{reason}");
        }
    }
}
