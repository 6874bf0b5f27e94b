//! The command lines of a run's programs, and about how long each takes.
//!
//! Which of them a run needs is in `steps`.

use super::steps::{Bench, Named, POINT_S, SAMPLES_S};
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

/// Words of a command line.
fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

impl Bench<'_> {
    /// Whose driver, which devices, how long without progress.
    fn on(&self, devices: &[&Named]) -> Vec<String> {
        let numbers: Vec<&str> = devices.iter().map(|one| one.number.as_str()).collect();
        let deadline = self.args.deadline.as_secs_f64().to_string();
        let mut words = words([
            "--backend",
            self.backend,
            "--gpus",
            &numbers.join(","),
            "--deadline",
            &deadline,
        ]);
        words.extend(self.simulated());
        words
    }

    /// The same with how many samples.
    fn common(&self, devices: &[&Named]) -> Vec<String> {
        let samples = self.samples().to_string();
        [self.on(devices), words(["--samples", &samples])].concat()
    }

    /// The simulated machine, where one is played.
    pub(crate) fn simulated(&self) -> Vec<String> {
        let name = self.args.on.sim.as_deref();
        name.map_or_else(Vec::new, |name| words(["--sim", name]))
    }

    pub(super) fn copies(
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
        ("p2p", words, seconds)
    }

    pub(super) fn numa(&self, devices: &[&Named]) -> (&'static str, Vec<String>, f64) {
        // Memory and thread each on any node, both directions.
        let nodes = self.nodes.unwrap_or(2);
        let points = devices.len() * nodes * nodes * 2;
        let budget = (points as f64 * SAMPLES_S).max(1.0);
        let mut words = self.common(devices);
        words.extend(["--kinds", "pinned", "--budget"].map(str::to_owned));
        words.push(budget.to_string());
        let seconds = AROUND_S + points as f64 * (SAMPLES_S + POINT_S);
        ("numa", words, seconds)
    }

    pub(super) fn collectives(
        &self,
        devices: &[&Named],
        sizes: &[u64],
    ) -> (&'static str, Vec<String>, f64) {
        let mut words = self.common(devices);
        let listed: Vec<String> = sizes.iter().map(u64::to_string).collect();
        // A simulated machine plays calls that the host waits for in real time, which says nothing of the box.
        let mut modes = match self.args.on.sim {
            Some(_) => "back-to-back".to_owned(),
            None => "host-synced,back-to-back".to_owned(),
        };
        let mut size_s = SIZE_S;
        if self.args.level >= GRAPHS_FROM {
            modes.push_str(",graph");
            size_s += GRAPH_S;
        }
        let budget = sizes.len() as f64 * size_s;
        words.extend(["--ops", "all_reduce", "--modes", &modes, "--sizes"].map(str::to_owned));
        words.extend([listed.join(","), "--budget".to_owned(), budget.to_string()]);
        let seconds = 2.0 * AROUND_S + budget * 2.0;
        ("allreduce", words, seconds)
    }

    /// Memory and arithmetic of all devices, for so long at most.
    pub(super) fn loading(&self, seconds: f64) -> (&'static str, Vec<String>) {
        let devices: Vec<&Named> = self.devices.iter().collect();
        let lasts = words(["--duration", &seconds.to_string()]);
        ("p2p load", [self.on(&devices), lasts].concat())
    }

    pub(super) fn serving(&self) -> (&'static str, Vec<String>, f64) {
        let url = self.args.serve_url.clone().unwrap_or_default();
        let mut all = words(["--base-url", &url, "--requests", "32", "--concurrency", "4"]);
        all.extend(words(["--input-tokens", "128", "--output-tokens", "64"]));
        ("serve run", all, SERVING_S)
    }
}
