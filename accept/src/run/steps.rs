//! What a run does, step by step: which program, with which arguments, for which group of checks, and about how long it takes.
//!
//! Each step is a process of its own. Nothing is started here.

use serde::Serialize;

use crate::checks::Group;
use crate::cli::{Level, RunArgs};
use crate::profile::Profile;

/// One process of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Step {
    /// Its name, unique in the run; the name of its folder begins so.
    pub(crate) name: String,
    /// What it is evidence for.
    pub(crate) group: Group,
    /// The program.
    pub(crate) program: &'static str,
    /// Its arguments; its result folder comes besides.
    pub(crate) arguments: Vec<String>,
    /// Seconds that it takes, about.
    pub(crate) seconds: f64,
}

/// A device as command lines name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// Its label in records.
    pub(crate) label: String,
    /// Its number.
    pub(crate) number: String,
}

/// What steps are made for.
#[derive(Debug, Clone)]
pub(crate) struct Bench<'a> {
    /// The profile.
    pub(crate) profile: &'a Profile,
    /// The command line.
    pub(crate) args: &'a RunArgs,
    /// `cuda`, `hip`, `maca` or `host`.
    pub(crate) backend: &'a str,
    /// The devices, without those that were lost.
    pub(crate) devices: Vec<Named>,
    /// NUMA nodes of the machine; `None` where nobody looked.
    pub(crate) nodes: Option<usize>,
}

/// Copies between host and devices.
const HOST_CASES: &[&str] = &[
    "h2d_pinned_ce",
    "d2h_pinned_ce",
    "h2d_pageable_ce",
    "d2h_pageable_ce",
    "host_bidir_pinned_ce",
];

/// Copies between devices: direct where they can be, through the host where not.
const PEER_CASES: &[&str] = &["d2d_write_ce", "d2d_staged_ce", "d2d_driver_staged_ce"];

/// Several copies at once.
const GROUP_CASES: &[&str] = &["host_to_all_ce", "all_to_host_ce", "ring_ce"];

/// One round of a soak's load.
const SOAK_CASES: &[&str] = &[
    "h2d_pinned_ce",
    "d2h_pinned_ce",
    "d2d_write_ce",
    "d2d_driver_staged_ce",
    "host_to_all_ce",
    "all_to_host_ce",
    "ring_ce",
];

/// Bytes of a copy within host memory.
const HOST_BYTES: u64 = 16 << 20;

/// Seconds that a program takes before and after its measurements, about.
const AROUND_S: f64 = 4.0;

/// Seconds that samples of one point may take.
const SAMPLES_S: f64 = 0.5;

/// Seconds that a point takes beside its samples: allocating, filling, comparing.
const POINT_S: f64 = 0.6;

/// Seconds that the probe of a pair takes, with its kernels.
const PROBE_S: f64 = 1.0;

/// Seconds that a size of a collective takes.
const SIZE_S: f64 = 2.0;

/// Seconds of a serving benchmark.
const SERVING_S: f64 = 60.0;

/// The whole run must fit into so much more than the sum of its steps.
pub(crate) const INVENTORY_S: f64 = 6.0;

impl Group {
    /// Its name in folders and plans.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Inventory => "inventory",
            Self::HostLinks => "host-links",
            Self::PeerLinks => "peer-links",
            Self::Concurrent => "concurrent",
            Self::Numa => "numa",
            Self::Collectives => "collectives",
            Self::Soak => "soak",
            Self::Serving => "serving",
            Self::Counters => "counters",
            Self::Watch => "watch",
        }
    }
}

/// Why a group has no step in this run; `None` where it has one.
pub(crate) fn left_out(
    bench: &Bench<'_>,
    group: Group,
) -> Option<(crate::report::ReasonCode, String)> {
    use crate::report::ReasonCode::{ExcludedByUser, NotApplicable, NotAsked};
    let level = bench.args.level;
    let kinds = || {
        crate::checks::KINDS
            .iter()
            .filter(|kind| kind.group == group)
    };
    let is_excluded = kinds().count() > 0
        && kinds().all(|kind| {
            bench
                .args
                .exclude
                .iter()
                .any(|excluded| excluded == kind.key)
        });
    let needs_two = matches!(
        group,
        Group::PeerLinks | Group::Concurrent | Group::Collectives
    );
    match group {
        _ if is_excluded => Some((ExcludedByUser, "left out with --exclude".to_owned())),
        Group::Concurrent | Group::Numa if level == Level::Quick => Some((
            NotAsked,
            "no part of level quick; --level standard measures it".to_owned(),
        )),
        Group::Soak if level != Level::Soak => Some((
            NotAsked,
            "no part of this level; --level soak --duration TIME measures it".to_owned(),
        )),
        Group::Serving if bench.args.serve_url.is_none() => Some((
            NotAsked,
            "no server was named; --serve-url URL measures it".to_owned(),
        )),
        Group::Numa if bench.nodes.is_some_and(|nodes| nodes < 2) => Some((
            NotApplicable,
            "the machine has fewer than two NUMA nodes with memory".to_owned(),
        )),
        _ if needs_two && bench.devices.len() < 2 => {
            Some((NotApplicable, "there are fewer than two devices".to_owned()))
        }
        _ => None,
    }
}

/// The groups that are measured by processes, in their order; a soak comes behind all others.
const MEASURED: [Group; 6] = [
    Group::HostLinks,
    Group::PeerLinks,
    Group::Concurrent,
    Group::Numa,
    Group::Collectives,
    Group::Serving,
];

/// The steps of a run but for a soak's rounds, in their order.
pub(crate) fn steps(bench: &Bench<'_>) -> Vec<Step> {
    let of = |group: &Group| {
        left_out(bench, *group)
            .is_none()
            .then(|| bench.step(*group, group.word().to_owned(), None))
            .flatten()
    };
    MEASURED.iter().filter_map(of).collect()
}

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

impl Bench<'_> {
    /// How many samples a figure gets in one step.
    pub(crate) fn samples(&self) -> usize {
        self.profile.sampling.repeats
    }

    /// The step of a group, with all its cases and devices or with some of them; `None` for a group that no process measures.
    pub(crate) fn step(&self, group: Group, name: String, only: Option<&Again>) -> Option<Step> {
        let is_asked = |device: &&Named| {
            only.is_none_or(|only| only.devices.is_empty() || only.devices.contains(&device.label))
        };
        let mut devices: Vec<&Named> = self.devices.iter().filter(is_asked).collect();
        if devices.is_empty() {
            devices = self.devices.iter().collect();
        }
        let cases = |all: &[&'static str]| -> Vec<&'static str> {
            match only {
                Some(only) if !only.cases.is_empty() => only.cases.clone(),
                _ => all.to_vec(),
            }
        };
        let n = devices.len();
        let (program, arguments, seconds) = match group {
            Group::HostLinks => self.copies(&devices, &cases(HOST_CASES), n, false),
            Group::PeerLinks => {
                self.copies(&devices, &cases(PEER_CASES), n * n.saturating_sub(1), true)
            }
            Group::Concurrent => self.copies(&devices, &cases(GROUP_CASES), 1, true),
            Group::Numa => self.numa(&devices),
            Group::Collectives => {
                let sizes = &self.profile.allreduce;
                self.collectives(&devices, &[sizes.small_bytes, sizes.large_bytes])
            }
            Group::Serving => self.serving(),
            Group::Inventory | Group::Soak | Group::Counters | Group::Watch => return None,
        };
        Some(Step {
            name,
            group,
            program,
            arguments,
            seconds,
        })
    }

    /// The two steps of a soak's round.
    pub(crate) fn round(&self, number: usize) -> Vec<Step> {
        let devices: Vec<&Named> = self.devices.iter().collect();
        let n = devices.len();
        let cases: Vec<&'static str> = SOAK_CASES
            .iter()
            .copied()
            .filter(|case| n > 1 || case.contains("h2d") || case.contains("d2h"))
            .collect();
        let points = match n {
            0 | 1 => 2,
            // Two host cases a device, an ordered pair each, three groups.
            n => 2 * n + n * (n - 1) + 3,
        };
        let (program, arguments, seconds) = self.copies(&devices, &cases, 0, n > 1);
        let mut steps = vec![Step {
            name: format!("soak-links-{number}"),
            group: Group::Soak,
            program,
            arguments,
            seconds: seconds + points as f64 * (SAMPLES_S + POINT_S),
        }];
        if n > 1 {
            let (program, arguments, seconds) =
                self.collectives(&devices, &[self.profile.allreduce.large_bytes]);
            steps.push(Step {
                name: format!("soak-collectives-{number}"),
                group: Group::Soak,
                program,
                arguments,
                seconds,
            });
        }
        steps
    }

    /// Whose driver, which devices, how many samples, how long without progress.
    fn common(&self, devices: &[&Named]) -> Vec<String> {
        let numbers: Vec<&str> = devices
            .iter()
            .map(|device| device.number.as_str())
            .collect();
        let mut words: Vec<String> = vec![
            "--backend".to_owned(),
            self.backend.to_owned(),
            "--gpus".to_owned(),
            numbers.join(","),
            "--samples".to_owned(),
            self.samples().to_string(),
            "--deadline".to_owned(),
            self.args.deadline.as_secs_f64().to_string(),
        ];
        words.extend(self.played());
        words
    }

    /// The soft box, where one is played.
    pub(crate) fn played(&self) -> Vec<String> {
        match &self.args.sim {
            Some(name) => vec!["--sim".to_owned(), name.clone()],
            None => Vec::new(),
        }
    }

    fn copies(
        &self,
        devices: &[&Named],
        cases: &[&'static str],
        points_a_case: usize,
        has_probes: bool,
    ) -> (&'static str, Vec<String>, f64) {
        let points = (cases.len() * points_a_case).max(cases.len());
        let pairs = devices.len() * devices.len().saturating_sub(1);
        let probes = if has_probes && self.backend != "host" {
            pairs
        } else {
            0
        };
        let mut words = self.common(devices);
        let budget = (points as f64 * SAMPLES_S).max(1.0);
        words.extend(["--cases".to_owned(), cases.join(",")]);
        // Host memory in place of devices tries the programs out: it need not outgrow every cache, which takes minutes.
        if self.backend == "host" {
            words.extend(["--sizes".to_owned(), HOST_BYTES.to_string()]);
        }
        words.extend(["--budget".to_owned(), budget.to_string()]);
        let seconds = AROUND_S + points as f64 * (SAMPLES_S + POINT_S) + probes as f64 * PROBE_S;
        ("p2p-bw", words, seconds)
    }

    fn numa(&self, devices: &[&Named]) -> (&'static str, Vec<String>, f64) {
        // Memory and thread each on any node, both directions.
        let nodes = self.nodes.unwrap_or(2);
        let points = devices.len() * nodes * nodes * 2;
        let budget = (points as f64 * SAMPLES_S).max(1.0);
        let mut words = vec!["numa".to_owned()];
        words.extend(self.common(devices));
        words.extend(
            ["--kinds", "pinned", "--no-sizes", "--no-host", "--budget"].map(str::to_owned),
        );
        words.push(budget.to_string());
        let seconds = AROUND_S + points as f64 * (SAMPLES_S + POINT_S);
        ("p2p-bw", words, seconds)
    }

    fn collectives(&self, devices: &[&Named], sizes: &[u64]) -> (&'static str, Vec<String>, f64) {
        let mut words = self.common(devices);
        let listed: Vec<String> = sizes.iter().map(u64::to_string).collect();
        let budget = sizes.len() as f64 * SIZE_S;
        // A soft box plays calls that the host waits for in real time, which says nothing of the box.
        let modes = match self.args.sim {
            Some(_) => "back-to-back",
            None => "host-synced,back-to-back",
        };
        words.extend(["--ops", "all_reduce", "--modes", modes, "--sizes"].map(str::to_owned));
        words.extend([listed.join(","), "--budget".to_owned(), budget.to_string()]);
        let seconds = 2.0 * AROUND_S + budget * 2.0;
        ("allreduce-bench", words, seconds)
    }

    fn serving(&self) -> (&'static str, Vec<String>, f64) {
        let url = self.args.serve_url.clone().unwrap_or_default();
        let words = [
            "run",
            "--base-url",
            &url,
            "--requests",
            "32",
            "--concurrency",
            "4",
            "--input-tokens",
            "128",
            "--output-tokens",
            "64",
        ];
        ("serve-bench", words.map(str::to_owned).to_vec(), SERVING_S)
    }
}

/// What to measure again for a check that is not decided; `None` where more samples decide nothing.
pub(crate) fn again(kind: &str, about: &[String]) -> Option<Again> {
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
pub(crate) fn joined(all: impl IntoIterator<Item = Again>) -> Vec<Again> {
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
