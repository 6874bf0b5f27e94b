//! From a box's links to the segments and caps of a copy, by a copy engine or by a kernel. Knows no streams and no time.

use crate::faults::CopyKind;
use crate::memory::HostMemory;
use boxfile::{BoxFile, Figure, Link};
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
            .flat_map(|device| [device.d2h_pinned.value, device.h2d_pinned.value])
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
    pub(crate) fn of(&self, kind: CopyKind, host: Option<HostMemory>) -> Route {
        let device = |index: usize| &self.described.device[index];
        match kind {
            CopyKind::H2d(i) => Route {
                latency_us: device(i).copy_latency_us.value,
                cap: host_cap(
                    host,
                    &device(i).h2d_pinned,
                    &device(i).h2d_pageable,
                    device(i).h2d_write_combined.as_ref(),
                    device(i).h2d_registered.as_ref(),
                ),
                segments: self.segments(&[2 * i + 1], &[(&device(i).host_segments, Way::Down)]),
            },
            CopyKind::D2h(i) => Route {
                latency_us: device(i).copy_latency_us.value,
                cap: host_cap(
                    host,
                    &device(i).d2h_pinned,
                    &device(i).d2h_pageable,
                    device(i).d2h_write_combined.as_ref(),
                    device(i).d2h_registered.as_ref(),
                ),
                segments: self.segments(&[2 * i], &[(&device(i).host_segments, Way::Up)]),
            },
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
                    cap: path.gbps.unwrap_or(f64::INFINITY),
                    segments: self.segments(links, &through),
                }
            }
        }
    }

    /// The route of a copy kernel that device `by` launches; absent where it takes no kernels, and for what is staged.
    pub(crate) fn of_kernel(&self, kind: CopyKind, by: usize) -> Option<Route> {
        let kernels = self.described.device[by].kernels.as_ref()?;
        let as_copy = self.of(kind, None);
        let (cap, way_us) = match kind {
            CopyKind::H2d(_) => (kernels.h2d.value, 0.0),
            CopyKind::D2h(_) => (kernels.d2h.value, 0.0),
            CopyKind::Local(_) => (kernels.local.value, 0.0),
            CopyKind::Direct(a, b) => {
                let path = self.described.peer_path(a, b);
                let cap = if by == a {
                    path.kernel_write
                } else {
                    path.kernel_read
                };
                (cap.unwrap_or(f64::INFINITY), as_copy.latency_us)
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

/// The figure of a host copy from or to this kind of memory.
fn host_cap(
    host: Option<HostMemory>,
    pinned: &Figure,
    pageable: &Figure,
    write_combined: Option<&Figure>,
    registered: Option<&Figure>,
) -> f64 {
    let figure = match host {
        None | Some(HostMemory::Pinned) => pinned,
        Some(HostMemory::Pageable) => pageable,
        Some(HostMemory::WriteCombined) => write_combined.unwrap_or(pinned),
        Some(HostMemory::Registered) => registered.unwrap_or(pinned),
    };
    figure.value
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
