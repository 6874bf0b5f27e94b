//! Checks of network cards; their places in the tree are checked with those of ports and devices, in `host`.

use super::{Check, Keys, hex};
use crate::BoxFile;
use std::collections::HashSet;

impl BoxFile {
    pub(super) fn check_nics(&self, keys: &Keys<'_>) -> Check {
        let mut names = HashSet::new();
        for (index, nic) in self.nic.iter().enumerate() {
            let key = |name: &str| format!("nic[{index}].{name}");
            keys.pci_id(&key("pci_id"), &nic.pci_id)?;
            keys.require(
                hex(&nic.class, 6) && nic.class.starts_with("02"),
                &key("class"),
                &nic.class,
                "a network card's class has six hexadecimal digits and begins with 02, such as 020000",
            )?;
            self.check_node(keys, &key("node"), nic.node)?;
            keys.link(&key("link"), nic.link)?;
            keys.link(&key("maximum"), nic.maximum)?;
            for (kind, name) in [("interface", &nic.interface), ("rdma", &nic.rdma)] {
                let Some(name) = name else { continue };
                // It becomes a folder of the tree.
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
                keys.require(
                    !name.is_empty() && name.bytes().all(is_plain),
                    &key(kind),
                    name,
                    "a name has letters, digits, `-` and `_`",
                )?;
                keys.require(
                    names.insert((kind, name)),
                    &key(kind),
                    name,
                    "names of interfaces and of RDMA devices are unique",
                )?;
            }
            keys.require(
                nic.port.is_none() || nic.rdma.is_some(),
                &key("port"),
                "a port",
                "a port is an RDMA device's; give rdma",
            )?;
            let rate = nic.port.as_ref().map_or("", |port| &port.rate);
            keys.require(
                !rate.chars().any(char::is_control),
                &key("port.rate"),
                rate.escape_debug(),
                "a rate is one line",
            )?;
        }
        Ok(())
    }
}
