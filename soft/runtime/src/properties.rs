//! HIP's structure of a device's properties, in the layout of HIP 6 and 7 and in the one before.
//!
//! The old symbol without a version still writes the old layout, as in the real library: a program that was compiled for the
//! new structure and finds that symbol reads the architecture from the middle of it. Offsets were compiled from the headers.

use crate::abi::{Out, Runtime, ordinal};
use crate::devices::{WARP, described, is_large_bar, letters_of, pci_part};
use softbox::Outcome;
use std::ffi::c_int;

/// Architectures by PCI id: what hiprtc compiles for.
const ARCHITECTURES: &[(&str, &str)] = &[("1002:7551", "gfx1201")];

/// The architecture of a device; nothing where the id is not known.
pub(crate) fn architecture(pci_id: &str) -> Option<&'static str> {
    let row = ARCHITECTURES.iter().find(|row| row.0 == pci_id);
    row.map(|row| row.1)
}

/// Where a structure has what is filled in; all else stays 0.
struct Layout {
    uuid: Option<usize>,
    total_memory: usize,
    warp: usize,
    multiprocessors: usize,
    bus: usize,
    device: usize,
    domain: usize,
    copy_engines: Option<usize>,
    architecture: usize,
    large_bar: usize,
}

/// `hipDeviceProp_tR0600`.
const R0600: Layout = Layout {
    uuid: Some(256),
    total_memory: 288,
    warp: 308,
    multiprocessors: 388,
    bus: 584,
    device: 588,
    domain: 592,
    copy_engines: Some(600),
    architecture: 1160,
    large_bar: 1464,
};

/// `hipDeviceProp_tR0000`.
const R0000: Layout = Layout {
    uuid: None,
    total_memory: 256,
    warp: 276,
    multiprocessors: 336,
    bus: 368,
    device: 372,
    domain: 364,
    copy_engines: None,
    architecture: 396,
    large_bar: 764,
};

/// Writes `hipDeviceProp_tR0600`.
pub(crate) fn current(runtime: &Runtime, into: Out<[u8; 1472]>, device: c_int) -> Outcome<()> {
    into.put(filled(runtime, &R0600, device)?)
}

/// Writes `hipDeviceProp_tR0000`.
pub(crate) fn old(runtime: &Runtime, into: Out<[u8; 792]>, device: c_int) -> Outcome<()> {
    into.put(filled(runtime, &R0000, device)?)
}

fn filled<const BYTES: usize>(
    runtime: &Runtime,
    layout: &Layout,
    device: c_int,
) -> Outcome<[u8; BYTES]> {
    runtime.with(|driver| {
        let ordinal = ordinal(device)?;
        let (seen, device) = (driver.device(ordinal)?, described(driver, ordinal)?);
        let mut bytes = [0; BYTES];
        let mut set = |at: usize, value: &[u8]| {
            bytes[at..at + value.len()].copy_from_slice(value);
        };
        let multiprocessors = device.multiprocessors.unwrap_or(0);
        let part = |part| pci_part(device, part).unwrap_or(0).to_ne_bytes();
        set(0, cut(&seen.name));
        set(layout.total_memory, &seen.memory_bytes.to_ne_bytes());
        set(layout.warp, &WARP.to_ne_bytes());
        set(layout.multiprocessors, &multiprocessors.to_ne_bytes());
        set(layout.domain, &part(0));
        set(layout.bus, &part(1));
        set(layout.device, &part(2));
        set(
            layout.architecture,
            cut(architecture(&device.pci_id).unwrap_or("")),
        );
        let large_bar = c_int::from(is_large_bar(device));
        set(layout.large_bar, &large_bar.to_ne_bytes());
        if let Some(at) = layout.uuid {
            set(at, &letters_of(driver, ordinal)?);
        }
        if let Some(at) = layout.copy_engines {
            set(at, &device.copy_engines.to_ne_bytes());
        }
        Ok(bytes)
    })
}

/// As much of a text as its 256 bytes take, beside the ending NUL.
fn cut(text: &str) -> &[u8] {
    &text.as_bytes()[..text.len().min(255)]
}
