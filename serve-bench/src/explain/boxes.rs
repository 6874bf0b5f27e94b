//! What is known of a box: by a record of tplens p2p, by the file that describes it, or by the name of its GPUs.

use ::explain::{KnownBox, Link, Peak, Seen, copy_rate};
use boxfile::BoxFile;
use record::{Links, Payload, PeerVerdict, load};
use topology::{PathType, PcieLink};
use tp_plan::{Surroundings, Vendor};

use super::case::CaseArgs;

/// Copies between two devices by the copy engine, the direct ones first.
const COPIES: [&str; 3] = ["d2d_write_ce", "d2d_read_ce", "d2d_staged_ce"];

/// A machine: as it was measured, else as it is described, else as its GPUs' name says, else unknown.
pub(super) struct Machine {
    pub(super) around: Surroundings,
    pub(super) known: KnownBox,
    /// The slowest link between the GPUs that are used.
    pub(super) link: Option<Link>,
    /// The file that describes it.
    pub(super) described: Option<BoxFile>,
}

impl Machine {
    /// So many GPUs of the machine that was named, with what was seen of their links; without a name `on_cpus` tells whether an
    /// engine ran on CPUs.
    pub(super) fn of(
        case: &CaseArgs,
        ranks: u32,
        on_cpus: bool,
        seen: &mut Seen,
    ) -> Result<Self, String> {
        let described = case.described()?;
        let first = ranks as usize;
        let mut link = None;
        let (around, known) = if let Some(file) = &case.links {
            let record = load(file).map_err(|error| error.to_string())?;
            let origin = file.display().to_string();
            let soft = record.header.simulated.as_ref();
            let soft = soft.map(|soft| soft.box_name.clone());
            let of = record.soft_box().unwrap_or_else(|| "measured".to_owned());
            let kind = record.payload.kind();
            let Payload::Links(links) = record.payload else {
                return Err(format!(
                    "--links {origin}: this holds {kind}, not links of tplens p2p"
                ));
            };
            link = measured_link(&links, first, &origin);
            let name = described.as_ref().map(|described| described.name.clone());
            let found = measured(&links, ranks, name.or(soft), of, origin)?;
            let environment = record.header.provenance.environment;
            seen.variables.extend(environment);
            seen.links = Some(*links);
            found
        } else if let Some(described) = &described {
            link = described_link(described, first);
            of_file(described, ranks)?
        } else if let Some(gpu) = &case.gpu {
            of_gpu(gpu)?
        } else {
            let vendor = [Vendor::Nvidia, Vendor::Host][usize::from(on_cpus)];
            let around = Surroundings::of_gpus(vendor, &[], None, false, None);
            (around, KnownBox::default())
        };
        let slots = described.iter().flat_map(|of| of.device.iter().take(first));
        let slots = slots.filter_map(|device| device.link);
        let slots = slots.filter_map(|link| PcieLink::new(link.generation, link.width).ok());
        // The slowest slot of the GPUs that are used.
        seen.described_link = slots.reduce(PcieLink::slower);
        Ok(Self {
            around,
            known,
            link,
            described,
        })
    }
}

/// What a record of tplens p2p says of its box.
pub(crate) fn measured(
    links: &Links,
    tp: u32,
    name: Option<String>,
    of: String,
    origin: String,
) -> Result<(Surroundings, KnownBox), String> {
    let Some(backend) = &links.backend else {
        return Err(format!("{origin}: it does not say whose driver it is of"));
    };
    // The engine runs on the first devices of the list.
    let used = (tp as usize).min(links.devices.len());
    let devices = &links.devices[..used];
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let probes = links.probes.iter();
    let probes = probes.filter(|probe| probe.from < used && probe.to < used);
    let peers: Vec<PeerVerdict> = probes.map(|probe| probe.verdict).collect();
    let is_direct = |peer: &PeerVerdict| *peer == PeerVerdict::Direct;
    let access = (!peers.is_empty()).then(|| peers.iter().all(is_direct));
    let mig = devices.iter().any(|device| device.mig.is_some());
    let memory = devices.iter().filter_map(|device| device.memory_bytes);
    let vendor = Vendor::of(&backend.name);
    let mut around = Surroundings::of_gpus(vendor, &names, memory.min(), mig, access);
    around.full_nvlink = all_by_fabric(links, used);
    let machine = links.machine.as_ref();
    let known = KnownBox {
        name,
        gpu: names.first().map(|name| (*name).to_owned()),
        mig,
        guest: machine.and_then(|machine| machine.hypervisor),
        peers,
        links_of: Some(of),
        origins: vec![origin],
    };
    Ok((around, known))
}

/// What a box file says of its box, the first `ranks` devices being used.
fn of_file(described: &BoxFile, ranks: u32) -> Result<(Surroundings, KnownBox), String> {
    let around = ::engine::surroundings(described, ranks);
    let known = KnownBox {
        name: Some(described.name.clone()),
        gpu: described.device.first().map(|device| device.name.clone()),
        mig: described.device.iter().any(|device| !device.mig.is_empty()),
        guest: Some(described.guest),
        origins: vec![format!("box file {}: {}", described.name, described.title)],
        ..KnownBox::default()
    };
    let around = around.map_err(|error| format!("--box: {error}"))?;
    Ok((around, known))
}

/// What is known of a machine of which only the GPUs' name is given.
///
/// # Errors
/// No GPU of that name is known; in words.
fn of_gpu(name: &str) -> Result<(Surroundings, KnownBox), String> {
    let peak = Peak::of(name).ok_or_else(|| {
        format!("--gpu: {name:?} is not known; give --box FILE that describes it")
    })?;
    let is_amd = ["mi300x", "r9700"].contains(&peak.gpu.as_str());
    let vendor = [Vendor::Nvidia, Vendor::Amd][usize::from(is_amd)];
    let memory = Some(peak.memory_gib << 30);
    let peers = peak.fabric.then_some(true);
    let mut around = Surroundings::of_gpus(vendor, &[name], memory, false, peers);
    around.full_nvlink = peak.fabric;
    let known = KnownBox {
        gpu: Some(name.to_owned()),
        origins: vec![format!("--gpu {name}")],
        ..KnownBox::default()
    };
    Ok((around, known))
}

/// The slowest link between the first devices of a described box.
fn described_link(described: &BoxFile, ranks: usize) -> Option<Link> {
    let pairs = (0..ranks).flat_map(|a| (0..a).map(move |b| (a, b)));
    let paths: Vec<_> = pairs.map(|(a, b)| described.peer_path(a, b)).collect();
    let rates: Option<Vec<f64>> = paths.iter().map(|path| path.gbps).collect();
    let fabric = paths.iter().all(|path| path.fabric);
    slowest(rates?, fabric, format!("box file {}", described.name))
}

/// The slowest link between the first devices of a record: of each pair the fastest copy, direct where there is one.
fn measured_link(links: &Links, ranks: usize, source: &str) -> Option<Link> {
    let used = ranks.min(links.devices.len());
    let pairs = (0..used).flat_map(|from| (0..used).map(move |to| (from, to)));
    let pairs = pairs.filter(|(from, to)| from != to);
    let rates: Option<Vec<f64>> = pairs.map(|(from, to)| copied(links, from, to)).collect();
    slowest(rates?, all_by_fabric(links, used), source.to_owned())
}

fn slowest(rates: Vec<f64>, fabric: bool, source: String) -> Option<Link> {
    Some(Link {
        gbps: rates.into_iter().reduce(f64::min)?,
        fabric,
        source,
    })
}

/// Whether each of the first `used` devices reaches each other one over NVLink or another fabric of the GPUs' own: by its path, or
/// because copies are faster than the PCIe links of the two could be.
fn all_by_fabric(links: &Links, used: usize) -> bool {
    let raw = |index: usize| {
        let of = links.devices.get(index)?.loaded.as_ref()?;
        let all = [of.device, of.slot, of.card, of.slot_maximum];
        let raw = all.into_iter().flatten().map(PcieLink::raw_gb_per_s);
        raw.reduce(f64::max)
    };
    let is_faster = |a: usize, b: usize| {
        let (there, back) = (copied(links, a, b)?, copied(links, b, a)?);
        Some(there.min(back) > raw(a)?.max(raw(b)?))
    };
    let mut pairs = (0..used).flat_map(|a| (0..a).map(move |b| (a, b)));
    used > 1
        && pairs.all(|(a, b)| match links.path(a, b) {
            PathType::Nv(_) | PathType::Mx | PathType::Xgmi => true,
            _ => is_faster(a, b).unwrap_or(false),
        })
}

/// GB/s of the fastest way of copies between two devices that was measured, the direct ones first.
fn copied(links: &Links, from: usize, to: usize) -> Option<f64> {
    let mut rates = COPIES.iter().map(|case| copy_rate(links, case, from, to));
    rates.find_map(|rate| rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two devices at Gen5 x16 with a copy of so many GB/s each way.
    fn two(gbps: f64) -> Links {
        let link = serde_json::json!({"generation": 5, "width": 16});
        let loaded = serde_json::json!({
            "device": link, "slot": link, "card": link, "slot_maximum": link, "readings": 2, "narrowed_to": null,
            "unreadable": null,
        });
        let device = |n: u32| {
            serde_json::json!({
                "label": format!("GPU{n}"), "ordinal": n, "name": "NVIDIA H200", "uuid": null, "address": null, "node": 0,
                "memory_bytes": null, "mig": null, "idle": null, "loaded": loaded, "max_payload_bytes": null, "busy": null,
            })
        };
        let point = |from: u32, to: u32| {
            let quantity = serde_json::json!({
                "value": gbps, "unit": "GB/s", "n": 1, "interval": null,
                "timing": {"source": "virtual_clock", "gate": "spin_kernel", "copies_per_sample": 4, "warmup_copies": 3},
                "stopped": "max_samples", "samples": [gbps], "outliers": [],
            });
            serde_json::json!({
                "case": "d2d_write_ce", "from": {"device": from}, "to": {"device": to}, "bytes": 1 << 24,
                "outcome": {
                    "is": "measured", "quantities": [{"name": "bandwidth", "quantity": quantity}],
                    "verification": {"is": "passed"}, "placement": null,
                    "link": {"path": "PIX", "ceiling_gb_per_s": null, "fraction": {}, "basis": "a test"},
                },
                "caveats": [],
            })
        };
        let links = serde_json::json!({
            "machine": null, "backend": null, "devices": [device(0), device(1)],
            "paths": [{"a": 0, "b": 1, "path": "PIX"}], "pending": [], "probes": [], "points": [point(0, 1), point(1, 0)],
            "caveats": [],
        });
        serde_json::from_value(links).unwrap()
    }

    #[test]
    fn copies_that_no_pcie_link_could_carry_are_a_fabrics() {
        // Gen5 x16: 16 lanes of 32 GT/s, 128 of 130 bits: 63.0 GB/s.
        assert!(all_by_fabric(&two(354.0), 2));
        assert!(!all_by_fabric(&two(55.0), 2));
        // One device has no pair.
        assert!(!all_by_fabric(&two(354.0), 1));
    }
}
