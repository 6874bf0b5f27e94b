//! PCI numbers of GPU vendors, and which of NVIDIA's devices have no NVLink, which no file of sysfs shows.

/// NVIDIA's PCI vendor number.
pub const NVIDIA: u16 = 0x10de;

/// The PCI vendor number of AMD's graphics; its host bridges and ports have another one, 0x1022.
pub const AMD: u16 = 0x1002;

/// MetaX's PCI vendor number.
pub const METAX: u16 = 0x9999;

/// Device numbers of NVIDIA's chips without NVLink, as the PCI ID database names them: T4, A10, GA104 to GA107 with Ada, and GB202.
const NO_NVLINK: [std::ops::RangeInclusive<u16>; 4] = [
    0x1eb8..=0x1eb8,
    0x2236..=0x2237,
    0x2480..=0x28ff,
    0x2b80..=0x2bff,
];

/// Whether a device of NVIDIA's with this number surely has no NVLink.
#[must_use]
pub fn lacks_nvlink(device_id: u16) -> bool {
    NO_NVLINK.iter().any(|range| range.contains(&device_id))
}
