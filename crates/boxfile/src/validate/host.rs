//! Checks of nodes, segments, ports and addresses.

use super::{Check, Keys, hex};
use crate::{BoxFile, cpulist};
use std::collections::HashSet;

impl BoxFile {
    pub(super) fn check_nodes(&self, keys: &Keys<'_>) -> Check {
        keys.require(
            !self.node.is_empty(),
            "node",
            "[]",
            "a box has at least one [[node]]",
        )?;
        let (mut ids, mut cpus) = (HashSet::new(), HashSet::new());
        for (index, node) in self.node.iter().enumerate() {
            let key = |name: &str| format!("node[{index}].{name}");
            keys.require(
                ids.insert(node.id),
                &key("id"),
                node.id,
                "node ids are unique",
            )?;
            let list = cpulist::parse(&node.cpus).ok_or_else(|| {
                keys.refuse(&key("cpus"), &node.cpus, "CPUs are a list such as 0-3,8")
            })?;
            for cpu in list {
                keys.require(
                    cpus.insert(cpu),
                    &key("cpus"),
                    cpu,
                    "a CPU is on one node only",
                )?;
            }
            keys.require(
                node.distances.len() == self.node.len(),
                &key("distances"),
                format!("{:?}", node.distances),
                "there is one distance for every node",
            )?;
        }
        keys.require(
            !cpus.is_empty(),
            "node[0].cpus",
            "",
            "at least one node has a CPU",
        )
    }

    pub(super) fn check_node(&self, keys: &Keys<'_>, key: &str, node: Option<u32>) -> Check {
        let Some(id) = node else { return Ok(()) };
        keys.require(
            self.node.iter().any(|node| node.id == id),
            key,
            id,
            "no [[node]] has this id",
        )
    }

    pub(super) fn check_segments(&self, keys: &Keys<'_>) -> Check {
        let mut ids = HashSet::new();
        for (index, segment) in self.segment.iter().enumerate() {
            let key = format!("segment[{index}].id");
            keys.require(
                ids.insert(&segment.id),
                &key,
                &segment.id,
                "segment ids are unique",
            )?;
        }
        Ok(())
    }

    pub(super) fn check_route(&self, keys: &Keys<'_>, key: &str, route: &[String]) -> Check {
        for id in route {
            let known = self.segment.iter().any(|segment| segment.id == *id);
            keys.require(known, key, id, "no [[segment]] has this id")?;
        }
        let unique: HashSet<_> = route.iter().collect();
        keys.require(
            unique.len() == route.len(),
            key,
            format!("{route:?}"),
            "a route names a segment once",
        )
    }

    pub(super) fn check_tree(&self, keys: &Keys<'_>) -> Check {
        let mut seen = HashSet::new();
        let ports = self.port.iter().map(|port| (&port.address, &port.parent));
        let devices = self
            .device
            .iter()
            .map(|device| (&device.address, &device.parent));
        let nics = self.nic.iter().map(|nic| (&nic.address, &nic.parent));
        for (kind, index, (address, parent)) in ports
            .enumerate()
            .map(|(index, entry)| ("port", index, entry))
            .chain(
                devices
                    .enumerate()
                    .map(|(index, entry)| ("device", index, entry)),
            )
            .chain(nics.enumerate().map(|(index, entry)| ("nic", index, entry)))
        {
            let key = |name: &str| format!("{kind}[{index}].{name}");
            keys.require(
                is_address(address),
                &key("address"),
                address,
                "an address is lower case with domain and function, such as 0000:21:00.0",
            )?;
            keys.require(
                seen.insert(address),
                &key("address"),
                address,
                "addresses are unique",
            )?;
            let known = is_root(parent) || self.port_at(parent).is_some();
            keys.require(
                known,
                &key("parent"),
                parent,
                "a parent is a root such as pci0000:20 or a [[port]]",
            )?;
        }
        for (index, port) in self.port.iter().enumerate() {
            keys.pci_id(&format!("port[{index}].pci_id"), &port.pci_id)?;
            keys.link(&format!("port[{index}].link"), port.link)?;
            keys.link(&format!("port[{index}].maximum"), port.maximum)?;
            self.check_node(keys, &format!("port[{index}].node"), port.node)?;
            let key = format!("port[{index}].parent");
            let rooted = self.ancestors(&port.address).is_some();
            keys.require(
                rooted,
                &key,
                &port.parent,
                "the ports above form a ring, not a way to a root",
            )?;
        }
        Ok(())
    }

    /// The addresses from the root's child down to `address`, or `None` where the parents form a ring.
    pub(crate) fn ancestors(&self, address: &str) -> Option<(String, Vec<String>)> {
        let mut chain = vec![address.to_owned()];
        loop {
            let last = chain.last()?;
            let parent = match self.port_at(last) {
                Some(port) => &port.parent,
                None => {
                    let devices = self.device.iter();
                    let nics = self.nic.iter().map(|nic| (&nic.address, &nic.parent));
                    devices
                        .map(|device| (&device.address, &device.parent))
                        .chain(nics)
                        .find(|(address, _)| *address == last)?
                        .1
                }
            };
            if is_root(parent) {
                let root = parent.clone();
                chain.reverse();
                return Some((root, chain));
            }
            if chain.contains(parent) {
                return None;
            }
            chain.push(parent.clone());
        }
    }
}

fn is_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let [domain, bus, device, function] = parts[..] else {
        return false;
    };
    (hex(domain, 4) || hex(domain, 5))
        && hex(bus, 2)
        && hex(device, 2)
        && hex(function, 1)
        && text.len() == domain.len() + 8
        && text.rfind('.') == Some(text.len() - 2)
}

fn is_root(text: &str) -> bool {
    text.strip_prefix("pci")
        .and_then(|rest| rest.split_once(':'))
        .is_some_and(|(domain, bus)| (hex(domain, 4) || hex(domain, 5)) && hex(bus, 2))
}
