//! What the links of a point can carry, as far as that is known, and its numbers as parts of it.
//!
//! A ceiling is the payload that PCIe links, or NVLinks that are up, carry between two ends. Times have none, and neither has what may
//! go another way.

use std::collections::{BTreeMap, BTreeSet};

use record::Endpoint::{self, Device, Host};
use record::{LinkUse, Links, NamedQuantity};
use topology::PathType;

use super::link::carries;
use super::monitor::Readings;
use super::plan::Planned;
use crate::cases::{Measures, Pattern};

/// What a value may exceed the ceiling of a pair by before the copy counts as one that went another way: the raw rate
/// of a link whose payload is 128 B, (128 + 24) / 128, so that a misread payload size cannot do it.
const BEYOND_PCIE: f64 = 1.19;

/// A ceiling in GB/s and what it rests on, or why there is none.
type Ceiling = Result<(f64, String), String>;

/// The links of the box while a point ran.
pub(super) struct BoxLinks<'a> {
    pub(super) links: &'a Links,
    pub(super) readings: &'a Readings,
    /// The rate of one NVLink in one direction, where it is known.
    pub(super) nvlink_gb_per_s: Option<f64>,
}

impl BoxLinks<'_> {
    /// The link a point used, from the readings taken while it ran, else from those before.
    pub(super) fn used(&self, point: &Planned, quantities: &[NamedQuantity]) -> LinkUse {
        let pair = point.pair();
        let mut link = LinkUse {
            path: pair.map(|(a, b)| self.links.path(a, b)),
            ..LinkUse::default()
        };
        let is_host = self
            .links
            .backend
            .as_ref()
            .is_some_and(|one| one.name == "host");
        if point.case.measures != Measures::Bandwidth {
            "a time, which has no ceiling".clone_into(&mut link.basis);
        } else if is_host {
            "host memory: no link between the ends".clone_into(&mut link.basis);
        } else if point.is_group() {
            self.group(point, quantities, &mut link);
        } else {
            // Both directions have the same.
            let each = |named: &NamedQuantity| match named.name.as_str() {
                "total" => named.quantity.value / 2.0,
                _ => named.quantity.value,
            };
            let fastest = quantities.iter().map(each).fold(0.0, f64::max);
            let pattern = point.case.pattern;
            match self.between(pattern, [point.from, point.to], fastest) {
                Ok((ceiling, basis)) => {
                    (link.ceiling_gb_per_s, link.basis) = (Some(ceiling), basis);
                }
                Err(why) => link.basis = why,
            }
        }
        let fraction = |named: &NamedQuantity| {
            let ceiling = link.ceiling(&named.name)?;
            Some((named.name.clone(), named.quantity.value / ceiling))
        };
        let fractions: BTreeMap<String, f64> = quantities.iter().filter_map(fraction).collect();
        link.fraction = fractions;
        link
    }

    /// Of streams that run at once each has the ceiling of its own ends; from and to the host their sum is the total's, where no two are
    /// instances of one device, which share its link.
    fn group(&self, point: &Planned, quantities: &[NamedQuantity], link: &mut LinkUse) {
        let mut unknown = None;
        for stream in point.streams() {
            let named = quantities.iter().find(|named| named.name == stream.name);
            let value = named.map_or(0.0, |named| named.quantity.value);
            match self.between(point.case.pattern, [stream.from, stream.to], value) {
                Ok((ceiling, basis)) => {
                    link.ceilings_gb_per_s.insert(stream.name, ceiling);
                    link.basis = basis;
                }
                Err(why) => unknown = Some(why),
            }
        }
        let devices = &self.links.devices;
        let addresses: BTreeSet<_> = devices.iter().map(|device| device.address).collect();
        let ceilings = &mut link.ceilings_gb_per_s;
        match unknown {
            Some(why) if ceilings.is_empty() => link.basis = why,
            None if [point.from, point.to].contains(&Host) && addresses.len() == devices.len() => {
                let total = ceilings.values().sum();
                ceilings.insert("total".to_owned(), total);
            }
            _ => {}
        }
    }

    /// The ceiling between two ends; `fastest` is what was measured there.
    fn between(&self, pattern: Pattern, ends: [Endpoint; 2], fastest: f64) -> Ceiling {
        let none = |why: &str| Err(why.to_owned());
        let path = match ends {
            [from, to] if from == to => return none("within the device: no link"),
            [Device(a), Device(b)] => Some(self.links.path(a, b)),
            _ => None,
        };
        let goes_direct = pattern.uses_peer_access();
        match path {
            Some(PathType::Same) => {
                return none("two instances on one device: no link between them");
            }
            Some(PathType::Nv(links)) if goes_direct => {
                let Some(each) = self.nvlink_gb_per_s else {
                    return none("NVLink between them, whose ceiling is not known");
                };
                let basis = format!("{links} NVLinks of {each:.2} GB/s");
                return Ok((f64::from(links) * each, basis));
            }
            Some(PathType::Mx) if goes_direct => {
                return none("MetaXLink between them, whose ceiling is not known");
            }
            Some(PathType::Xgmi) if goes_direct => {
                return none("xGMI between them, whose ceiling is not known");
            }
            _ => {}
        }
        let at_card = goes_direct && matches!(path, Some(PathType::Pix | PathType::Pxb));
        let pcie = self.smaller(ends, at_card);
        // What our own pipeline moves through host memory crosses PCIe for certain.
        if let Ok((ceiling, _)) = &pcie
            && path.is_some()
            && pattern != Pattern::Staged
            && fastest > ceiling * BEYOND_PCIE
        {
            return Err(format!(
                "faster than PCIe between them can be ({ceiling:.2} GB/s): another link carries it, which is not read"
            ));
        }
        match path {
            Some(PathType::Sys) => none("crosses the socket link, whose ceiling is unknown"),
            Some(PathType::Unknown) => none("the path between the devices is unknown"),
            Some(PathType::Pxb) if goes_direct => {
                none("several switches between them, each link's state is not told apart yet")
            }
            _ => pcie,
        }
    }

    /// The smaller ceiling of the ends.
    fn smaller(&self, ends: [Endpoint; 2], at_card: bool) -> Ceiling {
        let of_end = |end| match end {
            Device(at) => Some(carries(
                self.links.devices.get(at)?,
                self.readings.get(&at),
                at_card,
            )),
            _ => None,
        };
        let each = ends.into_iter().filter_map(of_end);
        let all = each.collect::<Result<Vec<_>, String>>()?;
        let smallest = all.into_iter().reduce(|a, b| if b.0 < a.0 { b } else { a });
        smallest.ok_or_else(|| "no link".to_owned())
    }
}

#[cfg(test)]
mod tests;
