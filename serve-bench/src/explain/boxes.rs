//! What is known of a box: by a record of tplens p2p, or by the file that describes it. It reads no file itself.

use ::explain::{KnownBox, Peak};
use boxfile::BoxFile;
use record::Links;
use tp_plan::{Surroundings, Vendor};

use crate::predict::links::all_by_fabric;

/// What a record of tplens p2p says of its box.
pub(crate) fn measured(
    links: &Links,
    tp: u32,
    name: Option<String>,
    of: String,
    origin: String,
) -> Result<(Surroundings, KnownBox), String> {
    // The engine runs on the first devices of the list.
    let used = (tp as usize).min(links.devices.len());
    let devices = &links.devices[..used];
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let peers: Vec<_> = links
        .probes
        .iter()
        .filter(|probe| probe.from < used && probe.to < used)
        .map(|probe| probe.verdict)
        .collect();
    let mig = devices.iter().any(|device| device.mig.is_some());
    let access = (!peers.is_empty()).then(|| {
        peers
            .iter()
            .all(|peer| *peer == record::PeerVerdict::Direct)
    });
    let memory = devices
        .iter()
        .filter_map(|device| device.memory_bytes)
        .min();
    let backend = links.backend.as_ref();
    let backend =
        backend.ok_or_else(|| format!("{origin}: it does not say whose driver it is of"))?;
    let vendor = Vendor::of(&backend.name);
    let known = KnownBox {
        name,
        gpu: names.first().map(|name| (*name).to_owned()),
        mig,
        guest: links
            .machine
            .as_ref()
            .and_then(|machine| machine.hypervisor),
        peers,
        links_of: Some(of),
        origins: vec![origin],
    };
    let mut around = Surroundings::of_gpus(vendor, &names, memory, mig, access);
    around.full_nvlink = all_by_fabric(links, used);
    Ok((around, known))
}

/// What a box file says of its box, the first `ranks` devices being used.
pub(crate) fn of_file(described: &BoxFile, ranks: u32) -> Result<(Surroundings, KnownBox), String> {
    let around =
        ::engine::surroundings(described, ranks).map_err(|error| format!("--box: {error}"))?;
    let known = KnownBox {
        name: Some(described.name.clone()),
        gpu: described.device.first().map(|device| device.name.clone()),
        mig: described.device.iter().any(|device| !device.mig.is_empty()),
        guest: Some(described.guest),
        peers: Vec::new(),
        links_of: None,
        origins: vec![format!("box file {}: {}", described.name, described.title)],
    };
    Ok((around, known))
}

/// What is known of a machine of which only the GPUs' name is given.
///
/// # Errors
/// No GPU of that name is known; in words.
pub(super) fn of_gpu(name: &str) -> Result<(Surroundings, KnownBox), String> {
    let peak = Peak::of(name).ok_or_else(|| {
        format!("--gpu: {name:?} is not known; give --box FILE that describes it")
    })?;
    let vendor = match ["mi300x", "r9700"].contains(&peak.gpu.as_str()) {
        true => Vendor::Amd,
        false => Vendor::Nvidia,
    };
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
