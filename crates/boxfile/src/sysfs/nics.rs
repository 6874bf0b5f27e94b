//! Network cards beyond what every PCI function shows: their interfaces, and their RDMA devices with one port each.
//!
//! Addresses (MAC, GID) are not shown: a described box has none.

use super::{below, link, put};
use crate::{BoxError, BoxFile, Nic};
use std::path::{Path, PathBuf};

pub(super) fn write(described: &BoxFile, root: &Path) -> Result<(), BoxError> {
    for nic in &described.nic {
        let below = below(described, &nic.address)?;
        let folder = root.join("sys/devices").join(&below);
        for (class, name) in [("net", &nic.interface), ("infiniband", &nic.rdma)] {
            if let Some(name) = name {
                let own = PathBuf::from(class).join(name);
                // The way back from CLASS/NAME/device is the function.
                link(Path::new("../.."), &folder.join(&own).join("device"))?;
                let target = Path::new("../../devices").join(&below).join(&own);
                link(&target, &root.join("sys/class").join(&own))?;
            }
        }
        write_interface(nic, &folder)?;
        write_port(nic, &folder)?;
    }
    Ok(())
}

/// An interface is up, unless the card has a port that is not.
fn write_interface(nic: &Nic, folder: &Path) -> Result<(), BoxError> {
    let Some(name) = &nic.interface else {
        return Ok(());
    };
    let is_up = nic
        .port
        .as_ref()
        .is_none_or(|port| port.state == crate::PortState::Active);
    let state = if is_up { "up" } else { "down" };
    put(&folder.join("net").join(name).join("operstate"), state)
}

fn write_port(nic: &Nic, folder: &Path) -> Result<(), BoxError> {
    let (Some(name), Some(port)) = (&nic.rdma, &nic.port) else {
        return Ok(());
    };
    let own = folder.join("infiniband").join(name).join("ports/1");
    let (state, physical) = port.state.lines();
    for (file, line) in [
        ("state", state),
        ("phys_state", physical),
        ("rate", &port.rate),
        ("link_layer", port.link_layer.word()),
    ] {
        put(&own.join(file), line)?;
    }
    Ok(())
}
