//! Random machines, each measured by the program and by the solver: 50 with `TPLENS_FULL=1`, else four.
//!
//! A built-in machine lends its shape; every figure of it is drawn anew, and so are the cases, sizes and devices of the run. There is no
//! noise: what is left is rounding, and what the two disagree about.

use boxfile::{BoxFile, Figure};

use super::boxes::{Access, access};
use super::errors::assert_within;
use super::expected::{CASES, is_group};
use super::program::{compared, measured};

/// What must be shown is 1%.
const AT_MOST: f64 = 0.01;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn figure(&mut self, low: f64, high: f64) -> Figure {
        let part = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        Figure::assumed(low + (high - low) * part, "drawn by a test")
    }
}

/// A machine of a built-in one's shape with figures of its own.
fn drawn(dice: &mut Dice) -> BoxFile {
    let names = boxfile::builtin_names();
    let mut described = BoxFile::builtin(names[dice.below(names.len())]).unwrap();
    described.noise = None;
    described.driver_staging_fraction = dice.figure(0.3, 1.0);
    for segment in &mut described.segment {
        segment.gbps = dice.figure(8.0, 120.0);
        segment.duplex = dice.below(2) == 0;
    }
    for device in &mut described.device {
        device.copy_engines = 1 + u32::try_from(dice.below(3)).unwrap();
        device.h2d_pinned = dice.figure(6.0, 60.0);
        device.d2h_pinned = dice.figure(6.0, 60.0);
        device.h2d_pageable = dice.figure(3.0, 6.0);
        device.d2h_pageable = dice.figure(3.0, 6.0);
        device.pageable_up_to = None;
        device.local = dice.figure(60.0, 600.0);
        device.copy_latency_us = dice.figure(0.5, 20.0);
        if let Some(kernels) = &mut device.kernels {
            kernels.h2d = dice.figure(3.0, 60.0);
            kernels.d2h = dice.figure(3.0, 60.0);
            kernels.local = dice.figure(60.0, 600.0);
            kernels.launch_us = dice.figure(0.5, 10.0);
            kernels.host_chase_ns = dice.figure(400.0, 2500.0);
        }
    }
    if let Some(peers) = &mut described.peer_default {
        peers.same_node = Some(dice.figure(3.0, 60.0));
        peers.cross_node = Some(dice.figure(3.0, 60.0));
        peers.latency_us = Some(dice.figure(0.5, 4.7));
    }
    described
}

/// Whether no pair lies so near to what a probe calls staged that rounding decides.
fn is_clear(described: &BoxFile) -> bool {
    let pairs = (0..described.device.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let mut all = pairs.map(|(a, b)| access(described, a, b));
    all.all(|access| match access {
        Access::Denied => true,
        Access::Granted { us, without_us, .. } => {
            (us / 5.0 - 1.0).abs() > 0.05 && (us / without_us / 0.7 - 1.0).abs() > 0.05
        }
    })
}

#[test]
fn random_machines_are_measured_as_an_independent_solver_says() {
    let is_full = std::env::var_os("TPLENS_FULL").is_some();
    let machines = if is_full { 50 } else { 4 };
    let (mut numbers, mut most) = (0, 0.0_f64);
    for seed in 0..machines {
        let mut dice = Dice(0x7e57_0b0e ^ seed << 32);
        let mut described = drawn(&mut dice);
        while !is_clear(&described) {
            described = drawn(&mut dice);
        }
        // All groups and a third of the rest.
        let some: Vec<&str> = CASES
            .into_iter()
            .filter(|case| is_group(case) || dice.below(3) == 0)
            .collect();
        let devices = described.device.len().min(2 + dice.below(2));
        let gpus: Vec<String> = (0..devices).map(|device| device.to_string()).collect();
        let size = ["256K", "1M", "4M"][dice.below(3)];
        let (cases, gpus) = (some.join(","), gpus.join(","));
        let args = [
            "--sizes",
            size,
            "--gpus",
            &gpus,
            "--cases",
            &cases,
            "--samples",
            "6",
        ];
        let links = measured(&described, &args);
        let all = compared(&described, &links);
        assert!(
            all.len() >= some.len() / 2,
            "{}: {}",
            described.name,
            all.len()
        );
        assert_within(&all, AT_MOST);
        numbers += all.len();
        let errors = all.iter().map(|one| (one.found / one.expected - 1.0).abs());
        most = errors.fold(most, f64::max);
    }
    shown(&format!(
        "{machines} machines, {numbers} numbers, at most {:.5}% apart",
        most * 100.0
    ));
}

/// Shows a figure to whoever runs a test with `--nocapture`.
#[expect(clippy::print_stderr, reason = "a test's figures, shown on demand")]
fn shown(words: &str) {
    eprintln!("{words}");
}
