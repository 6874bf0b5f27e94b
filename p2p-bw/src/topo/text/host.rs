//! The host: what machine it is, its NUMA nodes, and what drivers say of GPUs beside PCI.

use measure::unit::ByteCount;
use topology::{KfdLinkKind, NumaNode};

use super::page::{ABSENT, Page, or_absent};
use crate::topo::read::Shown;

/// Processor, product, and what a guest cannot show.
pub(super) fn platform(page: &mut Page, shown: &Shown) {
    let (machine, platform) = (&shown.machine, &shown.platform);
    let cpus = machine.cpus.count.map(|count| format!("{count} CPUs"));
    let known = [
        platform.vendor.clone(),
        platform.product.clone(),
        machine.cpus.model.clone(),
        cpus,
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    if !known.is_empty() {
        page.line(&known.join(", "));
    }
    match platform.is_guest {
        Some(true) => page.line("a virtual machine: links and bridges above its devices are the hypervisor's, read them on the host"),
        Some(false) => {}
        None => page.line("whether this is a virtual machine is not known: neither processor nor firmware says it"),
    }
}

/// NUMA nodes with their distances.
pub(crate) fn nodes(page: &mut Page, nodes: &[NumaNode]) {
    page.title("NUMA nodes");
    if nodes.is_empty() {
        page.line("  none shown: one memory for all, or a kernel without NUMA");
        return;
    }
    let ids: Vec<String> = nodes.iter().map(|node| format!("to {}", node.id)).collect();
    let head: Vec<&str> = ["node", "memory", "CPUs"]
        .into_iter()
        .chain(ids.iter().map(String::as_str))
        .collect();
    let row = |node: &NumaNode| {
        let cpus = if node.cpus.is_empty() {
            "none, memory only".to_owned()
        } else {
            node.cpus.to_string()
        };
        let memory = node.memory_bytes.map(ByteCount);
        let distances = nodes
            .iter()
            .map(|other| or_absent(node.distances.get(&other.id)));
        [node.id.to_string(), or_absent(memory), cpus]
            .into_iter()
            .chain(distances)
            .collect()
    };
    page.table(&head, nodes.iter().map(row).collect());
}

/// Links between GPUs as AMD's kernel driver shows them.
pub(super) fn kfd(page: &mut Page, shown: &Shown) {
    let name = |id: u32| {
        let node = shown.kfd.iter().find(|node| node.id == id)?;
        let address = node.address?;
        let end = shown
            .matrix
            .ends
            .iter()
            .find(|end| end.address == Some(address));
        end.map(|end| end.name.clone())
    };
    let mut rows = Vec::new();
    for node in &shown.kfd {
        for link in &node.links {
            if let (Some(from), Some(to)) = (name(node.id), name(link.to)) {
                let kind = match link.kind {
                    KfdLinkKind::Pcie => "PCI Express".to_owned(),
                    KfdLinkKind::Xgmi => "xGMI".to_owned(),
                    KfdLinkKind::Other(number) => format!("type {number}"),
                };
                let rate = link.mb_per_s.map(|rate| format!("{rate} MB/s"));
                rows.push(vec![
                    format!("{from} to {to}"),
                    kind,
                    or_absent(link.weight),
                    or_absent(rate),
                    if link.peer {
                        "peer".to_owned()
                    } else {
                        ABSENT.to_owned()
                    },
                ]);
            }
        }
    }
    if !rows.is_empty() {
        page.title("Links of GPUs as AMD's kernel driver shows them; peer: it lets one reach the other's memory");
        page.table(&["", "link", "weight", "at most", "use"], rows);
    } else if shown
        .kfd
        .iter()
        .filter(|node| node.address.is_some())
        .count()
        > 1
    {
        page.title("AMD's kernel driver shows no link from GPU to GPU: it lets none reach another's memory");
    }
}

/// Divided GPUs.
pub(super) fn mig(page: &mut Page, shown: &Shown) {
    if shown.mig.is_empty() {
        return;
    }
    page.title("GPUs divided by MIG; CUDA gives instances no access to a peer's memory");
    let row = |gpu: &topology::MigGpu| {
        let instances: Vec<String> = gpu
            .instances
            .iter()
            .map(|own| format!("{} ({} compute)", own.id, own.compute_instances))
            .collect();
        vec![
            or_absent(gpu.address),
            gpu.minor.to_string(),
            instances.join(", "),
        ]
    };
    page.table(
        &["address", "minor", "GPU instances"],
        shown.mig.iter().map(row).collect(),
    );
}
