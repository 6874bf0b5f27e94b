//! Files of a fleet, as text of our own: what a report looks like is written here once more, by nobody who reads it.
//!
//! The values are planted: every device has 25 GB/s but the one that is reported.

use std::fs;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use serde_json::{Value, json};

/// Shape of a fleet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Boxes.
    pub(crate) boxes: usize,
    /// GPUs of each.
    pub(crate) gpus: usize,
}

/// Writes a fleet into a folder and gives how many bytes that are. GPU1 of box 7 has 0.95 of the others' bandwidth from the host.
pub(crate) fn write(folder: &Path, shape: Shape) -> u64 {
    (0..shape.boxes)
        .map(|index| {
            let run = folder.join(format!("n{index:04}"));
            fs::create_dir_all(&run).expect("a folder for a run");
            let bytes = serde_json::to_vec_pretty(&report(index, shape)).expect("json");
            fs::write(run.join("report.json"), &bytes).expect("a report");
            bytes.len() as u64
        })
        .sum()
}

fn report(index: usize, shape: Shape) -> Value {
    let label = |gpu: usize| format!("GPU{gpu}");
    let mut checks = Vec::new();
    for gpu in 0..shape.gpus {
        let part = if (index, gpu) == (7, 1) { 0.95 } else { 1.0 };
        checks.push(check("h2d_pinned", &label(gpu), 25.0 * part));
        checks.push(check("d2h_pinned", &label(gpu), 26.0));
        let others = (0..shape.gpus).filter(|other| *other != gpu);
        checks.extend(
            others.map(|other| check("p2p", &format!("{}->{}", label(gpu), label(other)), 24.0)),
        );
    }
    let devices: Vec<Value> = (0..shape.gpus)
        .map(|gpu| {
            json!({"label": label(gpu), "name": "NVIDIA L40", "slot": format!("0000:{gpu}1:00.0"), "identity": format!("GPU-{index:04x}-{gpu}"),
                   "node": 0, "memory_bytes": 48_u64 << 30})
        })
        .collect();
    json!({
        "schema": 1, "program": "accept", "version": "0.1.0", "program_sha256": null, "simulated": null,
        "started": "2026-11-20T08:00:00Z", "took_s": 240.0, "status": {"state": "complete"}, "verdict": "accepted", "exit_code": 0,
        "profile": {"name": "l40x4", "title": "L40 boxes", "sha256": "ab".repeat(32), "shipped": true, "baseline_sha256": null},
        "level": "quick",
        "node": {"name": format!("n{index:04}"), "identified": true, "fingerprint": {
            "backend": "cuda", "devices": vec!["NVIDIA L40"; shape.gpus], "driver": "570.133.07", "interface": "12.8",
            "collectives": "NCCL 2.26.2", "kernel": "6.8.0", "cpu": "EPYC", "topology": "0123", "max_payload_bytes": vec![256; shape.gpus]}},
        "devices": devices, "checks": checks, "not_covered": [], "notes": [],
    })
}

/// A check that passed, with 15 samples around the median: -0.7% to 0.7% of it.
fn check(kind: &str, about: &str, median: f64) -> Value {
    let samples: Vec<f64> = (-7..=7)
        .map(|step| median * (1.0 + f64::from(step) / 1000.0))
        .collect();
    json!({
        "id": format!("{kind} {about}"), "kind": kind, "about": [about], "required": true, "verdict": "pass",
        "reason": {"code": "as-expected", "text": "the interval lies above the limit"},
        "limit": {"good": "at_least", "fail": 20.0, "warn": 22.0, "unit": "GB/s", "basis": "0.80 and 0.88 of 28.81 GB/s", "source": "a choice"},
        "evidence": [{"is": "measured", "what": "bandwidth of 16 MiB copies", "value": median, "unit": "GB/s", "n": samples.len(),
                      "low": samples[3], "high": samples[11], "samples": samples, "source": "links/record.json"}],
        "advice": null,
    })
}

/// Waits for a process and gives how it ended, and the most memory that it was seen to hold, in bytes.
pub(crate) fn watched(mut child: Child) -> (ExitStatus, u64) {
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    loop {
        // VmHWM is the kernel's own high-water mark, so that only growth in the last moments is missed.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let kib = text.lines().find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .split_whitespace()
                .next()?
                .parse::<u64>()
                .ok()
        });
        most = kib.map_or(most, |kib| most.max(kib << 10));
        if let Some(ended) = child.try_wait().expect("a process that was started") {
            return (ended, most);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
