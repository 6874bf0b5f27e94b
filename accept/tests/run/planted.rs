//! Boxes with faults of hardware planted into their files, each as a rig would have it: the link's state with the rates that it leaves.
//!
//! What a run should say of them is in the tests.

use boxfile::{BoxFile, Device, Fault, Figure, HangOp, Link, Peer};
use stats::SplitMix;

/// A shipped box as one of its kind: nobody else on it, noise of its own, devices that differ by 0.3%.
pub(crate) fn seeded(name: &str, seed: u64) -> BoxFile {
    let mut described = BoxFile::builtin(name).unwrap();
    let mut dice = Dice::new(seed);
    for device in &mut described.device {
        device.busy = None;
        let factor = 1.0 + 0.003 * dice.normal();
        for figure in host_rates(device) {
            figure.value *= factor;
        }
    }
    if let Some(noise) = &mut described.noise {
        noise.seed = seed;
    }
    described
}

/// Keeps the first two devices.
pub(crate) fn two(described: &mut BoxFile) {
    described.device.truncate(2);
    described
        .peer
        .retain(|peer| peer.pair.iter().all(|end| *end < 2));
    described.collective.retain(|table| table.ranks <= 2);
}

/// Gives the slot of a device this link; copies get the part of their rate that it leaves.
pub(crate) fn slot(described: &mut BoxFile, device: usize, generation: u8, width: u8) {
    let link = Link { generation, width };
    let had = described.slot_link(device).unwrap();
    let part = link.raw_gbps().unwrap() / had.raw_gbps().unwrap();
    let ends: Vec<String> = described
        .slot_ends(device)
        .into_iter()
        .map(str::to_owned)
        .collect();
    for port in &mut described.port {
        if ends.contains(&port.address) {
            port.link = Some(link);
        }
    }
    if ends.contains(&described.device[device].address) {
        described.device[device].link = Some(link);
    }
    slow_device(described, device, part);
}

/// Leaves all copies of a device this part of their rate.
pub(crate) fn slow_device(described: &mut BoxFile, device: usize, part: f64) {
    slow_to_host(described, device, part);
    for other in 0..described.device.len() {
        if other != device {
            slow_pair(described, [device, other], part);
        }
    }
}

/// Leaves the copies of a device from and to the host this part of their rate.
pub(crate) fn slow_to_host(described: &mut BoxFile, device: usize, part: f64) {
    for figure in host_rates(&mut described.device[device]) {
        figure.value *= part;
    }
}

/// Leaves the copies of a pair, both ways, this part of their rate.
pub(crate) fn slow_pair(described: &mut BoxFile, pair: [usize; 2], part: f64) {
    let path = described.peer_path(pair[0], pair[1]);
    let slower =
        |rate: Option<f64>| rate.map(|rate| Figure::assumed(rate * part, "a test's fault"));
    let is_it = |peer: &Peer| peer.pair == pair || peer.pair == [pair[1], pair[0]];
    match described.peer.iter_mut().find(|peer| is_it(peer)) {
        Some(own) => {
            own.gbps = slower(path.gbps);
            own.kernel_read = slower(path.kernel_read);
            own.kernel_write = slower(path.kernel_write);
        }
        None => described.peer.push(Peer {
            pair,
            access: None,
            fabric: None,
            gbps: slower(path.gbps),
            latency_us: None,
            kernel_read: slower(path.kernel_read),
            kernel_write: slower(path.kernel_write),
            chase_ns: None,
            segments: None,
            staged: false,
        }),
    }
}

/// Puts a device below the other socket.
pub(crate) fn on_node(described: &mut BoxFile, device: usize, node: u32) {
    let parent = described.device[device].parent.clone();
    described.device[device].node = Some(node);
    for port in &mut described.port {
        if port.address == parent {
            port.node = Some(node);
        }
    }
}

/// Holds the clocks of a device down for heat: the bit of NVML for it is 0x40, hardware thermal slowdown.
pub(crate) fn hot(described: &mut BoxFile, device: usize) {
    let sensors = described.device[device].sensors.get_or_insert_default();
    sensors.throttle_bits = Some(0x40);
    sensors.temperature_c = Some(94);
}

/// A device that could not remap a row of its memory: NVIDIA's flag for a card to be given back.
pub(crate) fn not_repaired(described: &mut BoxFile, device: usize) {
    described.fault.push(Fault::RowRemaps {
        device,
        corrected: 0,
        uncorrected: 9,
        pending: false,
        failed: true,
        after_readings: 0,
    });
}

/// Lets the bridge above a device count errors while there is load.
pub(crate) fn link_errors(described: &mut BoxFile, device: usize, correctable: u64, nonfatal: u64) {
    described.fault.push(Fault::LinkErrors {
        address: described.device[device].parent.clone(),
        correctable,
        nonfatal,
        fatal: 0,
    });
}

/// Makes all collectives take so many times as long.
pub(crate) fn slow_collectives(described: &mut BoxFile, times: f64) {
    for table in &mut described.collective {
        for (_, us) in &mut table.points {
            *us *= times;
        }
    }
}

/// Leaves the direct copies from the first to the second nine tenths of their rate.
pub(crate) fn slow_way(described: &mut BoxFile, pair: [usize; 2]) {
    described.fault.push(Fault::SlowWay { pair, percent: 90 });
}

/// No direct copy from the first to the second ends.
pub(crate) fn hangs(described: &mut BoxFile, pair: [usize; 2]) {
    described.fault.push(Fault::Hang {
        op: HangOp::Peer,
        device: None,
        pair: Some(pair),
        after_copies: 0,
    });
}

/// Loses a device after twelve copies of a process.
pub(crate) fn lost(described: &mut BoxFile, device: usize) {
    described.fault.push(Fault::DeviceLost {
        device,
        after_copies: 12,
        off_the_bus: None,
    });
}

fn host_rates(device: &mut Device) -> Vec<&mut Figure> {
    let mut rates = vec![
        &mut device.h2d_pinned,
        &mut device.d2h_pinned,
        &mut device.h2d_pageable,
        &mut device.d2h_pageable,
    ];
    if let Some(kernels) = &mut device.kernels {
        rates.extend([&mut kernels.h2d, &mut kernels.d2h]);
    }
    rates
}

/// Seeded numbers.
pub(crate) struct Dice(pub(crate) SplitMix);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix::new(seed))
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.below(end)
    }

    /// Nearly normal: twelve uniform numbers have a variance of 1 and a mean of 6.
    fn normal(&mut self) -> f64 {
        let mut uniform = || (self.0.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }
}
