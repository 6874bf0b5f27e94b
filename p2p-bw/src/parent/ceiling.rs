//! What the links of a point can carry, as far as that is known, and its numbers as parts of it.
//!
//! A ceiling is the payload that PCIe links carry between two ends. Times have none, and neither has what may go another
//! way than over PCIe.

use std::collections::BTreeMap;

use record::{Endpoint, LinkDevice, LinkUse, Links, NamedQuantity};
use topology::PathType;

use super::link::{Part, carries};
use super::monitor::Readings;
use super::plan::Planned;
use crate::cases::{Measures, Pattern, Stream};

/// What a value may exceed the ceiling of a pair by before the copy counts as one that went another way: the raw rate
/// of a link whose payload is 128 B, (128 + 24) / 128, so that a misread payload size cannot do it.
const BEYOND_PCIE: f64 = 1.19;

/// Links besides PCIe that join a backend's devices, where their names are known.
const FABRICS: [(&str, &str); 2] = [("cuda", "NVLink"), ("hip", "xGMI")];

/// Ceilings in GB/s, and what they rest on.
#[derive(Debug, Default, PartialEq)]
struct Ceilings {
    /// Of each direction, where there is one for all.
    each: Option<f64>,
    /// By the quantity's name.
    by_name: BTreeMap<String, f64>,
    basis: String,
}

/// The link a point used, from the readings taken while it ran, else from those before.
pub(super) fn link_use(
    point: &Planned,
    box_links: BoxLinks<'_>,
    quantities: &[NamedQuantity],
    backend_has_links: bool,
) -> LinkUse {
    let links = box_links.links;
    let found = if point.case.measures != Measures::Bandwidth {
        Err("a time, which has no ceiling".to_owned())
    } else if !backend_has_links {
        Err("host memory: no link between the ends".to_owned())
    } else if point.is_group() {
        Ok(box_links.of_group(point, quantities))
    } else {
        box_links.of_pair(point, quantities)
    };
    let ceilings = found.unwrap_or_else(|basis| Ceilings {
        basis,
        ..Ceilings::default()
    });
    let mut link = LinkUse {
        path: point.pair().map(|(a, b)| links.path(a, b)),
        ceiling_gb_per_s: ceilings.each,
        ceilings_gb_per_s: ceilings.by_name,
        fraction: BTreeMap::new(),
        basis: ceilings.basis,
    };
    let fraction = |named: &NamedQuantity| {
        let ceiling = link.ceiling(&named.name)?;
        Some((named.name.clone(), named.quantity.value / ceiling))
    };
    link.fraction = quantities.iter().filter_map(fraction).collect();
    link
}

/// The links of the box while a point ran.
#[derive(Clone, Copy)]
pub(super) struct BoxLinks<'a> {
    pub(super) links: &'a Links,
    pub(super) readings: &'a Readings,
    /// The rate of one NVLink in one direction, where it is known.
    pub(super) nvlink_gb_per_s: Option<f64>,
}

impl BoxLinks<'_> {
    /// The ceiling of a point with one device or between two, whose directions have the same.
    fn of_pair(&self, point: &Planned, quantities: &[NamedQuantity]) -> Result<Ceilings, String> {
        let directions = |name: &str| if name == "total" { 2.0 } else { 1.0 };
        let each = |named: &NamedQuantity| named.quantity.value / directions(&named.name);
        let fastest = quantities.iter().map(each).fold(0.0, f64::max);
        let (ceiling, basis) = self.between(point.case.pattern, point.from, point.to, fastest)?;
        Ok(Ceilings {
            each: Some(ceiling),
            basis,
            ..Ceilings::default()
        })
    }

    /// Of streams that run at once each has the ceiling of its own ends; from and to the host their sum is the total's.
    fn of_group(&self, point: &Planned, quantities: &[NamedQuantity]) -> Ceilings {
        let streams = point.streams();
        let mut found = Ceilings::default();
        let (mut total, mut counted, mut unknown) = (0.0, Vec::new(), None);
        for stream in &streams {
            let named = quantities.iter().find(|named| named.name == stream.name);
            let value = named.map_or(0.0, |named| named.quantity.value);
            match self.between(point.case.pattern, stream.from, stream.to, value) {
                Ok((ceiling, basis)) => {
                    found.by_name.insert(stream.name.clone(), ceiling);
                    found.basis = basis;
                    // Instances of one device share its link.
                    let ends = [stream.from, stream.to].map(|end| self.physical(end));
                    if !counted.contains(&ends) {
                        counted.push(ends);
                        total += ceiling;
                    }
                }
                Err(why) => unknown = Some(why),
            }
        }
        if found.by_name.is_empty() {
            found.basis = unknown.clone().unwrap_or_default();
        }
        let is_host = |stream: &Stream| [stream.from, stream.to].contains(&Endpoint::Host);
        if unknown.is_none() && streams.iter().all(is_host) {
            found.by_name.insert("total".to_owned(), total);
        }
        found
    }

    /// The device that an instance is a part of.
    fn physical(&self, end: Endpoint) -> Endpoint {
        let Endpoint::Device(position) = end else {
            return end;
        };
        let devices = &self.links.devices;
        let address = devices.get(position).and_then(|device| device.address);
        let is_same = |device: &LinkDevice| address.is_some() && device.address == address;
        Endpoint::Device(devices.iter().position(is_same).unwrap_or(position))
    }

    /// The ceiling between two ends in GB/s and what it rests on, or why there is none; `fastest` is what was measured there.
    fn between(
        &self,
        pattern: Pattern,
        from: Endpoint,
        to: Endpoint,
        fastest: f64,
    ) -> Result<(f64, String), String> {
        if from == to {
            return Err("within the device: no link".to_owned());
        }
        let path = match (from, to) {
            (Endpoint::Device(a), Endpoint::Device(b)) => Some(self.links.path(a, b)),
            _ => None,
        };
        if path == Some(PathType::Same) {
            return Err("two instances on one device: no link between them".to_owned());
        }
        let goes_direct = pattern.uses_peer_access();
        let beside_pcie = match path {
            Some(PathType::Nv(_)) => Some("NVLink"),
            Some(PathType::Mx) => Some("MetaXLink"),
            Some(PathType::Xgmi) => Some("xGMI"),
            _ => None,
        };
        if let (Some(PathType::Nv(links)), Some(each), true) =
            (path, self.nvlink_gb_per_s, goes_direct)
        {
            let basis = format!("{links} NVLinks of {each:.2} GB/s");
            return Ok((f64::from(links) * each, basis));
        }
        if let (Some(link), true) = (beside_pcie, goes_direct) {
            return Err(format!("{link} between them, whose ceiling is not known"));
        }
        let part = match path {
            Some(PathType::Pix | PathType::Pxb) if goes_direct => Part::Card,
            _ => Part::Chain,
        };
        let pcie = self.smaller([from, to], part);
        // What our own pipeline moves through host memory crosses PCIe for certain.
        if let Ok((ceiling, _)) = &pcie
            && path.is_some()
            && pattern != Pattern::Staged
            && fastest > ceiling * BEYOND_PCIE
        {
            let backend = self
                .links
                .backend
                .as_ref()
                .map(|backend| backend.name.as_str());
            let fabric = FABRICS.iter().find(|(name, _)| Some(*name) == backend);
            let such = fabric.map_or_else(String::new, |(_, fabric)| format!(" such as {fabric}"));
            return Err(format!(
                "faster than PCIe between them can be ({ceiling:.2} GB/s): another link{such} carries it, which is not read yet"
            ));
        }
        match path {
            Some(PathType::Sys) => {
                Err("crosses the socket link, whose ceiling is unknown".to_owned())
            }
            Some(PathType::Unknown) => Err("the path between the devices is unknown".to_owned()),
            Some(PathType::Pxb) if goes_direct => Err(
                "several switches between them, each link's state is not told apart yet".to_owned(),
            ),
            _ => pcie,
        }
    }

    /// The smaller ceiling of the ends in GB/s, and what it rests on.
    fn smaller(&self, ends: [Endpoint; 2], part: Part) -> Result<(f64, String), String> {
        let mut ceiling: Option<(f64, String)> = None;
        for end in ends {
            let Endpoint::Device(position) = end else {
                continue;
            };
            let Some(device) = self.links.devices.get(position) else {
                continue;
            };
            let (carries, basis) = carries(device, self.readings.get(&position), part)?;
            if ceiling.as_ref().is_none_or(|(other, _)| carries < *other) {
                ceiling = Some((carries, basis));
            }
        }
        ceiling.ok_or_else(|| "no link".to_owned())
    }
}

#[cfg(test)]
mod tests;
