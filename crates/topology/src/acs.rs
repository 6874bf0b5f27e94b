//! Access Control Services of the ports between two devices: whether a port sends their packets up to the root complex.
//!
//! Only the superuser may read beyond the first 64 bytes of a function's `config` file; for others the answer is unknown.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::{PciAddress, PciDevice, Sysfs};

/// Where extended capabilities start (PCI Express Base Specification 3.0, section 7.9).
const EXTENDED: usize = 0x100;
/// Number of the ACS capability, and where its control register lies in it (same, section 7.16).
const ACS: u32 = 0x000d;
const CONTROL: usize = 6;
/// P2P Request Redirect, P2P Completion Redirect, Upstream Forwarding (same, section 7.16.3).
const REDIRECTS: u16 = 0x04 | 0x08 | 0x10;
/// What is read of a function by those who are not root.
const STANDARD_HEADER: usize = 64;

/// A port on the path between two devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcsPort {
    /// The port.
    pub address: PciAddress,
    /// The ACS control register; `None` where the port has no ACS.
    pub control: Fact<Option<u16>>,
}

impl AcsPort {
    /// Whether packets from one device to the other are sent up from here; `None` where unknown.
    #[must_use]
    pub fn redirects(&self) -> Option<bool> {
        match &self.control {
            Fact::Known(control) => Some(control.is_some_and(|bits| bits & REDIRECTS != 0)),
            Fact::Unknown(_) => None,
        }
    }
}

/// The ports that only one of two devices has above it: all that a packet between them crosses, but the port where both ways meet.
pub(crate) fn ports_between(
    sysfs: &Sysfs,
    hypervisor: bool,
    a: &PciDevice,
    b: &PciDevice,
) -> Fact<Vec<AcsPort>> {
    if hypervisor {
        return Fact::Unknown(
            "the ports of a guest are its hypervisor's; read it on the host".to_owned(),
        );
    }
    let shared = if a.root == b.root {
        let both = a.chain.iter().zip(&b.chain);
        both.take_while(|(a, b)| a == b).count()
    } else {
        0
    };
    let between: Vec<&PciAddress> = a.chain[shared..].iter().chain(&b.chain[shared..]).collect();
    if between.is_empty() {
        return Fact::Unknown("no port is shown above the devices".to_owned());
    }
    let port = |&address: &PciAddress| AcsPort {
        address,
        control: control(sysfs, address),
    };
    Fact::Known(between.into_iter().map(port).collect())
}

fn control(sysfs: &Sysfs, address: PciAddress) -> Fact<Option<u16>> {
    control_of(
        sysfs
            .read_bytes(format!("sys/bus/pci/devices/{address}/config"))
            .as_deref(),
    )
}

/// The ACS control register in a configuration space.
pub(crate) fn control_of(config: Option<&[u8]>) -> Fact<Option<u16>> {
    match config {
        None => Fact::Unknown("its configuration space is not shown".to_owned()),
        Some(config) => control_in(config),
    }
}

fn control_in(config: &[u8]) -> Fact<Option<u16>> {
    if config.len() <= STANDARD_HEADER {
        return Fact::Unknown("its configuration space needs root".to_owned());
    }
    if config.len() <= EXTENDED {
        return Fact::Unknown("its extended configuration space is not shown".to_owned());
    }
    let mut at = EXTENDED;
    // The 3840 bytes hold 480 capabilities of 8 bytes at most, so a longer walk is a loop.
    for _ in 0..480 {
        let Some(header) = bytes::<4>(config, at).map(u32::from_le_bytes) else {
            break;
        };
        // All zeros end the list; all ones are a function that does not answer.
        if header == 0 {
            return Fact::Known(None);
        }
        if header == u32::MAX {
            return Fact::Unknown("the port does not answer".to_owned());
        }
        if header & 0xffff == ACS {
            let Some(control) = bytes::<2>(config, at + CONTROL) else {
                break;
            };
            return Fact::Known(Some(u16::from_le_bytes(control)));
        }
        at = (header >> 20) as usize & !3;
        if at == 0 {
            return Fact::Known(None);
        }
        if at < EXTENDED {
            break;
        }
    }
    Fact::Unknown("its list of capabilities is broken".to_owned())
}

fn bytes<const N: usize>(config: &[u8], at: usize) -> Option<[u8; N]> {
    config.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Configuration space with advanced error reporting (1) at 0x100 and ACS at 0x148.
    fn config(control: u16) -> Vec<u8> {
        let mut config = vec![0; 4096];
        // Bits 15:0 the number, 19:16 the version, 31:20 the next: 0x148.
        config[0x100..0x104].copy_from_slice(&0x1482_0001_u32.to_le_bytes());
        config[0x148..0x14c].copy_from_slice(&0x0001_000d_u32.to_le_bytes());
        config[0x14e..0x150].copy_from_slice(&control.to_le_bytes());
        config
    }

    fn redirects(config: &[u8]) -> Option<bool> {
        let port = AcsPort {
            address: "0000:20:01.1".parse().unwrap(),
            control: control_in(config),
        };
        port.redirects()
    }

    #[test]
    fn any_of_three_bits_redirects() {
        // 0x1d as servers set it: source validation 0x01, RR 0x04, CR 0x08, UF 0x10.
        for (control, expected) in [
            (0x1d, true),
            (0x04, true),
            (0x08, true),
            (0x10, true),
            (0x63, false),
            (0x00, false),
        ] {
            assert_eq!(redirects(&config(control)), Some(expected), "{control:#x}");
        }
    }

    #[test]
    fn a_port_without_the_capability_redirects_nothing() {
        let mut without = config(0x1d);
        without[0x103] = 0;
        without[0x102] = 2;
        assert_eq!(control_in(&without), Fact::Known(None));
        assert_eq!(control_in(&vec![0; 4096]), Fact::Known(None));
        assert_eq!(redirects(&without), Some(false));
    }

    #[test]
    fn what_others_than_root_read_is_unknown() {
        let whole = config(0x1d);
        for (length, says) in [(64, "needs root"), (0, "needs root"), (256, "not shown")] {
            let Fact::Unknown(why) = control_in(&whole[..length]) else {
                panic!("{length} bytes are no answer");
            };
            assert!(why.contains(says), "{why}");
        }
    }

    #[test]
    fn broken_lists_are_unknown_wherever_they_are_cut() {
        let mut looped = config(0x1d);
        looped[0x100..0x104].copy_from_slice(&0x1002_0001_u32.to_le_bytes());
        assert_eq!(redirects(&looped), None);
        assert_eq!(redirects(&vec![0xff; 4096]), None);
        let whole = config(0x1d);
        // The control register ends at 0x150 = 336.
        for length in 257..336 {
            assert_eq!(redirects(&whole[..length]), None, "{length}");
        }
        assert_eq!(redirects(&whole[..336]), Some(true));
    }
}
