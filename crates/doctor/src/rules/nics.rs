//! RDMA network cards: links, identifiers, distance, and whether they reach GPU memory.

use topology::vendor::NVIDIA;
use topology::{PathType, RdmaPort};

use super::{of_fact, of_file, of_gpus};
use crate::{Facts, Finding};

/// The first kernel whose RDMA takes memory by dma-buf.
const DMA_BUF_SINCE: [u32; 2] = [5, 12];

/// Whether there is no RDMA card, or it is not known which there are.
fn has_none(facts: &Facts) -> Option<Vec<Finding>> {
    match facts.nics.value.known() {
        None => Some(vec![of_file(&facts.nics, |_| Finding::ok())]),
        Some(nics) => nics.is_empty().then(Vec::new),
    }
}

pub(super) fn peer_memory(facts: &Facts) -> Vec<Finding> {
    if let Some(findings) = has_none(facts) {
        return findings;
    }
    if !facts.has_vendor(NVIDIA) {
        return Vec::new();
    }
    vec![of_file(&facts.host.peer_modules, |loaded| {
        if !loaded.is_empty() {
            return Finding::ok().with("module", loaded.clone());
        }
        of_fact(&facts.host.nvidia_module.value, |driver| {
            of_fact(&facts.host.release.value, |release| {
                let parts = release.split(['.', '-']);
                let numbers: Vec<u32> = parts.map_while(|part| part.parse().ok()).collect();
                let is_open = driver.contains("Open Kernel Module");
                let has_dma_buf = is_open && numbers.as_slice() >= DMA_BUF_SINCE.as_slice();
                Finding::warn_if(!has_dma_buf)
                    .with("module", loaded.clone())
                    .with("kernel", release.as_str())
                    .with("open NVIDIA module", is_open)
            })
        })
    })]
}

/// A finding for each port of each card.
fn of_ports(facts: &Facts, judge: impl Fn(&RdmaPort) -> Option<Finding>) -> Vec<Finding> {
    if let Some(findings) = has_none(facts) {
        return findings;
    }
    let nics = facts.nics.value.known().into_iter().flatten();
    nics.flat_map(|nic| &nic.rdma)
        .flat_map(|device| device.ports.iter().map(move |port| (device, port)))
        .filter_map(|(device, port)| {
            Some(judge(port)?.about(format!("{} port {}", device.name, port.number)))
        })
        .collect()
}

pub(super) fn link(facts: &Facts) -> Vec<Finding> {
    of_ports(facts, |port| {
        let Some(is_active) = port.is_active() else {
            return Some(Finding::unknown("its state is not shown"));
        };
        let finding = Finding::warn_if(!is_active);
        let finding = finding.with("state", port.state.as_deref().unwrap_or_default());
        Some(match &port.physical {
            Some(wire) if !is_active => finding.with("wire", wire.as_str()),
            _ => finding,
        })
    })
}

/// InfiniBand has no such index.
pub(super) fn gid(facts: &Facts) -> Vec<Finding> {
    const INDEX: &str = "NCCL_IB_GID_INDEX";
    let variable = facts
        .variable(INDEX)
        .map(|variable| variable.value.as_str());
    // NCCL's own default is -1, which lets it choose.
    let wanted = variable.filter(|index| *index != "-1");
    of_ports(facts, |port| {
        match port.link_layer.as_deref() {
            None => return Some(Finding::unknown("its link layer is not shown")),
            Some("Ethernet") => {}
            Some(_) => return None,
        }
        if port.gids.is_empty() {
            return Some(Finding::unknown("its identifiers are not shown"));
        }
        let second = port.gids.iter().filter(|gid| gid.kind == "RoCE v2");
        let second: Vec<String> = second.map(|gid| gid.index.to_string()).collect();
        let fits = |index: &str| second.iter().any(|known| known == index);
        let finding = Finding::warn_if(second.is_empty() || !wanted.is_none_or(fits));
        let finding = finding.with("RoCE v2 indexes", second.clone());
        Some(match wanted {
            Some(index) => finding.with(INDEX, index),
            None => finding,
        })
    })
}

pub(super) fn distance(facts: &Facts) -> Vec<Finding> {
    if let Some(findings) = has_none(facts) {
        return findings;
    }
    of_gpus(facts, |gpu| {
        let Some(device) = gpu.address.and_then(|address| facts.machine.gpu(address)) else {
            return Finding::unknown("the kernel does not show where this GPU is");
        };
        let nics = facts.nics.value.known().into_iter().flatten();
        // Classes are ordered nearest first, and `Unknown` last.
        let nearest = nics.map(|nic| (device.path_to(&nic.pci), nic.label().unwrap_or_default()));
        match nearest.min() {
            Some((PathType::Unknown, _)) | None => {
                Finding::unknown("the node of the GPU or of every network card is not shown")
            }
            Some((path, name)) => Finding::warn_if(path == PathType::Sys)
                .with("nearest", name)
                .with("path", path.to_string()),
        }
    })
}
