//! From a box's links to the segments and caps of a copy, by a copy engine or by a kernel. Knows no streams and no time.

use crate::faults::CopyKind;
use crate::memory::HostMemory;
use boxfile::{BoxFile, Device, Far, Fault, Figure, Link};
use std::collections::BTreeSet;

/// What a copy crosses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Route {
    pub(crate) latency_us: f64,
    /// Decimal GB/s.
    pub(crate) cap: f64,
    /// A segment that both directions share stands here twice where the copy crosses it both ways.
    pub(crate) segments: Vec<usize>,
}

/// The host's side of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HostSide {
    pub(crate) memory: HostMemory,
    /// The node of the memory; `None`: it is near to every device and thread.
    pub(crate) node: Option<u32>,
    /// The node of the thread that issues it; `None`: the device's.
    pub(crate) thread: Option<u32>,
    pub(crate) bytes: usize,
}

/// Segment numbers: `2 i` is device i upwards, `2 i + 1` downwards, then each named segment downwards and upwards (one number
/// for both where it is not duplex).
pub(crate) struct Routes {
    described: BoxFile,
    named: Vec<(String, usize, usize)>,
    capacities: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Up,
    Down,
}

impl Routes {
    pub(crate) fn new(described: &BoxFile) -> Self {
        let mut capacities: Vec<f64> = described
            .device
            .iter()
            .flat_map(|device| [Way::Up, Way::Down].map(|way| room(described, device, way)))
            .collect();
        let mut named = Vec::new();
        for segment in &described.segment {
            let down = capacities.len();
            capacities.push(segment.gbps.value);
            if segment.duplex {
                capacities.push(segment.gbps.value);
            }
            named.push((segment.id.clone(), down, capacities.len() - 1));
        }
        Self {
            described: described.clone(),
            named,
            capacities,
        }
    }

    /// The capacities that a simulation starts with.
    pub(crate) fn capacities(&self) -> Vec<f64> {
        self.capacities.clone()
    }

    /// The segments of a device's link with the capacities that they have at another slot link.
    pub(crate) fn retrained(&self, device: usize, link: Link) -> Vec<(usize, f64)> {
        let full = self.described.slot_link(device).and_then(Link::raw_gbps);
        let Some((new, full)) = link.raw_gbps().zip(full) else {
            return Vec::new();
        };
        [2 * device, 2 * device + 1]
            .map(|segment| (segment, self.capacities[segment] * new / full))
            .to_vec()
    }

    /// The route of a copy by a copy engine; `host` says what its host memory is, if it has any.
    pub(crate) fn of(&self, kind: CopyKind, host: Option<HostSide>) -> Route {
        let device = |index: usize| &self.described.device[index];
        match kind {
            CopyKind::H2d(i) => self.of_host(i, Way::Down, host),
            CopyKind::D2h(i) => self.of_host(i, Way::Up, host),
            CopyKind::Local(i) => Route {
                latency_us: device(i).copy_latency_us.value,
                cap: device(i).local.value,
                segments: Vec::new(),
            },
            CopyKind::Staged(a, b) => Route {
                latency_us: self
                    .described
                    .driver_staging_latency_us
                    .as_ref()
                    .map_or_else(
                        || device(a).copy_latency_us.value + device(b).copy_latency_us.value,
                        |figure| figure.value,
                    ),
                cap: self.described.driver_staging_fraction.value
                    * device(a).d2h_pinned.value.min(device(b).h2d_pinned.value),
                segments: self.segments(&[2 * a, 2 * b + 1], &self.through_host(a, b)),
            },
            CopyKind::Direct(a, b) => {
                let path = self.described.peer_path(a, b);
                let way = if a < b { Way::Down } else { Way::Up };
                let mut through = if path.staged {
                    self.through_host(a, b).to_vec()
                } else {
                    Vec::new()
                };
                through.push((&path.segments, way));
                let links: &[usize] = if path.fabric {
                    &[]
                } else {
                    &[2 * a, 2 * b + 1]
                };
                Route {
                    latency_us: path.latency_us.unwrap_or(0.0),
                    cap: path.gbps.unwrap_or(f64::INFINITY) * self.slow_part(a, b),
                    segments: self.segments(links, &through),
                }
            }
        }
    }

    /// The part of its rate that the box's faults leave to the way from one device to another.
    fn slow_part(&self, a: usize, b: usize) -> f64 {
        let part = |fault: &Fault| match fault {
            Fault::SlowWay { pair, percent } if *pair == [a, b] => f64::from(*percent) / 100.0,
            _ => 1.0,
        };
        self.described.fault.iter().map(part).product()
    }

    /// The route between a device and the host; without `host`, as near pinned memory.
    fn of_host(&self, index: usize, way: Way, host: Option<HostSide>) -> Route {
        let device = &self.described.device[index];
        let (memory, bytes) =
            host.map_or((HostMemory::Pinned, 0), |host| (host.memory, host.bytes));
        let far = host.and_then(|host| self.far(device, host));
        let part = host.zip(far).map(|(host, far)| part(far, way, host.memory));
        let thread = host.and_then(|host| self.thread_part(device, host));
        let own = match way {
            Way::Up => 2 * index,
            Way::Down => 2 * index + 1,
        };
        let beyond = far.map_or(&[][..], |far| &far.segments);
        let across = match (device.node < host.and_then(|host| host.node), way) {
            (true, Way::Up) | (false, Way::Down) => Way::Down,
            (true, Way::Down) | (false, Way::Up) => Way::Up,
        };
        Route {
            latency_us: device.copy_latency_us.value + far.map_or(0.0, |far| far.latency_us.value),
            cap: near(device, way, memory, bytes) * part.unwrap_or(1.0) * thread.unwrap_or(1.0),
            segments: self.segments(&[own], &[(&device.host_segments, way), (beyond, across)]),
        }
    }

    /// What a device loses to the host memory of a copy; `None` where that is near.
    fn far(&self, device: &Device, host: HostSide) -> Option<&Far> {
        self.described.far(device.node?, host.node?)
    }

    /// What a pageable copy loses where its thread is not on the memory's node.
    fn thread_part(&self, device: &Device, host: HostSide) -> Option<f64> {
        let thread = host.thread.or(device.node)?;
        let far = self.described.far(thread, host.node?)?;
        (host.memory == HostMemory::Pageable).then_some(far.pageable_thread.value)
    }

    /// The route of a copy kernel that device `by` launches; absent where it takes no kernels, and for what is staged.
    pub(crate) fn of_kernel(
        &self,
        kind: CopyKind,
        by: usize,
        host: Option<HostSide>,
    ) -> Option<Route> {
        let device = &self.described.device[by];
        let kernels = device.kernels.as_ref()?;
        let as_copy = self.of(kind, host);
        let far = host.and_then(|host| self.far(device, host));
        let far_us = far.map_or(0.0, |far| far.latency_us.value);
        let of_host = |figure: &Figure, way| {
            let part = far.map_or(1.0, |far| part(far, way, HostMemory::Pinned));
            (figure.value * part, far_us)
        };
        let (cap, way_us) = match kind {
            CopyKind::H2d(_) => of_host(&kernels.h2d, Way::Down),
            CopyKind::D2h(_) => of_host(&kernels.d2h, Way::Up),
            CopyKind::Local(_) => (kernels.local.value, 0.0),
            CopyKind::Direct(a, b) => {
                let path = self.described.peer_path(a, b);
                let cap = if by == a {
                    path.kernel_write
                } else {
                    path.kernel_read
                };
                (
                    cap.unwrap_or(f64::INFINITY) * self.slow_part(a, b),
                    as_copy.latency_us,
                )
            }
            CopyKind::Staged(..) => return None,
        };
        Some(Route {
            latency_us: kernels.launch_us.value + way_us,
            cap,
            segments: as_copy.segments,
        })
    }

    fn through_host(&self, a: usize, b: usize) -> [(&[String], Way); 2] {
        [
            (&self.described.device[a].host_segments, Way::Up),
            (&self.described.device[b].host_segments, Way::Down),
        ]
    }

    fn segments(&self, own: &[usize], routes: &[(&[String], Way)]) -> Vec<usize> {
        let mut crossed: BTreeSet<(usize, Way)> = BTreeSet::new();
        for (route, way) in routes {
            for id in *route {
                let found = self.named.iter().find(|(name, ..)| name == id);
                crossed.extend(found.map(|(_, down, up)| match way {
                    Way::Down => (*down, *way),
                    Way::Up => (*up, *way),
                }));
            }
        }
        let named = crossed.into_iter().map(|(segment, _)| segment);
        own.iter().copied().chain(named).collect()
    }
}

/// The rate of a copy of so many bytes between a device and host memory, all being near.
fn near(device: &Device, way: Way, memory: HostMemory, bytes: usize) -> f64 {
    let small = device.pageable_up_to.as_ref();
    let small = small.filter(|small| bytes as u64 <= small.bytes);
    let figure = match (memory, way) {
        (HostMemory::Pinned, Way::Down) => &device.h2d_pinned,
        (HostMemory::Pinned, Way::Up) => &device.d2h_pinned,
        (HostMemory::Pageable, Way::Down) => small.map_or(&device.h2d_pageable, |small| &small.h2d),
        (HostMemory::Pageable, Way::Up) => small.map_or(&device.d2h_pageable, |small| &small.d2h),
    };
    figure.value
}

/// The part of its rate that a copy with far memory has, whatever thread issues it.
fn part(far: &Far, way: Way, memory: HostMemory) -> f64 {
    let part = match (memory, way) {
        (HostMemory::Pageable, Way::Down) => &far.h2d_pageable,
        (HostMemory::Pageable, Way::Up) => &far.d2h_pageable,
        (_, Way::Down) => &far.h2d,
        (_, Way::Up) => &far.d2h,
    };
    part.value
}

/// The capacity of a device's link in one direction: room for pinned memory wherever it lies.
fn room(described: &BoxFile, device: &Device, way: Way) -> f64 {
    let parts = described.node.iter().filter_map(|memory| {
        let far = described.far(device.node?, memory.id)?;
        Some(part(far, way, HostMemory::Pinned))
    });
    near(device, way, HostMemory::Pinned, 0) * parts.fold(1.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::Routes;
    use crate::faults::CopyKind;
    use boxfile::BoxFile;

    #[test]
    fn a_staged_copy_crosses_a_shared_host_segment_twice() {
        let mut described = BoxFile::builtin("l40x4").expect("built in");
        // GPU0 and GPU1 are both on socket0: up from the one, down to the other.
        let copy = CopyKind::Staged(0, 1);
        // Segments 0 to 7 are the wires; socket0 is 8 downwards and 9 upwards. GPU0 upwards is 0, GPU1 downwards 3.
        assert_eq!(
            Routes::new(&described).of(copy, None).segments,
            [0, 3, 8, 9]
        );
        described.segment[0].duplex = false;
        assert_eq!(
            Routes::new(&described).of(copy, None).segments,
            [0, 3, 8, 8]
        );
    }
}
