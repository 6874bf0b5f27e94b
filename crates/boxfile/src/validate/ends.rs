//! Checks that the two ends of a PCIe link state the same link: real hardware has one width and one rate for both. What an end
//! that is not described shows, and what a port could do at most, are not looked at.

use super::{Check, Keys};
use crate::{BoxFile, Link};

impl BoxFile {
    /// Holds the link of every function against that of the port above, where a link is between them.
    pub(super) fn check_ends(&self, keys: &Keys<'_>) -> Check {
        for (index, port) in self.port.iter().enumerate() {
            self.check_end(
                keys,
                &format!("port[{index}].link"),
                &port.parent,
                port.link,
            )?;
        }
        for (index, device) in self.device.iter().enumerate() {
            let key = format!("device[{index}].link");
            self.check_end(keys, &key, &device.parent, device.link)?;
        }
        for (index, nic) in self.nic.iter().enumerate() {
            self.check_end(keys, &format!("nic[{index}].link"), &nic.parent, nic.link)?;
        }
        Ok(())
    }

    fn check_end(&self, keys: &Keys<'_>, key: &str, above: &str, lower: Option<Link>) -> Check {
        if !self.faces_down(above) {
            return Ok(());
        }
        let port = self.port.iter().position(|port| port.address == above);
        let upper = port.and_then(|index| Some((index, self.port[index].link?)));
        let (Some(lower), Some((index, upper))) = (lower, upper) else {
            return Ok(());
        };
        let problem = format!(
            "port[{index}].link, the other end of this link, is {upper}; both ends of a link run at one rate and width: give \
             both keys the same"
        );
        keys.require(lower == upper, key, lower, &problem)
    }

    /// Whether a port's link is the one below it, as at a root port and below a switch: ports face down and up by turns from the
    /// root on, since within a switch its upper port and its lower ones have no link between them.
    fn faces_down(&self, address: &str) -> bool {
        self.port_at(address).is_some()
            && self
                .ancestors(address)
                .is_some_and(|(_, chain)| chain.len() % 2 == 1)
    }
}
