//! [`Config`]: what is read of a function's configuration space: the payload size, and of a port whether Access Control Services send
//! packets from one device to another up to the root complex.
//!
//! Only the superuser may read beyond the first 64 bytes of a function's `config` file; for others there is no answer.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::{PciAddress, PciDevice, Sysfs};

/// What is read of a function by those who are not root.
const STANDARD_HEADER: usize = 64;
/// PCI Local Bus Specification 3.0, section 6.7: where the list of capabilities starts.
const CAPABILITIES_POINTER: usize = 0x34;
/// PCI Express Base Specification 3.0, section 7.8: number of the PCI Express capability, and the device control register in it.
const PCI_EXPRESS: u8 = 0x10;
const DEVICE_CONTROL: usize = 8;
/// Where extended capabilities start (same, section 7.9).
const EXTENDED: usize = 0x100;
/// Number of the ACS capability, and where its control register lies in it (same, section 7.16).
const ACS: u32 = 0x000d;
const ACS_CONTROL: usize = 6;
/// P2P Request Redirect, P2P Completion Redirect, Upstream Forwarding (same, section 7.16.3).
const REDIRECTS: u16 = 0x04 | 0x08 | 0x10;

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
        redirects(&self.control)
    }
}

/// Whether an ACS control register sends packets up.
pub(crate) fn redirects(control: &Fact<Option<u16>>) -> Option<bool> {
    let control = control.known()?;
    Some(control.is_some_and(|bits| bits & REDIRECTS != 0))
}

/// The ports that only one of two devices has above it: all that a packet between them crosses, but the port where both ways meet.
pub(crate) fn ports_between(
    sysfs: &Sysfs,
    hypervisor: bool,
    a: &PciDevice,
    b: &PciDevice,
) -> Fact<Vec<AcsPort>> {
    if hypervisor {
        return Fact::unknown("the ports of a guest are its hypervisor's; read it on the host");
    }
    let both = a.chain.iter().zip(&b.chain);
    let shared = both.take_while(|(one, other)| one == other && a.root == b.root);
    let shared = shared.count();
    let between: Vec<&PciAddress> = a.chain[shared..].iter().chain(&b.chain[shared..]).collect();
    if between.is_empty() {
        return Fact::unknown("no port is shown above the devices");
    }
    let port = |&address: &PciAddress| AcsPort {
        address,
        control: Config::read(sysfs, address).acs(),
    };
    Fact::Known(between.into_iter().map(port).collect())
}

/// The payload limit in bytes (MPS) that is set on the way to a device: the minimum over the device and its bridges.
///
/// `None` where any of them does not say, as without superuser rights or in a virtual machine.
pub fn max_payload_bytes(sysfs: &Sysfs, device: &PciDevice) -> Option<u32> {
    let limit = |&address: &PciAddress| Config::read(sysfs, address).max_payload_bytes();
    let hops = device.chain.iter().chain([&device.address]);
    let limits: Option<Vec<u32>> = hops.map(limit).collect();
    limits?.into_iter().min()
}

/// The configuration space of a function, or why it is not known.
#[derive(Debug)]
pub(crate) struct Config(Result<Vec<u8>, &'static str>);

impl Config {
    pub(crate) fn read(sysfs: &Sysfs, address: PciAddress) -> Self {
        Self::of(sysfs.read_bytes(format!("sys/bus/pci/devices/{address}/config")))
    }

    fn of(bytes: Option<Vec<u8>>) -> Self {
        Self(match bytes {
            None => Err("its configuration space is not shown"),
            Some(bytes) if bytes.len() <= STANDARD_HEADER => {
                Err("its configuration space needs root")
            }
            Some(bytes) => Ok(bytes),
        })
    }

    /// Largest payload of a packet that the function sends; `None` also where the code is a reserved one.
    fn max_payload_bytes(&self) -> Option<u32> {
        let control = word(self.express()?, DEVICE_CONTROL).ok()?;
        let code = control >> 5 & 7;
        (code <= 5).then(|| 128 << code)
    }

    /// The ACS control register; the inner `None` is a port without ACS.
    pub(crate) fn acs(&self) -> Fact<Option<u16>> {
        self.bytes().and_then(acs).into()
    }

    fn bytes(&self) -> Result<&[u8], &'static str> {
        self.0.as_deref().map_err(|why| *why)
    }

    /// The PCI Express capability and what is behind it.
    fn express(&self) -> Option<&[u8]> {
        let config = self.bytes().ok()?;
        let mut at = usize::from(config[CAPABILITIES_POINTER] & !3);
        // The list lies in the 192 bytes after the header, so a longer walk is a loop.
        for _ in 0..48 {
            match config.get(at..at + 2).filter(|_| at >= STANDARD_HEADER) {
                Some([PCI_EXPRESS, _]) => return Some(&config[at..]),
                Some(other) => at = usize::from(other[1] & !3),
                None => break,
            }
        }
        None
    }
}

/// A register of two bytes.
fn word(bytes: &[u8], at: usize) -> Result<u16, &'static str> {
    let found = bytes
        .get(at..at + 2)
        .and_then(|found| found.try_into().ok());
    found
        .map(u16::from_le_bytes)
        .ok_or("its configuration space is cut short")
}

fn acs(config: &[u8]) -> Result<Option<u16>, &'static str> {
    if config.len() <= EXTENDED {
        return Err("its extended configuration space is not shown");
    }
    let mut at = EXTENDED;
    // The 3840 bytes hold 480 capabilities of 8 bytes at most, so a longer walk is a loop.
    for _ in 0..480 {
        let header = config
            .get(at..at + 4)
            .and_then(|found| found.try_into().ok());
        let header = header.map(u32::from_le_bytes);
        at = match header {
            // All zeros end the list; all ones are a function that does not answer.
            Some(0) => return Ok(None),
            Some(u32::MAX) => return Err("the port does not answer"),
            Some(header) if header & 0xffff == ACS => {
                return word(config, at + ACS_CONTROL).map(Some);
            }
            Some(header) => (header >> 20) as usize & !3,
            None => break,
        };
        match at {
            0 => return Ok(None),
            1..EXTENDED => break,
            _ => {}
        }
    }
    Err("its list of capabilities is broken")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Power management at 0x40, PCI Express at 0x60: an endpoint with this control; advanced
    /// error reporting (1) at 0x100 and ACS at 0x148.
    fn config(device_control: u16, acs: u16) -> Vec<u8> {
        let mut config = vec![0; 4096];
        config[0x34] = 0x40;
        config[0x40..0x42].copy_from_slice(&[0x01, 0x60]);
        config[0x60] = 0x10;
        config[0x68..0x6a].copy_from_slice(&device_control.to_le_bytes());
        // Bits 15:0 the number, 19:16 the version, 31:20 the next: 0x148.
        config[0x100..0x104].copy_from_slice(&0x1482_0001_u32.to_le_bytes());
        config[0x148..0x14c].copy_from_slice(&0x0001_000d_u32.to_le_bytes());
        config[0x14e..0x150].copy_from_slice(&acs.to_le_bytes());
        config
    }

    fn of(config: &[u8]) -> Config {
        Config::of(Some(config.to_vec()))
    }

    fn why<T: std::fmt::Debug>(fact: Fact<T>) -> String {
        match fact {
            Fact::Unknown(why) => why,
            Fact::Known(known) => panic!("{known:?}"),
        }
    }

    #[test]
    fn sizes_are_128_shifted_by_their_codes() {
        // 0x2930: bits 7:5 are 1, 128 << 1 = 256; code 7 is reserved.
        for (control, bytes) in [(0x2930, Some(256)), (0x00a0, Some(4096)), (0x00e0, None)] {
            assert_eq!(of(&config(control, 0)).max_payload_bytes(), bytes);
        }
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
            let found = of(&config(0, control)).acs();
            assert_eq!(redirects(&found), Some(expected), "{control:#x}");
        }
        // The list ends before it.
        let mut without = config(0, 0x1d);
        without[0x103] = 0;
        without[0x102] = 2;
        assert_eq!(of(&without).acs(), Fact::Known(None));
        assert_eq!(of(&[0; 4096]).acs(), Fact::Known(None));
    }

    #[test]
    fn what_is_not_shown_has_its_reason() {
        assert!(why(Config::of(None).acs()).contains("not shown"));
        assert_eq!(of(&[0; 256]).max_payload_bytes(), None);
        let whole = config(0x2930, 0x1d);
        assert_eq!(of(&whole[..0x69]).max_payload_bytes(), None);
        for length in [0, 64] {
            assert_eq!(of(&whole[..length]).max_payload_bytes(), None);
            assert!(why(of(&whole[..length]).acs()).contains("needs root"));
        }
        assert!(why(of(&whole[..256]).acs()).contains("not shown"));
        // The control register ends at 0x150 = 336.
        for length in 257..336 {
            assert_eq!(redirects(&of(&whole[..length]).acs()), None, "{length}");
        }
        assert_eq!(redirects(&of(&whole[..336]).acs()), Some(true));
    }

    #[test]
    fn a_list_that_leads_back_ends() {
        let mut looped = config(0x2930, 0x1d);
        looped[0x41] = 0x40;
        looped[0x100..0x104].copy_from_slice(&0x1002_0001_u32.to_le_bytes());
        assert_eq!(of(&looped).max_payload_bytes(), None);
        assert_eq!(redirects(&of(&looped).acs()), None);
        assert_eq!(redirects(&of(&[0xff; 4096]).acs()), None);
    }
}
