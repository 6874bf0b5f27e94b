//! HIP's structure of a device's properties, in the layout of HIP 6 and 7. Offsets were compiled from the headers.

use crate::abi::{Out, ordinal};
use crate::devices::{WARP, described, is_large_bar, letters_of, pci_part};
use crate::vendor::Runtime;
use softbox::Outcome;
use std::ffi::c_int;

/// Architectures by PCI id: what hiprtc compiles for.
const ARCHITECTURES: &[(&str, &str)] = &[("1002:7551", "gfx1201")];

/// The architecture of a device; nothing where the id is not known.
pub(crate) fn architecture(pci_id: &str) -> Option<&'static str> {
    let row = ARCHITECTURES.iter().find(|row| row.0 == pci_id);
    row.map(|row| row.1)
}

/// Where `hipDeviceProp_tR0600` has what is filled in; all else stays 0.
const UUID: usize = 256;
const TOTAL_MEMORY: usize = 288;
const WARP_SIZE: usize = 308;
const MULTIPROCESSORS: usize = 388;
const BUS: usize = 584;
const DEVICE: usize = 588;
const DOMAIN: usize = 592;
const COPY_ENGINES: usize = 600;
const ARCHITECTURE: usize = 1160;
const LARGE_BAR: usize = 1464;

/// Writes `hipDeviceProp_tR0600`.
pub(crate) fn current(runtime: &Runtime, into: Out<[u8; 1472]>, device: c_int) -> Outcome<()> {
    let filled = runtime.with(|driver| {
        let ordinal = ordinal(device)?;
        let (seen, device) = (driver.device(ordinal)?, described(driver, ordinal)?);
        let mut bytes = [0; 1472];
        let mut set = |at: usize, value: &[u8]| {
            bytes[at..at + value.len()].copy_from_slice(value);
        };
        let part = |part| pci_part(device, part).unwrap_or(0).to_ne_bytes();
        set(0, cut(&seen.name));
        set(UUID, &letters_of(driver, ordinal)?);
        set(TOTAL_MEMORY, &seen.memory_bytes.to_ne_bytes());
        set(WARP_SIZE, &WARP.to_ne_bytes());
        let multiprocessors = device.multiprocessors.unwrap_or(0);
        set(MULTIPROCESSORS, &multiprocessors.to_ne_bytes());
        set(DOMAIN, &part(0));
        set(BUS, &part(1));
        set(DEVICE, &part(2));
        set(COPY_ENGINES, &device.copy_engines.to_ne_bytes());
        set(
            ARCHITECTURE,
            cut(architecture(&device.pci_id).unwrap_or("")),
        );
        set(LARGE_BAR, &c_int::from(is_large_bar(device)).to_ne_bytes());
        Ok(bytes)
    })?;
    into.put(filled)
}

/// As much of a text as its 256 bytes take, beside the ending NUL.
fn cut(text: &str) -> &[u8] {
    &text.as_bytes()[..text.len().min(255)]
}
