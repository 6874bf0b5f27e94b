//! [`PciAddress`]: domain, bus, device and function of a PCI function, in every spelling that tools print.
//!
//! It names a function and says nothing about what sits there.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The address of one PCI function; serialised as its text, such as `0000:21:00.0`.
///
/// The domain has more than 16 bits where a host bridge makes its own (Intel VMD counts from `10000`). Ordered as
/// `lspci` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PciAddress {
    /// PCI domain, also called segment.
    pub domain: u32,
    /// Bus number.
    pub bus: u8,
    /// Device number on the bus, 0 to 31.
    pub device: u8,
    /// Function number in the device, 0 to 7.
    pub function: u8,
}

/// A text is not a PCI address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a PCI address; write it as 0000:21:00.0")]
pub struct AddressError(pub String);

impl PciAddress {
    /// Whether both are functions of one device on one bus.
    pub fn same_device(self, other: Self) -> bool {
        (self.domain, self.bus, self.device) == (other.domain, other.bus, other.device)
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!(
            "{:04x}:{:02x}:{:02x}.{:x}",
            self.domain, self.bus, self.device, self.function
        );
        f.pad(&text)
    }
}

impl FromStr for PciAddress {
    type Err = AddressError;

    /// Parses `21:00.0`, `0000:21:00.0`, `00000000:21:00.0`, `10000:e1:00.0`, in either case, and the same without
    /// `.0`, which means function 0. Two fields are bus and device, three are domain, bus and device.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        parse(text.trim()).ok_or_else(|| AddressError(text.to_owned()))
    }
}

impl TryFrom<String> for PciAddress {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl From<PciAddress> for String {
    fn from(address: PciAddress) -> Self {
        address.to_string()
    }
}

fn parse(text: &str) -> Option<PciAddress> {
    let (place, function) = match text.split_once('.') {
        Some((place, function)) => (place, hex(function, 1)?),
        None => (text, 0),
    };
    let mut fields = place.rsplit(':');
    let device = hex(fields.next()?, 2)?;
    let bus = hex(fields.next()?, 2)?;
    let domain = match fields.next() {
        Some(domain) => hex(domain, 8)?,
        None => 0,
    };
    if fields.next().is_some() || device > 31 || function > 7 {
        return None;
    }
    Some(PciAddress {
        domain,
        bus: u8::try_from(bus).ok()?,
        device: u8::try_from(device).ok()?,
        function: u8::try_from(function).ok()?,
    })
}

/// One hexadecimal field of 1 to `digits` digits; `from_str_radix` alone would take a sign.
fn hex(field: &str, digits: usize) -> Option<u32> {
    let plain = field.len() <= digits && field.bytes().all(|b| b.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(field, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(domain: u32, bus: u8, device: u8, function: u8) -> PciAddress {
        PciAddress {
            domain,
            bus,
            device,
            function,
        }
    }

    #[test]
    fn every_spelling_of_the_tools_is_read() {
        for (text, expected, shown) in [
            ("21:00.0", address(0, 0x21, 0, 0), "0000:21:00.0"),
            ("0000:21:00.0", address(0, 0x21, 0, 0), "0000:21:00.0"),
            // NVML and `nvidia-smi` write eight digits in upper case.
            ("00000000:C1:00.0", address(0, 0xc1, 0, 0), "0000:c1:00.0"),
            (
                "10000:e1:1f.7",
                address(0x10000, 0xe1, 31, 7),
                "10000:e1:1f.7",
            ),
            ("0000:21:00", address(0, 0x21, 0, 0), "0000:21:00.0"),
            ("0002:00:00.0\n", address(2, 0, 0, 0), "0002:00:00.0"),
        ] {
            let parsed: PciAddress = text.parse().unwrap();
            assert_eq!(parsed, expected, "{text}");
            assert_eq!(parsed.to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_and_named() {
        for text in [
            "",
            "21",
            "21:00.8",
            "21:20.0",
            "0:0:0:0.0",
            "gg:00.0",
            "+1:00.0",
            "121:00.0",
            "21:00.",
            "000000000:21:00.0",
            "GPU-0",
        ] {
            let error = text.parse::<PciAddress>().unwrap_err();
            assert_eq!(error, AddressError(text.to_owned()));
        }
    }
}
