//! What is measured again where checks are not decided: more samples of the same figures, as many as the profile lets.
//!
//! More samples are pooled with what was there; nothing is tried until it passes.

use std::collections::BTreeMap;

use measure::record::Payload;
use program::Stop;

use super::further::Further;
use super::session::{Did, Session};
use super::steps::{Step, more_of};
use crate::checks::Group;
use crate::findings::Missing;
use crate::judge;
use crate::report::{Check, Subject, Verdict};

/// What is measured again, with the cases and devices that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Again {
    /// The group.
    pub(crate) group: Group,
    /// Cases of `p2p-bw`; empty for all of the group.
    pub(crate) cases: Vec<&'static str>,
    /// Labels of the devices; empty for all.
    pub(crate) devices: Vec<String>,
}

impl Session<'_> {
    /// Takes more samples while checks are not decided.
    ///
    /// # Errors
    /// A signal, or a disk that refuses.
    pub(super) fn again(&mut self) -> Result<(), Stop> {
        let sampling = self.bench.profile.sampling;
        let mut samples = sampling.repeats;
        for round in 1.. {
            samples += sampling.repeats;
            if sampling.repeats == 0 || samples > sampling.max_repeats {
                break;
            }
            let all = self
                .undecided
                .iter()
                .filter_map(|(kind, about)| again(kind, about));
            let again = joined(all);
            if again.is_empty() {
                break;
            }
            for one in again {
                let name = format!("{}{round}", more_of(one.group));
                let Some(step) = self.more(name, &one) else {
                    continue;
                };
                if self.step(&step)? == Did::NoTime {
                    self.further = Further::NoTime;
                    return self.judge();
                }
            }
        }
        self.further = Further::Done;
        self.judge()
    }

    /// The step that takes more samples of what was measured, at the same sizes.
    fn more(&self, name: String, again: &Again) -> Option<Step> {
        let pairs = matches!(
            again.group,
            Group::PeerLinks | Group::Concurrent | Group::Collectives
        );
        let again = match again.devices.len() {
            // A pair needs both of its ends; all of a class is measured again.
            1 if pairs => &Again {
                devices: Vec::new(),
                ..again.clone()
            },
            _ => again,
        };
        let mut step = self.bench.step(again.group, name, Some(again))?;
        let is_of = |case: &str| again.cases.is_empty() || again.cases.contains(&case);
        let bytes = self
            .findings
            .links
            .iter()
            .find_map(|found| match &found.it.payload {
                Payload::Links(links) => links
                    .points
                    .iter()
                    .find(|point| is_of(&point.case))
                    .map(|point| point.bytes),
                _ => None,
            });
        let takes_sizes = step.program == "p2p-bw" && again.group != Group::Numa;
        let has_sizes = step.arguments.iter().any(|word| word == "--sizes");
        if let (Some(bytes), true) = (bytes, takes_sizes && !has_sizes) {
            step.arguments
                .extend(["--sizes".to_owned(), bytes.to_string()]);
        }
        Some(step)
    }
}

/// A check that is open because the step that was to take more samples of it broke: inconclusive, and for that reason.
pub(super) fn unsettled(check: Check, broke: &BTreeMap<Group, Missing>) -> Check {
    let of_group = |again: Again| broke.get(&again.group);
    let missing = again(&check.kind, &check.about).and_then(of_group);
    match missing {
        Some(missing) if check.verdict != Verdict::Fail && judge::is_open(&check) => {
            let text = format!(
                "{}; more samples were to be taken, and that broke: {}",
                check.reason.text, missing.text
            );
            let subject = Subject::new(&check.kind, check.about, check.required);
            let check = subject.inconclusive(missing.code, text, check.limit, check.evidence);
            match missing.advice() {
                Some(advice) => check.advised(advice),
                None => check,
            }
        }
        _ => check,
    }
}

/// The group of which more samples would settle a check that is open; `None` where it is not, or where they decide nothing.
pub(super) fn group(check: &Check) -> Option<Group> {
    let again = again(&check.kind, &check.about).filter(|_| judge::is_open(check));
    again.map(|again| again.group)
}

/// What to measure again for a check that is not decided; `None` where more samples decide nothing.
fn again(kind: &str, about: &[String]) -> Option<Again> {
    let devices = || {
        let mut labels: Vec<String> = about
            .iter()
            .flat_map(|about| about.split("->"))
            .map(|label| label.trim().to_owned())
            .filter(|label| label != "box" && !label.starts_with("node"))
            .collect();
        labels.sort();
        labels.dedup();
        labels
    };
    let of = |group, cases: &[&'static str], devices| {
        Some(Again {
            group,
            cases: cases.to_vec(),
            devices,
        })
    };
    match kind {
        "h2d_pinned" => of(Group::HostLinks, &["h2d_pinned_ce"], devices()),
        "d2h_pinned" => of(Group::HostLinks, &["d2h_pinned_ce"], devices()),
        "h2d_pageable" => of(Group::HostLinks, &["h2d_pageable_ce"], devices()),
        "d2h_pageable" => of(Group::HostLinks, &["d2h_pageable_ce"], devices()),
        "bidirectional" => of(
            Group::HostLinks,
            &["h2d_pinned_ce", "d2h_pinned_ce", "host_bidir_pinned_ce"],
            devices(),
        ),
        "p2p" | "symmetry" | "p2p_latency" => of(Group::PeerLinks, &["d2d_write_ce"], devices()),
        "p2p_staged" => of(
            Group::PeerLinks,
            &["d2d_staged_ce", "d2d_driver_staged_ce"],
            devices(),
        ),
        // A class is compared with itself, so all of it is measured again.
        "spread" if about.iter().any(|about| about == "p2p") => {
            of(Group::PeerLinks, &["d2d_write_ce"], Vec::new())
        }
        "spread" => of(
            Group::HostLinks,
            &["h2d_pinned_ce", "d2h_pinned_ce"],
            Vec::new(),
        ),
        "concurrent" => of(Group::Concurrent, &[], Vec::new()),
        "numa_penalty" => of(Group::Numa, &[], devices()),
        "allreduce" => of(Group::Collectives, &[], Vec::new()),
        _ => None,
    }
}

/// Joins what is measured again for several checks: one step a group, with all their cases and devices.
fn joined(all: impl IntoIterator<Item = Again>) -> Vec<Again> {
    let mut joined: Vec<Again> = Vec::new();
    for one in all {
        match joined.iter_mut().find(|known| known.group == one.group) {
            None => joined.push(one),
            Some(known) => {
                if known.cases.is_empty() || one.cases.is_empty() {
                    known.cases.clear();
                } else {
                    known.cases.extend(one.cases);
                    known.cases.sort_unstable();
                    known.cases.dedup();
                }
                if known.devices.is_empty() || one.devices.is_empty() {
                    known.devices.clear();
                } else {
                    known.devices.extend(one.devices);
                    known.devices.sort();
                    known.devices.dedup();
                }
            }
        }
    }
    joined.sort_by_key(|again| again.group);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;
    use crate::report::ReasonCode;

    fn about(about: &[&str]) -> Vec<String> {
        about.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn what_is_measured_again_is_what_the_check_is_about_and_no_more() {
        let pair = again("p2p", &about(&["GPU2->GPU0"])).unwrap();
        assert_eq!(
            (pair.group, &pair.cases[..]),
            (Group::PeerLinks, &["d2d_write_ce"][..])
        );
        assert_eq!(pair.devices, ["GPU0", "GPU2"]);
        let class = again("spread", &about(&["p2p", "NODE"])).unwrap();
        assert_eq!((class.group, class.devices.len()), (Group::PeerLinks, 0));
        // More samples say nothing of what is there or not.
        assert_eq!(again("inventory", &about(&["devices"])), None);
        assert_eq!(again("counters", &about(&["GPU0"])), None);
    }

    #[test]
    fn what_was_to_be_measured_again_stays_open_where_that_broke() {
        let open = made::measured("p2p", "GPU0->GPU1", Verdict::Pass, "GB/s", vec![6.0; 3]);
        let of = |check: &Check, group| {
            let text = "p2p-bw made no progress for 150 s".to_owned();
            let code = ReasonCode::WorkerFailed;
            unsettled(
                check.clone(),
                &BTreeMap::from([(group, Missing::of(code, text))]),
            )
        };
        // Three samples have no interval, so that the check is open.
        assert!(judge::is_open(&open));
        let came = of(&open, Group::PeerLinks);
        assert_eq!(
            (came.verdict, came.reason.code),
            (Verdict::Inconclusive, ReasonCode::WorkerFailed)
        );
        assert!(
            came.reason
                .text
                .ends_with("that broke: p2p-bw made no progress for 150 s"),
            "{}",
            came.reason.text
        );
        assert_eq!(came.evidence, open.evidence);
        // What another group lacks says nothing of it, and a fault stands.
        assert_eq!(of(&open, Group::HostLinks), open);
        let failed = Check {
            verdict: Verdict::Fail,
            ..open
        };
        assert_eq!(of(&failed, Group::PeerLinks), failed);
    }

    #[test]
    fn one_step_a_group_takes_all_that_is_open() {
        let open = [
            again("h2d_pinned", &about(&["GPU1"])),
            again("allreduce", &about(&["small"])),
            again("d2h_pinned", &about(&["GPU0"])),
            again("h2d_pinned", &about(&["GPU1"])),
        ];
        let joined = joined(open.into_iter().flatten());
        assert_eq!(joined.len(), 2);
        assert_eq!(joined[0].cases, ["d2h_pinned_ce", "h2d_pinned_ce"]);
        assert_eq!(joined[0].devices, ["GPU0", "GPU1"]);
        // An all-reduce is of all devices.
        assert_eq!(
            (joined[1].group, joined[1].devices.len()),
            (Group::Collectives, 0)
        );
    }
}
