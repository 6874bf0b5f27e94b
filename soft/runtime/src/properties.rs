//! HIP's structure of a device's properties, in the layout of HIP 6 and 7: of it only the architecture is written.

use crate::abi::{Out, ordinal};
use crate::devices::described;
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

/// Where `hipDeviceProp_tR0600` has it; the offset was compiled from the headers.
const ARCHITECTURE: usize = 1160;

/// Writes `hipDeviceProp_tR0600`.
pub(crate) fn current(runtime: &Runtime, into: Out<[u8; 1472]>, device: c_int) -> Outcome<()> {
    let name = runtime.with(|driver| {
        let pci_id = &described(driver, ordinal(device)?)?.pci_id;
        Ok(architecture(pci_id).unwrap_or_default())
    })?;
    let mut bytes = [0; 1472];
    bytes[ARCHITECTURE..ARCHITECTURE + name.len()].copy_from_slice(name.as_bytes());
    into.put(bytes)
}
