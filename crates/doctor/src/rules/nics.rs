//! RDMA network cards: links, identifiers, distance, and whether they reach GPU memory.

use topology::vendor::NVIDIA;
use topology::{Nic, PathType, RdmaPort};

use super::{Silent, Told};
use crate::{Facts, Finding, Gpu};

/// The first kernel whose RDMA takes memory by dma-buf.
const DMA_BUF_SINCE: [u32; 2] = [5, 12];

/// The cards, of which there is one at least.
fn some(facts: &Facts) -> Result<&[Nic], Silent> {
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

pub(super) fn link(_: &Facts, port: &RdmaPort) -> Told {
    let is_active = port.is_active().ok_or("its state is not shown")?;
    let wire = port.physical.as_deref().filter(|_| !is_active);
    Ok(Finding::warn_if(!is_active)
        .with("state", port.state.as_deref().unwrap_or_default())
        .with_some("wire", wire))
}

/// InfiniBand has no such index.
pub(super) fn gid(facts: &Facts, port: &RdmaPort) -> Told {
    const INDEX: &str = "NCCL_IB_GID_INDEX";
    match port.link_layer.as_deref() {
        None => return Err("its link layer is not shown".into()),
        Some("Ethernet") => {}
        Some(_) => return Err(Silent::Elsewhere),
    }
    if port.gids.is_empty() {
        return Err("its identifiers are not shown".into());
    }
    // NCCL's own default is -1, which lets it choose.
    let wanted = facts.value(INDEX).filter(|index| *index != "-1");
    let second = port.gids.iter().filter(|gid| gid.kind == "RoCE v2");
    let second: Vec<String> = second.map(|gid| gid.index.to_string()).collect();
    let fits = wanted.is_none_or(|wanted| second.iter().any(|known| known == wanted));
    Ok(Finding::warn_if(second.is_empty() || !fits)
        .with("RoCE v2 indexes", second)
        .with_some(INDEX, wanted))
}

pub(super) fn distance(facts: &Facts, gpu: &Gpu) -> Told {
    let nics = some(facts)?.iter();
    let pci = gpu.pci.as_ref();
    let pci = pci.ok_or("the kernel does not show where this GPU is")?;
    // Classes are ordered nearest first, and `Unknown` last.
    let nearest = nics.map(|nic| (pci.path_to(&nic.pci), nic.label().unwrap_or_default()));
    let nearest = nearest.min().filter(|(path, _)| *path != PathType::Unknown);
    let (path, name) =
        nearest.ok_or("the node of the GPU or of every network card is not shown")?;
    Ok(Finding::warn_if(path == PathType::Sys)
        .with("nearest", name)
        .with("path", path.to_string()))
}
