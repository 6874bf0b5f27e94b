//! The PCI Express capability of a function: payload and read request sizes that are set, and the link's power saving.
//!
//! Only the superuser may read beyond the first 64 bytes of a function's `config` file; for others there is no answer.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::pci::attribute;
use crate::{PciAddress, Sysfs};

/// PCI Local Bus Specification 3.0, section 6.7: where the list of capabilities starts.
const CAPABILITIES_POINTER: usize = 0x34;
/// What is read of a function by those who are not root.
const STANDARD_HEADER: usize = 64;
/// PCI Express Base Specification 3.0, section 7.8: number of the PCI Express capability, and registers in it: capabilities
/// (device type in bits 7:4), device capabilities, device control, link control.
const PCI_EXPRESS: u8 = 0x10;
const TYPE: usize = 2;
const DEVICE_CAPABILITIES: usize = 4;
const DEVICE_CONTROL: usize = 8;
const LINK_CONTROL: usize = 0x10;
/// Device types without a link: integrated endpoint and event collector of a root complex (same, table 7-2).
const WITHOUT_LINK: [u8; 2] = [0x9, 0xa];

/// What is set on one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieSettings {
    /// Largest payload of a packet that it sends, in bytes (MPS); `None` where the code is a reserved one.
    pub max_payload_bytes: Option<u32>,
    /// Largest payload that it could be set to.
    pub max_payload_supported_bytes: Option<u32>,
    /// Largest read that it asks for, in bytes (MRRS); `None` where the code is a reserved one.
    pub max_read_request_bytes: Option<u32>,
}

/// Active State Power Management of the link above a function: the states that it may go to by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspm {
    /// None.
    Off,
    /// L0s, left again within a microsecond or so.
    L0s,
    /// L1, left again within some tens of microseconds.
    L1,
    /// Both.
    L0sL1,
}

impl Aspm {
    fn of(l0s: bool, l1: bool) -> Self {
        match (l0s, l1) {
            (false, false) => Self::Off,
            (true, false) => Self::L0s,
            (false, true) => Self::L1,
            (true, true) => Self::L0sL1,
        }
    }
}

impl fmt::Display for Aspm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Off => "off",
            Self::L0s => "L0s",
            Self::L1 => "L1",
            Self::L0sL1 => "L0s and L1",
        })
    }
}

/// What is set on a function.
pub(crate) fn settings(config: Option<&[u8]>) -> Fact<PcieSettings> {
    let (config, at) = match found(config) {
        Ok(found) => found,
        Err(why) => return Fact::Unknown(why),
    };
    let word = |register: usize| -> Option<u16> {
        let bytes = config.get(at + register..at + register + 2)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    };
    let (Some(capabilities), Some(control)) = (word(DEVICE_CAPABILITIES), word(DEVICE_CONTROL))
    else {
        return Fact::Unknown("its configuration space is cut short".to_owned());
    };
    Fact::Known(PcieSettings {
        max_payload_bytes: bytes_of(control >> 5),
        max_payload_supported_bytes: bytes_of(capabilities),
        max_read_request_bytes: bytes_of(control >> 12),
    })
}

/// Power saving of the link above a function: its link control register, else what the kernel lets everybody read.
pub(crate) fn aspm(sysfs: &Sysfs, address: PciAddress, config: Option<&[u8]>) -> Fact<Aspm> {
    let of_register = found(config).and_then(|(config, at)| {
        let kind = config.get(at + TYPE).map(|byte| byte >> 4);
        if kind.is_some_and(|kind| WITHOUT_LINK.contains(&kind)) {
            return Err("it has no link".to_owned());
        }
        let control = config.get(at + LINK_CONTROL);
        control
            .map(|bits| Aspm::of(bits & 1 != 0, bits & 2 != 0))
            .ok_or_else(|| "its configuration space is cut short".to_owned())
    });
    // Of an endpoint whose link has such a state (Documentation/ABI/testing/sysfs-bus-pci).
    let shown = |state: &str| match attribute(sysfs, address, &format!("link/{state}_aspm")) {
        Some(text) if text == "1" => Some(true),
        Some(text) if text == "0" => Some(false),
        _ => None,
    };
    match (of_register, shown("l0s"), shown("l1")) {
        (Ok(aspm), ..) => Fact::Known(aspm),
        (Err(why), None, None) => Fact::Unknown(why),
        (Err(_), l0s, l1) => Fact::Known(Aspm::of(l0s == Some(true), l1 == Some(true))),
    }
}

/// The configuration space with the place of its PCI Express capability, or why there is none.
fn found(config: Option<&[u8]>) -> Result<(&[u8], usize), String> {
    let config = config.ok_or("its configuration space is not shown")?;
    if config.len() <= STANDARD_HEADER {
        return Err("its configuration space needs root".to_owned());
    }
    capability(config)
        .map(|at| (config, at))
        .ok_or_else(|| "it has no PCI Express capability".to_owned())
}

/// Where the PCI Express capability lies.
pub(crate) fn capability(config: &[u8]) -> Option<usize> {
    let mut at = usize::from(*config.get(CAPABILITIES_POINTER)? & !3);
    // The list lies in the 192 bytes after the header, so a longer walk is a loop.
    for _ in 0..48 {
        if at < 0x40 {
            return None;
        }
        if *config.get(at)? == PCI_EXPRESS {
            return Some(at);
        }
        at = usize::from(*config.get(at + 1)? & !3);
    }
    None
}

/// The payload limit that a configuration space sets.
pub(crate) fn payload(config: &[u8]) -> Option<u32> {
    let control = config.get(capability(config)? + DEVICE_CONTROL)?;
    bytes_of(u16::from(control >> 5))
}

/// The size of a code of three bits; 6 and 7 are reserved.
fn bytes_of(code: u16) -> Option<u32> {
    let code = code & 7;
    (code <= 5).then(|| 128 << code)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PCI Express at 0x60: an endpoint (type 0) that supports 512 bytes (code 2), with these controls.
    fn config(device_control: u16, link_control: u8) -> Vec<u8> {
        let mut config = vec![0; 256];
        config[0x34] = 0x60;
        config[0x60] = 0x10;
        config[0x64] = 2;
        config[0x68..0x6a].copy_from_slice(&device_control.to_le_bytes());
        config[0x70] = link_control;
        config
    }

    fn nowhere() -> Sysfs {
        Sysfs::at("/nonexistent")
    }

    fn address() -> PciAddress {
        "21:00.0".parse().unwrap()
    }

    #[test]
    fn sizes_are_128_shifted_by_their_codes() {
        // 0x2930: bits 7:5 are 1, 128 << 1 = 256; bits 14:12 are 2, 128 << 2 = 512. The support's code 2 is 512.
        let known = PcieSettings {
            max_payload_bytes: Some(256),
            max_payload_supported_bytes: Some(512),
            max_read_request_bytes: Some(512),
        };
        assert_eq!(settings(Some(&config(0x2930, 0))), Fact::Known(known));
        // Code 7 of a read request, and 5, which is 4096.
        for (control, read) in [(0x7000, None), (0x5000, Some(4096))] {
            let found = settings(Some(&config(control, 0)));
            assert_eq!(found.known().unwrap().max_read_request_bytes, read);
        }
    }

    #[test]
    fn two_bits_say_which_states_the_link_goes_to() {
        for (bits, expected) in [
            (0x40, Aspm::Off),
            (0x41, Aspm::L0s),
            (0x42, Aspm::L1),
            (0x43, Aspm::L0sL1),
        ] {
            let found = aspm(&nowhere(), address(), Some(&config(0, bits)));
            assert_eq!(found, Fact::Known(expected));
        }
        let mut integrated = config(0, 3);
        integrated[0x62] = 0x90;
        let found = aspm(&nowhere(), address(), Some(&integrated));
        assert_eq!(found, Fact::Unknown("it has no link".to_owned()));
    }

    #[test]
    fn what_is_not_shown_has_its_reason() {
        let whole = config(0x2930, 0);
        let reason = |config: Option<&[u8]>| match settings(config) {
            Fact::Unknown(why) => why,
            Fact::Known(known) => panic!("{known:?}"),
        };
        assert!(reason(None).contains("not shown"));
        assert!(reason(Some(&whole[..64])).contains("needs root"));
        assert!(reason(Some(&[0; 256])).contains("no PCI Express"));
        assert!(reason(Some(&whole[..0x69])).contains("cut short"));
    }
}
