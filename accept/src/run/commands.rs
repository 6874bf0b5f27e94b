//! The command lines of a run's programs, and about how long each takes.
//!
//! Which of them a run needs is in `steps`.

use super::steps::{Bench, Command, Named, POINT_S, SAMPLES_S};
use crate::cli::Level;

/// Bytes of a copy within host memory.
const HOST_BYTES: u64 = 16 << 20;

/// Seconds that a program takes before and after its measurements, about.
const AROUND_S: f64 = 4.0;

/// Seconds that the probe of a pair takes, with its kernels.
const PROBE_S: f64 = 1.0;

/// Seconds that a size of a collective takes, and those that it takes besides in captured graphs.
const SIZE_S: f64 = 2.0;
const GRAPH_S: f64 = 1.0;

/// The level from which on collectives are captured in graphs, too.
pub(super) const GRAPHS_FROM: Level = Level::Standard;

/// Seconds of a serving benchmark.
const SERVING_S: f64 = 60.0;

/// Words of a command line, which hold no blank.
fn words(line: &str) -> impl Iterator<Item = String> {
    line.split_whitespace().map(str::to_owned)
}

impl Bench<'_> {
    /// Arguments on some devices: whose driver, which of them, how long without progress, the simulated machine, then others.
    fn on(&self, devices: &[&Named], more: &str) -> Vec<String> {
        let numbers: Vec<&str> = devices.iter().map(|one| one.number.as_str()).collect();
        let (backend, numbers) = (self.backend, numbers.join(","));
        let deadline = self.args.deadline.as_secs_f64();
        let first = format!("--backend {backend} --gpus {numbers} --deadline {deadline}");
        let all = words(&first).chain(self.simulated());
        all.chain(words(more)).collect()
    }

    /// The simulated machine, where one is played.
    pub(crate) fn simulated(&self) -> impl Iterator<Item = String> {
        let name = self.args.on.sim.iter();
        name.flat_map(|name| ["--sim".to_owned(), name.clone()])
    }

    pub(super) fn copies(
        &self,
        devices: &[&Named],
        cases: &[&'static str],
        points_a_case: usize,
        has_probes: bool,
    ) -> Command {
        let points = (cases.len() * points_a_case).max(cases.len()) as f64;
        let is_host = self.backend == "host";
        let probes = match has_probes && !is_host {
            true => devices.len() * devices.len().saturating_sub(1),
            false => 0,
        };
        // Host memory in place of devices tries the programs out: it need not outgrow every cache, which takes minutes.
        let sizes = match is_host {
            true => format!("--sizes {HOST_BYTES}"),
            false => String::new(),
        };
        let (samples, budget) = (self.samples(), (points * SAMPLES_S).max(1.0));
        let cases = cases.join(",");
        let more = format!("--samples {samples} --cases {cases} --budget {budget} {sizes}");
        let seconds = AROUND_S + points * (SAMPLES_S + POINT_S) + probes as f64 * PROBE_S;
        ("p2p", self.on(devices, &more), seconds)
    }

    pub(super) fn numa(&self, devices: &[&Named]) -> Command {
        // Memory and thread each on any node, both directions.
        let nodes = self.nodes.unwrap_or(2);
        let points = (devices.len() * nodes * nodes * 2) as f64;
        let (samples, budget) = (self.samples(), (points * SAMPLES_S).max(1.0));
        let more = format!("--samples {samples} --kinds pinned --budget {budget}");
        let seconds = AROUND_S + points * (SAMPLES_S + POINT_S);
        ("numa", self.on(devices, &more), seconds)
    }

    pub(super) fn collectives(&self, devices: &[&Named], sizes: &[u64]) -> Command {
        let listed: Vec<String> = sizes.iter().map(u64::to_string).collect();
        // A simulated machine plays calls that the host waits for in real time, which says nothing of the box.
        let synced = match self.args.on.sim {
            Some(_) => "",
            None => "host-synced,",
        };
        let (graph, size_s) = match self.args.level >= GRAPHS_FROM {
            true => (",graph", SIZE_S + GRAPH_S),
            false => ("", SIZE_S),
        };
        let budget = sizes.len() as f64 * size_s;
        let (samples, sizes) = (self.samples(), listed.join(","));
        let more = format!(
            "--samples {samples} --ops all_reduce --modes {synced}back-to-back{graph} --sizes {sizes} --budget {budget}"
        );
        let seconds = 2.0 * AROUND_S + budget * 2.0;
        ("allreduce", self.on(devices, &more), seconds)
    }

    /// Memory and arithmetic of all devices, for so long at most.
    pub(super) fn loading(&self, seconds: f64) -> Vec<String> {
        let devices: Vec<&Named> = self.devices.iter().collect();
        self.on(&devices, &format!("--duration {seconds}"))
    }

    pub(super) fn serving(&self) -> Command {
        let url = self.args.serve_url.as_deref().unwrap_or_default();
        let all = format!(
            "--base-url {url} --requests 32 --concurrency 4 --input-tokens 128 --output-tokens 64"
        );
        ("serve run", words(&all).collect(), SERVING_S)
    }
}
