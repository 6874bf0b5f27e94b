//! PCI numbers of GPU vendors, and what a device number tells where no driver names the GPU.

use std::ops::RangeInclusive;

use crate::PciDevice;

/// NVIDIA's PCI vendor number.
pub const NVIDIA: u16 = 0x10de;

/// The PCI vendor number of AMD's graphics; its host bridges and ports have another one, 0x1022.
pub const AMD: u16 = 0x1002;

/// MetaX's PCI vendor number.
pub const METAX: u16 = 0x9999;

/// Device numbers of NVIDIA's chips without NVLink: Ada Lovelace (AD102 to AD107), such as L40 and L4, and Blackwell's GB202, such as
/// RTX PRO 6000.
const NO_NVLINK: [RangeInclusive<u16>; 2] = [0x2680..=0x28ff, 0x2b80..=0x2bff];

impl PciDevice {
    /// Whether it is NVIDIA's and NVLink is not ruled out by its chip.
    #[must_use]
    pub fn may_have_nvlink(&self) -> bool {
        let without = NO_NVLINK
            .iter()
            .any(|range| range.contains(&self.device_id));
        self.vendor == NVIDIA && !without
    }
}
