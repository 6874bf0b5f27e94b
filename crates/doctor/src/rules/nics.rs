//! RDMA network cards: links, identifiers, distance, and whether they reach GPU memory.

use topology::vendor::NVIDIA;
use topology::{PathType, PciDevice, PciFunction};

use super::{PROCESS, Silent, Told};
use crate::{Card, Facts, Finding, Gpu, Port, Verdict};

/// The first kernel whose RDMA takes memory by dma-buf.
const DMA_BUF_SINCE: [u32; 2] = [5, 12];

/// The interface's packets that RDMA's largest, of 4096 bytes, fit into with their headers.
const MTU: u32 = 4200;
/// What names devices for transfers of keys and values.
const DEVICES: [&str; 3] = ["UCX_NET_DEVICES", "MOONCAKE_DEVICE", "MC_MS_FILTERS"];
/// What names an identifier's index: NCCL's, UCX's and Mooncake's.
const INDEXES: [&str; 3] = ["NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX", "MC_GID_INDEX"];

/// The cards, of which there is one at least.
fn some(facts: &Facts) -> Result<&[Card], Silent> {
    match facts.nics.told()?.as_slice() {
        [] => Err(Silent::Elsewhere),
        some => Ok(some),
    }
}

pub(super) fn peer_memory(facts: &Facts) -> Told {
    some(facts)?;
    if !facts.has_vendor(NVIDIA) {
        return Err(Silent::Elsewhere);
    }
    let host = &facts.host;
    let loaded = host.peer_modules.told()?.clone();
    if !loaded.is_empty() {
        return Ok(Finding::ok()
            .with("module", loaded)
            .within(&host.peer_modules));
    }
    let (driver, release) = (host.nvidia_module.told()?, host.release.told()?);
    let parts = release.split(['.', '-']);
    let numbers: Vec<u32> = parts.map_while(|part| part.parse().ok()).collect();
    let is_open = driver.contains("Open Kernel Module");
    let has_dma_buf = is_open && numbers.as_slice() >= DMA_BUF_SINCE.as_slice();
    let finding = Finding::warn_if(!has_dma_buf)
        .with("module", loaded)
        .with("kernel", release.as_str())
        .with("open NVIDIA module", is_open);
    Ok(finding.within(&host.peer_modules))
}

pub(super) fn link(_: &Facts, _: &Card, port: &Port) -> Told {
    let port = &port.rdma;
    let is_active = port.is_active().ok_or("its state is not shown")?;
    let wire = port.physical.as_deref().filter(|_| !is_active);
    Ok(Finding::warn_if(!is_active)
        .with("state", port.state.as_deref().unwrap_or_default())
        .with_some("wire", wire))
}

/// InfiniBand has no such index.
pub(super) fn gid(facts: &Facts, _: &Card, port: &Port) -> Told {
    let port = &port.rdma;
    match port.link_layer.as_deref() {
        None => return Err("its link layer is not shown".into()),
        Some("Ethernet") => {}
        Some(_) => return Err(Silent::Elsewhere),
    }
    if port.gids.is_empty() {
        return Err("its identifiers are not shown".into());
    }
    let second = port.gids.iter().filter(|gid| gid.kind == "RoCE v2");
    let second: Vec<String> = second.map(|gid| gid.index.to_string()).collect();
    // -1 and `auto` let the library choose.
    let wanted = INDEXES.map(|name| {
        facts
            .value(name)
            .filter(|index| !["-1", "auto"].contains(index))
    });
    let fits = |wanted: &str| second.iter().any(|known| known == wanted);
    let is_amiss = second.is_empty() || !wanted.into_iter().flatten().all(fits);
    let finding = Finding::warn_if(is_amiss).with("RoCE v2 indexes", second);
    let wanted = INDEXES.into_iter().zip(wanted);
    Ok(wanted.fold(finding, |finding, (name, index)| {
        finding.with_some(name, index)
    }))
}

/// A card's link does not idle as a GPU's does: its rate counts, too.
pub(super) fn slot(_: &Facts, card: &Card, port: &Port) -> Told {
    if card.nic.is_virtual || port.rdma.is_active() == Some(false) {
        return Err(Silent::Elsewhere);
    }
    let link = card.link.told()?;
    let (current, best) = (link.current, link.maximum.unwrap_or(link.current));
    let rate = port
        .gbit_per_s()
        .ok_or("the rate of the port is not shown")?;
    let carried = current.raw_gb_per_s() * 8.0;
    let verdict = match current.width() < best.width() {
        true => Verdict::Bad,
        false if carried < rate => Verdict::Warn,
        false => Verdict::Ok,
    };
    Ok(Finding::of(verdict)
        .with("link", current.to_string())
        .with("both ends can do", best.to_string())
        .with("carries Gbit/s", format!("{carried:.0}"))
        .with("port Gbit/s", format!("{rate:.0}"))
        .with("at", link.ends.lower.to_string()))
}

/// Of InfiniBand no file shows it.
pub(super) fn mtu(_: &Facts, card: &Card, port: &Port) -> Told {
    if port.rdma.link_layer.as_deref() != Some("Ethernet") {
        return Err(Silent::Elsewhere);
    }
    let least = card.mtu_bytes.ok_or("its interface shows no MTU")?;
    Ok(Finding::warn_if(least < MTU).with("MTU", u64::from(least)))
}

pub(super) fn errors(_: &Facts, _: &Card, port: &Port) -> Told {
    if port.errors.is_empty() {
        return Err("no error counters are shown".into());
    }
    let counted = port.errors.iter().filter(|(_, count)| **count > 0);
    let finding = Finding::warn_if(counted.clone().count() > 0);
    let finding = finding.with("counters", port.errors.len());
    Ok(counted.fold(finding, |finding, (name, count)| finding.with(name, *count)))
}

/// The card that is nearest to a GPU, with the path to it. Classes are ordered nearest first, and `Unknown` last. One without a link is
/// nobody's.
fn nearest<'a>(facts: &'a Facts, gpu: &Gpu) -> Result<(PathType, &'a Card), Silent> {
    let is_down = |port: &Port| port.rdma.is_active() == Some(false);
    let has_link = |card: &&Card| card.ports.is_empty() || !card.ports.iter().all(is_down);
    let mut cards = some(facts)?.iter().filter(has_link).peekable();
    cards.peek().ok_or(Silent::Elsewhere)?;
    let pci = gpu.pci.as_ref();
    let pci = pci.ok_or("the kernel does not show where this GPU is")?;
    let paths = cards.map(|card| (pci.path_to(&card.nic.pci), card));
    let nearest = paths.min_by_key(|(path, card)| (*path, card.label()));
    let nearest = nearest.filter(|(path, _)| *path != PathType::Unknown);
    nearest.ok_or_else(|| "the node of the GPU or of every network card is not shown".into())
}

pub(super) fn distance(facts: &Facts, gpu: &Gpu) -> Told {
    let (path, card) = nearest(facts, gpu)?;
    Ok(Finding::warn_if(path == PathType::Sys)
        .with("nearest", card.label())
        .with("path", path.to_string()))
}

/// Between a GPU and the card below the same switch. Farther ones meet at the root complex whatever is set.
pub(super) fn acs(facts: &Facts, gpu: &Gpu) -> Told {
    let (path, card) = nearest(facts, gpu)?;
    if path > PathType::Pxb {
        return Err(Silent::Elsewhere);
    }
    let is_of = |ports: &[PciFunction], port: &PciFunction| ports.contains(port);
    let own = gpu.ports.iter().filter(|port| !is_of(&card.bridges, port));
    let others = card.bridges.iter().filter(|port| !is_of(&gpu.ports, port));
    let between: Vec<&PciFunction> = own.chain(others).collect();
    let at = between.iter().filter(|port| port.redirects() == Some(true));
    let at: Vec<String> = at.map(|port| port.pci.address.to_string()).collect();
    if !at.is_empty() {
        let finding = Finding::of(Verdict::Bad).with("network card", card.label());
        return Ok(finding.with("redirects at", at));
    }
    let mut controls = between.iter().filter_map(|port| port.acs.as_ref());
    match controls.find_map(|control| control.told().err()) {
        Some(why) => Err(why.into()),
        None => Ok(Finding::ok()
            .with("network card", card.label())
            .with("path", path.to_string())),
    }
}

/// Where there is a card for each GPU: whether each GPU has one of its own below the same switches. Below one port all are near to all,
/// so that any free one will do.
pub(super) fn pairing(facts: &Facts) -> Told {
    let rate = |card: &Card| {
        let ports = card.ports.iter();
        let active = ports.filter(|port| port.rdma.is_active() == Some(true));
        active.filter_map(Port::gbit_per_s).reduce(f64::max)
    };
    let cards = some(facts)?.iter().filter(|card| !card.nic.is_virtual);
    let rated = cards.filter_map(|card| Some((rate(card)?, card)));
    let rated: Vec<(f64, &Card)> = rated.collect();
    // Slower ones are for other things.
    let fastest = rated.iter().map(|(rate, _)| *rate).fold(0.0, f64::max);
    let fast = rated.into_iter().filter(|(rate, _)| *rate >= fastest);
    let mut free: Vec<&Card> = fast.map(|(_, card)| card).collect();
    let gpus: Vec<&PciDevice> = facts
        .gpus
        .iter()
        .filter_map(|gpu| gpu.pci.as_ref())
        .collect();
    if facts.gpus.len() < 2 || free.len() < facts.gpus.len() {
        return Err(Silent::Elsewhere);
    }
    if gpus.len() < facts.gpus.len() {
        return Err("the kernel does not show where every GPU is".into());
    }
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for (gpu, pci) in facts.gpus.iter().zip(gpus) {
        let paths = free.iter().enumerate();
        let paths = paths.map(|(place, card)| (pci.path_to(&card.nic.pci), place));
        match paths.min().filter(|(path, _)| *path <= PathType::Pxb) {
            Some((path, place)) => {
                let card = free.remove(place).label();
                pairs.push(format!("{} {card} {path}", gpu.device.label));
            }
            None => alone.push(gpu.device.label.clone()),
        }
    }
    Ok(Finding::warn_if(!alone.is_empty())
        .with("pairs", pairs)
        .with("without a card of its own", alone))
}

/// What UCX, which NIXL uses, and Mooncake take their devices from. SGLang is given them by `--disaggregation-ib-device` and vLLM by
/// `device_name`, which no variable shows.
pub(super) fn transfer_devices(facts: &Facts) -> Vec<Finding> {
    let Ok(cards) = some(facts) else {
        return Vec::new();
    };
    if let Err(why) = facts.given.variables.told() {
        return vec![Finding::unknown(why).about(PROCESS)];
    }
    let devices = cards.iter().flat_map(|card| &card.nic.rdma);
    let active = devices.filter(|device| {
        let mut ports = device.ports.iter();
        ports.any(|port| port.is_active() != Some(false))
    });
    let active: Vec<String> = active.map(|device| device.name.clone()).collect();
    let is_usable = |name: &&str| {
        let name = name.split(':').next().unwrap_or_default();
        name == "all" || name.contains(['*', '[', '{', '/']) || active.iter().any(|of| of == name)
    };
    let mut findings = Vec::new();
    for name in DEVICES {
        // What is excluded names none.
        let value = facts.value(name).filter(|value| !value.starts_with('^'));
        let lost = value.into_iter().flat_map(|value| value.split(','));
        let lost: Vec<String> = lost
            .filter(|name| !is_usable(name))
            .map(str::to_owned)
            .collect();
        if let Some(value) = value {
            let verdict = if lost.is_empty() {
                Verdict::Ok
            } else {
                Verdict::Bad
            };
            let finding = Finding::of(verdict).about(name).with("set", value);
            findings.push(finding.with("no active RDMA device", lost));
        }
    }
    if let Some(value) = facts.value("UCX_TLS") {
        let lacks = |some: [&str; 5]| {
            let mut names = value.split(',');
            !value.starts_with('^') && !names.any(|name| some.iter().any(|of| name.starts_with(of)))
        };
        let rdma = lacks(["all", "rc", "dc", "ud", "ib"]);
        let memory = lacks(["all", "cuda", "rocm", "gdr_copy", "ze"]);
        let finding = Finding::warn_if(rdma || memory).about("UCX_TLS");
        let finding = finding.with("set", value).with("lets RDMA", !rdma);
        findings.push(finding.with("lets GPU memory", !memory));
    }
    let of_nccl = facts.value("NCCL_IB_HCA");
    let is_bound = DEVICES
        .iter()
        .any(|name| facts.value(name).is_some_and(|value| value != "all"));
    if !is_bound || findings.is_empty() {
        let finding = Finding::warn_if(of_nccl.is_some()).about(PROCESS);
        let finding = finding.with_some("NCCL_IB_HCA", of_nccl);
        findings.push(finding.with("active", active));
    }
    findings
}
