//! What a run does, step by step: which program, with which arguments, for which group of checks, and about how long it takes.
//!
//! Each step is a process of its own. Nothing is started here.

use std::time::Duration;

use serde::Serialize;

use crate::checks::{Group, KINDS};
use crate::cli::{Level, RunArgs};
use crate::profile::Profile;
use crate::report::ReasonCode;

/// Seconds that samples of one point may take.
const SAMPLES_S: f64 = 0.5;

/// Seconds that a point takes beside its samples: allocating, filling, comparing.
const POINT_S: f64 = 0.6;

/// Copies within host memory are of 16 MiB.
const HOST_SIZES: &str = "--sizes 16777216";

/// Seconds that a program takes before and after its measurements, about.
const AROUND_S: f64 = 4.0;

/// Seconds that the probe of a pair takes, with its kernels.
const PROBE_S: f64 = 1.0;

/// Seconds that a size of a collective takes, and those that it takes besides in captured graphs.
const SIZE_S: f64 = 2.0;
const GRAPH_S: f64 = 1.0;

/// A soak that lasts longer is watched less closely.
const LONG: Duration = Duration::from_secs(3600);

/// The level from which on collectives are captured in graphs, too.
pub(super) const GRAPHS_FROM: Level = Level::Standard;

/// Seconds of a serving benchmark.
const SERVING_S: f64 = 60.0;

/// What is measured again, with the cases and devices that matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Again {
    /// Cases of `tplens p2p`; empty for all of the group.
    pub(crate) cases: Vec<&'static str>,
    /// Labels of the devices; empty for all.
    pub(crate) devices: Vec<String>,
}

/// A command, its arguments, and about how many seconds it takes.
type Command = (&'static str, Vec<String>, f64);

/// One process of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Step {
    /// Its name, unique in the run; the name of its folder begins so.
    pub(crate) name: String,
    /// What it is evidence for.
    pub(crate) group: Group,
    /// The command, in one word or two.
    pub(crate) command: &'static str,
    /// Its arguments; its result folder comes besides.
    pub(crate) arguments: Vec<String>,
    /// Seconds that it takes, about.
    pub(crate) seconds: f64,
}

impl Step {
    fn of(name: String, group: Group, command: Command) -> Self {
        let (command, arguments, seconds) = command;
        Self {
            name,
            group,
            command,
            arguments,
            seconds,
        }
    }

    /// Whether it is a load beside another step, which goes on until that has ended.
    pub(crate) fn is_beside(&self) -> bool {
        self.name.starts_with(LOAD)
    }
}

/// How the names of the steps begin that take more samples for a group.
pub(super) fn more_of(group: Group) -> String {
    format!("{}-again-", group.word())
}

/// How the name of a load beside another step begins.
const LOAD: &str = "soak-load-";

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
const HOST_CASES: &str =
    "h2d_pinned_ce,d2h_pinned_ce,h2d_pageable_ce,d2h_pageable_ce,host_bidir_pinned_ce";

/// Copies between devices: direct where they can be, through the host where not.
const PEER_CASES: &str = "d2d_write_ce,d2d_staged_ce";

/// Several copies at once.
const GROUP_CASES: &str = "host_to_all_ce,all_to_host_ce,ring_ce";

/// One round of a soak's load, of several devices and of one.
const SOAK_CASES: [&str; 2] = [
    "h2d_pinned_ce,d2h_pinned_ce,d2d_write_ce,d2d_staged_ce,host_to_all_ce,all_to_host_ce,ring_ce",
    "h2d_pinned_ce,d2h_pinned_ce",
];

/// The whole run must fit into so much more than the sum of its steps.
pub(crate) const INVENTORY_S: f64 = 6.0;

/// Why a group has no step in this run; `None` where it has one.
pub(crate) fn left_out(bench: &Bench<'_>, group: Group) -> Option<ReasonCode> {
    let args = bench.args;
    // The data of all groups is compared, with or without one of them.
    let kinds = KINDS.iter().filter(|kind| kind.group == group);
    let mut kinds = kinds.filter(|kind| kind.key != "data");
    let is_excluded = kinds.all(|kind| args.exclude.iter().any(|key| key == kind.key));
    let is_left_out = match group {
        _ if is_excluded => true,
        Group::Concurrent | Group::Numa => args.level == Level::Quick,
        Group::Soak => args.level != Level::Soak,
        Group::Serving => args.serve_url.is_none(),
        _ => false,
    };
    let is_pointless = match group {
        Group::PeerLinks | Group::Concurrent | Group::Collectives => bench.devices.len() < 2,
        Group::Numa => bench.nodes.is_some_and(|nodes| nodes < 2),
        _ => false,
    };
    match (is_left_out, is_pointless) {
        (true, _) => Some(ReasonCode::LeftOut),
        (false, true) => Some(ReasonCode::NotApplicable),
        (false, false) => None,
    }
}

/// The steps of a run but for a soak's rounds, which come behind all others, in their order.
pub(crate) fn steps(bench: &Bench<'_>) -> Vec<Step> {
    use Group::{Collectives, Concurrent, HostLinks, Numa, PeerLinks, Serving};
    let groups = [HostLinks, PeerLinks, Concurrent, Numa, Collectives, Serving];
    let is_planned = |group: &Group| left_out(bench, *group).is_none();
    let step = |group: Group| bench.step(group, group.word().to_owned(), None);
    let groups = groups.into_iter().filter(is_planned);
    groups.filter_map(step).collect()
}

impl Bench<'_> {
    /// All devices.
    fn all(&self) -> Vec<&Named> {
        self.devices.iter().collect()
    }

    /// The step of a group, with all its cases and devices or with some of them; `None` for a group that no process measures.
    pub(crate) fn step(&self, group: Group, name: String, only: Option<&Again>) -> Option<Step> {
        let is_asked = |device: &&Named| {
            only.is_none_or(|only| only.devices.is_empty() || only.devices.contains(&device.label))
        };
        let mut devices: Vec<&Named> = self.devices.iter().filter(is_asked).collect();
        if devices.is_empty() {
            devices = self.all();
        }
        let own = only.map(|only| only.cases.join(","));
        let own = own.filter(|own| !own.is_empty());
        let cases = |all| own.as_deref().unwrap_or(all);
        let n = devices.len();
        let command = match group {
            Group::HostLinks => self.copies(&devices, cases(HOST_CASES), n, false),
            Group::PeerLinks => {
                self.copies(&devices, cases(PEER_CASES), n * n.saturating_sub(1), true)
            }
            Group::Concurrent => self.copies(&devices, cases(GROUP_CASES), 1, true),
            Group::Numa => self.numa(&devices),
            Group::Collectives => {
                let sizes = &self.profile.allreduce;
                self.collectives(&devices, &[sizes.small_bytes, sizes.large_bytes])
            }
            Group::Serving => self.serving(),
            Group::Inventory | Group::Soak | Group::Counters | Group::Watch => return None,
        };
        Some(Step::of(name, group, command))
    }

    /// What runs beside the first step of a soak's round. It is told to end when that has; left alone, it ends after three times the
    /// time that that takes.
    pub(crate) fn load(&self, number: usize, seconds: f64) -> Step {
        let words = self.measuring(&self.all(), &format!("--duration {}", 3.0 * seconds));
        let command = ("p2p load", words, 0.0);
        Step::of(format!("{LOAD}{number}"), Group::Soak, command)
    }

    /// The two steps of a soak's round.
    pub(crate) fn round(&self, number: usize) -> Vec<Step> {
        let devices = self.all();
        let n = devices.len();
        let cases = SOAK_CASES[usize::from(n < 2)];
        // Two host cases a device, an ordered pair each, three groups.
        let points = if n < 2 { 2 } else { 2 * n + n * (n - 1) + 3 };
        let mut links = self.copies(&devices, cases, 0, n > 1);
        links.2 += points as f64 * (SAMPLES_S + POINT_S);
        let name = format!("soak-links-{number}");
        let mut steps = vec![Step::of(name, Group::Soak, links)];
        if n > 1 {
            let large = self.collectives(&devices, &[self.profile.allreduce.large_bytes]);
            let name = format!("soak-collectives-{number}");
            steps.push(Step::of(name, Group::Soak, large));
        }
        steps
    }

    /// Arguments on some devices: whose driver, which of them, the simulated machine.
    fn on(&self, devices: &[&Named]) -> Vec<String> {
        let numbers: Vec<&str> = devices.iter().map(|one| one.number.as_str()).collect();
        let (backend, numbers) = (self.backend, numbers.join(","));
        let mut on: Vec<String> = words(&format!("--backend {backend} --gpus {numbers}")).collect();
        let name = self.args.on.sim.iter();
        on.extend(name.flat_map(|name| ["--sim".to_owned(), name.clone()]));
        on
    }

    /// The same for a program that measures: also how long without progress, then others.
    fn measuring(&self, devices: &[&Named], more: &str) -> Vec<String> {
        let deadline = self.args.deadline.as_secs_f64();
        let more = words(&format!("--deadline {deadline} {more}")).collect();
        [self.on(devices), more].concat()
    }

    /// Arguments of the monitor, which reads less often in a soak of hours: often enough to show that somebody watched all the time.
    pub(super) fn watching(&self) -> Vec<String> {
        let is_long = self.args.duration.is_some_and(|duration| duration > LONG);
        let hz = words(if is_long { "--hz 4" } else { "--hz 10" }).collect();
        [self.on(&self.all()), hz].concat()
    }

    fn copies(
        &self,
        devices: &[&Named],
        cases: &str,
        points_a_case: usize,
        has_probes: bool,
    ) -> Command {
        let count = cases.split(',').count();
        let points = (count * points_a_case).max(count) as f64;
        let is_host = self.backend == "host";
        let n = devices.len();
        let ends = if has_probes && !is_host { n } else { 0 };
        let probes = ends * n.saturating_sub(1);
        // Host memory in place of devices tries the programs out: it need not outgrow every cache, which takes minutes.
        let sizes = if is_host { HOST_SIZES } else { "" };
        let (samples, budget) = (self.profile.sampling.repeats, (points * SAMPLES_S).max(1.0));
        let more = format!("--samples {samples} --cases {cases} --budget {budget} {sizes}");
        let seconds = AROUND_S + points * (SAMPLES_S + POINT_S) + probes as f64 * PROBE_S;
        ("p2p", self.measuring(devices, &more), seconds)
    }

    fn numa(&self, devices: &[&Named]) -> Command {
        // Memory and thread each on any node, both directions.
        let nodes = self.nodes.unwrap_or(2);
        let points = (devices.len() * nodes * nodes * 2) as f64;
        let (samples, budget) = (self.profile.sampling.repeats, (points * SAMPLES_S).max(1.0));
        let more = format!("--samples {samples} --kinds pinned --budget {budget}");
        let seconds = AROUND_S + points * (SAMPLES_S + POINT_S);
        ("numa", self.measuring(devices, &more), seconds)
    }

    fn collectives(&self, devices: &[&Named], sizes: &[u64]) -> Command {
        let listed: Vec<String> = sizes.iter().map(u64::to_string).collect();
        // A simulated machine plays calls that the host waits for in real time, which says nothing of the box.
        let is_soft = self.args.on.sim.is_some();
        let synced = if is_soft { "" } else { "host-synced," };
        let (graph, size_s) = match self.args.level >= GRAPHS_FROM {
            true => (",graph", SIZE_S + GRAPH_S),
            false => ("", SIZE_S),
        };
        let budget = sizes.len() as f64 * size_s;
        let (samples, sizes) = (self.profile.sampling.repeats, listed.join(","));
        let more = format!(
            "--samples {samples} --ops all_reduce --modes {synced}back-to-back{graph} --sizes {sizes} --budget {budget}"
        );
        let seconds = 2.0 * AROUND_S + budget * 2.0;
        ("allreduce", self.measuring(devices, &more), seconds)
    }

    fn serving(&self) -> Command {
        let url = self.args.serve_url.as_deref().unwrap_or_default();
        let all = format!(
            "--base-url {url} --requests 32 --concurrency 4 --input-tokens 128 --output-tokens 64"
        );
        ("serve run", words(&all).collect(), SERVING_S)
    }
}

/// Words of a command line, which hold no blank.
fn words(line: &str) -> impl Iterator<Item = String> {
    line.split_whitespace().map(str::to_owned)
}
