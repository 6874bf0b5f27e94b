//! Which way bytes go on a box: the caps, latencies and channels of copies and of kernels, from the figures of its file.
//!
//! Devices are positions in the file. It knows no case; `lanes.rs` puts these together for one.

use std::collections::{BTreeMap, BTreeSet};

use boxfile::{BoxFile, Device, Figure, KernelFigures};

use super::play::Route;

/// Host memory by how it was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostMemory {
    Pinned,
    Pageable,
}

/// Which way between the host and a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Toward {
    Device,
    Host,
}

/// Who moves the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mover {
    Engine,
    Kernel,
}

/// The routes of a box.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Routes<'a>(pub(crate) &'a BoxFile);

/// A crossed segment or wire with its direction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Crossing {
    id: String,
    down: bool,
}

impl Routes<'_> {
    fn device(&self, device: usize) -> &Device {
        &self.0.device[device]
    }

    /// What kernels of a device reach; nothing is asked of one that takes none.
    pub(crate) fn kernels(&self, device: usize) -> &KernelFigures {
        let kernels = self.device(device).kernels.as_ref();
        kernels.expect("a kernel was measured on a device without kernels")
    }

    /// Between host memory and a device.
    pub(crate) fn host(
        &self,
        mover: Mover,
        toward: Toward,
        (memory, bytes): (HostMemory, u64),
        device: usize,
    ) -> Route {
        let own = self.device(device);
        let down = toward == Toward::Device;
        let (cap, latency) = match mover {
            Mover::Engine => (
                engine_rate(own, toward, memory, bytes),
                &own.copy_latency_us,
            ),
            Mover::Kernel => {
                assert_ne!(memory, HostMemory::Pageable, "no kernel reaches it");
                let kernels = self.kernels(device);
                let rate = if down { &kernels.h2d } else { &kernels.d2h };
                (rate, &kernels.launch_us)
            }
        };
        let crossings = [wire(device, down)].into_iter();
        let crossings = crossings.chain(self.host_segments(device, down));
        self.route(cap.value, latency.value, crossings)
    }

    /// Within a device.
    pub(crate) fn local(&self, mover: Mover, device: usize) -> Route {
        let own = self.device(device);
        let (cap, latency) = match mover {
            Mover::Engine => (&own.local, &own.copy_latency_us),
            Mover::Kernel => {
                let kernels = self.kernels(device);
                (&kernels.local, &kernels.launch_us)
            }
        };
        self.route(cap.value, latency.value, [])
    }

    /// From a to b with access: over links of their own, or over both devices' wires and the pair's segments; a pair that
    /// only claims to be direct goes through the host besides. A kernel runs on one of the two and writes, or reads.
    pub(crate) fn peer(&self, mover: Mover, a: usize, b: usize, issuer: usize) -> Route {
        let path = self.0.peer_path(a, b);
        let mut crossings: Vec<Crossing> =
            path.segments.iter().map(|id| crossing(id, a < b)).collect();
        if !path.fabric {
            crossings.extend([wire(a, false), wire(b, true)]);
        }
        if path.staged {
            crossings.extend(self.host_segments(a, false));
            crossings.extend(self.host_segments(b, true));
        }
        let (cap, launch_us) = match mover {
            Mover::Engine => (path.gbps, 0.0),
            Mover::Kernel => {
                let rate = if issuer == a {
                    path.kernel_write
                } else {
                    path.kernel_read
                };
                (rate, self.kernels(issuer).launch_us.value)
            }
        };
        let latency = launch_us + path.latency_us.unwrap();
        self.route(cap.unwrap(), latency, crossings)
    }

    /// The latency of a copy that the driver stages.
    pub(crate) fn unassisted_us(&self, a: usize, b: usize) -> f64 {
        let own = |device: usize| self.device(device).copy_latency_us.value;
        let stated = self.0.driver_staging_latency_us.as_ref();
        stated.map_or(own(a) + own(b), |figure| figure.value)
    }

    fn host_segments(&self, device: usize, down: bool) -> impl Iterator<Item = Crossing> {
        let ids = self.device(device).host_segments.iter();
        ids.map(move |id| crossing(id, down))
    }

    /// A crossing counts once for each direction; what both directions share is crossed once or twice.
    fn route(
        &self,
        cap: f64,
        latency_us: f64,
        crossings: impl IntoIterator<Item = Crossing>,
    ) -> Route {
        let crossings: BTreeSet<Crossing> = crossings.into_iter().collect();
        let mut crosses = BTreeMap::new();
        for crossing in crossings {
            *crosses.entry(self.channel(&crossing)).or_insert(0.0) += 1.0;
        }
        Route {
            cap,
            latency_ns: latency_us * 1e3,
            crosses,
        }
    }

    fn channel(&self, crossing: &Crossing) -> String {
        let mut segments = self.0.segment.iter();
        let segment = segments.find(|segment| segment.id == crossing.id);
        if segment.is_some_and(|segment| !segment.duplex) {
            return crossing.id.clone();
        }
        let way = if crossing.down { "down" } else { "up" };
        format!("{} {way}", crossing.id)
    }

    /// GB/s of every channel.
    pub(crate) fn capacities(&self) -> BTreeMap<String, f64> {
        let devices = self.0.device.iter().enumerate();
        let wires = devices.flat_map(|(index, device)| {
            [
                (wire(index, true), device.h2d_pinned.value),
                (wire(index, false), device.d2h_pinned.value),
            ]
        });
        let segments = self.0.segment.iter().flat_map(|segment| {
            [true, false].map(|down| (crossing(&segment.id, down), segment.gbps.value))
        });
        wires
            .chain(segments)
            .map(|(crossing, gbps)| (self.channel(&crossing), gbps))
            .collect()
    }
}

/// What a copy engine reaches in a copy of so many bytes.
fn engine_rate(device: &Device, toward: Toward, memory: HostMemory, bytes: u64) -> &Figure {
    let down = toward == Toward::Device;
    let staged = device.pageable_up_to.as_ref();
    let staged = staged.filter(|staged| bytes <= staged.bytes);
    match (memory, down) {
        (HostMemory::Pinned, true) => &device.h2d_pinned,
        (HostMemory::Pinned, false) => &device.d2h_pinned,
        (HostMemory::Pageable, true) => staged.map_or(&device.h2d_pageable, |staged| &staged.h2d),
        (HostMemory::Pageable, false) => staged.map_or(&device.d2h_pageable, |staged| &staged.d2h),
    }
}

fn crossing(id: &str, down: bool) -> Crossing {
    let id = id.to_owned();
    Crossing { id, down }
}

/// A device's own link; the name is none that a segment of these tests has.
fn wire(device: usize, down: bool) -> Crossing {
    crossing(&format!("wire of {device}"), down)
}
