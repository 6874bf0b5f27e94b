//! RDMA network cards: links, identifiers, distance, and whether they reach GPU memory.

use topology::vendor::NVIDIA;
use topology::{Nic, PathType, RdmaPort};

use super::MACHINE;
use crate::{Facts, Finding};

/// The first kernel whose RDMA takes memory by dma-buf.
const DMA_BUF_SINCE: [u32; 2] = [5, 12];

/// The cards, or the finding that they are not known.
fn nics(facts: &Facts) -> Result<&[Nic], Vec<Finding>> {
    let told = facts.nics.told();
    told.map(Vec::as_slice)
        .map_err(|why| vec![Finding::cannot_tell(MACHINE, why)])
}

pub(super) fn peer_memory(facts: &Facts) -> Vec<Finding> {
    let nics = match nics(facts) {
        Ok(nics) => nics,
        Err(findings) => return findings,
    };
    if nics.is_empty() || !facts.has_vendor(NVIDIA) {
        return Vec::new();
    }
    let modules = &facts.host.peer_modules;
    match modules.told() {
        Ok(loaded) if !loaded.is_empty() => {
            return vec![Finding::ok(
                MACHINE,
                format!("{}: {}", modules.source, loaded.join(", ")),
            )];
        }
        Ok(_) => {}
        Err(why) => return vec![Finding::cannot_tell(MACHINE, why)],
    }
    let todo = "modprobe nvidia_peermem as root, or use NVIDIA's open kernel modules on Linux 5.12 or newer";
    let (driver, release) = (facts.host.nvidia_module.told(), facts.host.release.told());
    let (driver, release) = match (driver, release) {
        (Ok(driver), Ok(release)) => (driver, release),
        (Err(why), _) | (_, Err(why)) => {
            return vec![
                Finding::cannot_tell(MACHINE, format!("nvidia_peermem is not loaded, and {why}"))
                    .with_todo(todo),
            ];
        }
    };
    let numbers: Vec<u32> = release
        .split(['.', '-'])
        .map_while(|part| part.parse().ok())
        .collect();
    let is_open = driver.contains("Open Kernel Module");
    let seen = format!(
        "nvidia_peermem is not loaded; the kernel is {release}, its NVIDIA module is {}",
        if is_open {
            "the open one"
        } else {
            "not the open one"
        }
    );
    vec![
        if is_open && numbers.as_slice() >= DMA_BUF_SINCE.as_slice() {
            Finding::ok(MACHINE, format!("{seen}: dma-buf is there"))
        } else {
            Finding::warn(MACHINE, seen, todo)
        },
    ]
}

/// A finding for each port of each card.
fn of_ports(facts: &Facts, judge: impl Fn(String, &RdmaPort) -> Option<Finding>) -> Vec<Finding> {
    match nics(facts) {
        Err(findings) => findings,
        Ok(nics) => nics
            .iter()
            .flat_map(|nic| &nic.rdma)
            .flat_map(|device| device.ports.iter().map(move |port| (device, port)))
            .filter_map(|(device, port)| {
                judge(format!("{} port {}", device.name, port.number), port)
            })
            .collect(),
    }
}

pub(super) fn link(facts: &Facts) -> Vec<Finding> {
    of_ports(facts, |subject, port| {
        let state = port.state.as_deref().unwrap_or_default();
        Some(match port.is_active() {
            None => Finding::cannot_tell(subject, "its state is not shown"),
            Some(true) => Finding::ok(subject, format!("its state is {state}")),
            Some(false) => Finding::warn(
                subject,
                format!(
                    "its state is {state}, its wire {}",
                    port.physical.as_deref().unwrap_or("not shown")
                ),
                "connect it, or leave it out: NCCL_IB_HCA with the names of the others",
            ),
        })
    })
}

pub(super) fn gid(facts: &Facts) -> Vec<Finding> {
    let asked = facts
        .variable("NCCL_IB_GID_INDEX")
        .map(|variable| variable.value.clone())
        // NCCL's own default, which lets it choose.
        .filter(|index| index != "-1");
    of_ports(facts, |subject, port| {
        match port.link_layer.as_deref() {
            None => return Some(Finding::cannot_tell(subject, "its link layer is not shown")),
            Some("Ethernet") => {}
            // InfiniBand has no such index.
            Some(_) => return None,
        }
        if port.gids.is_empty() {
            return Some(Finding::cannot_tell(
                subject,
                "its identifiers are not shown",
            ));
        }
        let second: Vec<String> = port
            .gids
            .iter()
            .filter(|gid| gid.kind == "RoCE v2")
            .map(|gid| gid.index.to_string())
            .collect();
        let list = second.join(", ");
        if second.is_empty() {
            return Some(Finding::warn(
                subject,
                "no identifier is of RoCE v2",
                "give the port an IP address, and see that its firmware does RoCE v2 (cma_roce_mode)",
            ));
        }
        Some(match &asked {
            Some(index) if !second.contains(index) => Finding::warn(
                subject,
                format!("NCCL_IB_GID_INDEX={index}, and RoCE v2 has {list}"),
                format!("unset NCCL_IB_GID_INDEX, or set it to one of {list}"),
            ),
            Some(index) => Finding::ok(subject, format!("NCCL_IB_GID_INDEX={index} is of RoCE v2")),
            None => Finding::ok(subject, format!("RoCE v2 has the indexes {list}")),
        })
    })
}

pub(super) fn distance(facts: &Facts) -> Vec<Finding> {
    let nics = match nics(facts) {
        Ok(nics) => nics,
        Err(findings) => return findings,
    };
    if nics.is_empty() {
        return Vec::new();
    }
    let of = |gpu: &crate::Gpu| {
        let Some(device) = gpu.address.and_then(|address| facts.machine.gpu(address)) else {
            return Finding::cannot_tell(&gpu.label, "the kernel does not show where this GPU is");
        };
        // Classes are ordered nearest first, and `Unknown` last.
        let nearest = nics
            .iter()
            .map(|nic| (device.path_to(&nic.pci), nic.label().unwrap_or_default()))
            .min();
        match nearest {
            Some((PathType::Unknown, _)) | None => Finding::cannot_tell(
                &gpu.label,
                "the NUMA node of the GPU or of every network card is not shown",
            ),
            Some((PathType::Sys, name)) => Finding::warn(
                &gpu.label,
                format!("its nearest network card is {name}, on another NUMA node"),
                "move a card to the GPU's node, or let ranks of this GPU's node talk to other hosts through host memory",
            ),
            Some((path, name)) => Finding::ok(
                &gpu.label,
                format!("its nearest network card is {name}, {path}"),
            ),
        }
    };
    facts.gpus.iter().map(of).collect()
}
