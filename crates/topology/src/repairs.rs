//! What was repaired of a device's memory over its life: rows that were remapped, pages that were retired.
//!
//! AMD's kernel driver shows its pages in a file, which is read here; NVIDIA's stand in its management library alone. Nothing is
//! judged here.

use serde::{Deserialize, Serialize};

use crate::{Fact, PciAddress, Sysfs};

/// What was repaired of a device's memory; a device has the one or the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repairs {
    /// Rows that were replaced.
    pub rows: Fact<RowRemaps>,
    /// Pages that were taken out of use.
    pub pages: Fact<RetiredPages>,
}

impl Repairs {
    /// Of what was read, and why what was not.
    #[must_use]
    pub fn told(rows: Result<RowRemaps, String>, pages: Result<RetiredPages, String>) -> Self {
        Self {
            rows: rows.map_or_else(Fact::Unknown, Fact::Known),
            pages: pages.map_or_else(Fact::Unknown, Fact::Known),
        }
    }

    /// Of AMD's device at an address, by its kernel driver's files.
    #[must_use]
    pub fn of_files(sysfs: &Sysfs, address: PciAddress) -> Self {
        let rows = "AMD's driver tells pages and no rows".to_owned();
        Self::told(Err(rows), RetiredPages::read(sysfs, address))
    }
}

/// Rows of memory that the device replaced by spare ones (NVIDIA, GPU Memory Error Management; from Ampere on).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowRemaps {
    /// For errors that were corrected.
    pub corrected: u64,
    /// For errors that were not: data was lost.
    pub uncorrected: u64,
    /// Whether a row is to be replaced at the next reset and is in use until then.
    pub pending: bool,
    /// Whether a row could not be replaced.
    pub failed: bool,
}

/// Pages of memory that the driver takes out of use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredPages {
    /// Those that are out of use; NVIDIA's count those that wait, too.
    pub retired: u64,
    /// Those of them on which data was lost (a double bit error); `None` where the driver does not tell causes apart.
    pub after_lost_data: Option<u64>,
    /// Whether one is known to be bad and still in use.
    pub pending: bool,
    /// Whether the driver takes that one out of use by itself, without a reset (AMD).
    #[serde(default)]
    pub by_itself: bool,
    /// Those that the driver could not take out of use; `None` where it does not say.
    pub failed: Option<u64>,
}

impl RetiredPages {
    /// Of AMD's device at an address: `ras/gpu_vram_bad_pages` (Documentation/gpu/amdgpu/ras.rst).
    ///
    /// # Errors
    /// Its driver shows no such file, or it cannot be read; the text says which.
    pub fn read(sysfs: &Sysfs, address: PciAddress) -> Result<Self, String> {
        const FILE: &str = "gpu_vram_bad_pages";
        let folder = format!("sys/bus/pci/devices/{address}/ras");
        if !sysfs.names(&folder).iter().any(|name| name == FILE) {
            return Err(format!("the kernel's driver shows no /{folder}/{FILE}"));
        }
        let text = sysfs.read_text(format!("{folder}/{FILE}"));
        let text = text.ok_or_else(|| {
            format!("/{folder}/{FILE} cannot be read; some kernels show it to root alone")
        })?;
        pages(&text).ok_or_else(|| format!("/{folder}/{FILE} is not a list of pages"))
    }
}

/// Lines `page : size : flag`, the flag being R (out of use), P (the driver takes it out of use in its next window) or F (could not be);
/// amdgpu_ras.c.
fn pages(text: &str) -> Option<RetiredPages> {
    let (mut retired, mut pending, mut failed) = (0, false, 0);
    for line in text.lines() {
        let [_page, _size, flag] = line.split(':').collect::<Vec<_>>()[..] else {
            return None;
        };
        match flag.trim() {
            "R" => retired += 1,
            "P" => pending = true,
            "F" => failed += 1,
            _ => return None,
        }
    }
    Some(RetiredPages {
        retired,
        after_lost_data: None,
        pending,
        by_itself: true,
        failed: Some(failed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_by_their_flags_and_what_cannot_be_read_is_named() {
        let root = std::env::temp_dir().join(format!("topology-repairs-{}", std::process::id()));
        let folder = root.join("sys/bus/pci/devices/0000:03:00.0/ras");
        std::fs::create_dir_all(&folder).unwrap();
        let sysfs = Sysfs::at(&root);
        let address = "0000:03:00.0".parse().unwrap();
        let file = folder.join("gpu_vram_bad_pages");
        let none = RetiredPages::read(&sysfs, address).unwrap_err();
        std::fs::write(&file, "").unwrap();
        let healthy = RetiredPages::read(&sysfs, address);
        // The form of the kernel's page: number, size and flag.
        let listed = "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n0x0000000a : 0x00001000 : F\n";
        std::fs::write(&file, listed).unwrap();
        let three = RetiredPages::read(&sysfs, address);
        std::fs::write(&file, "0x00000001 : 0x00001000 : Z\n").unwrap();
        let strange = RetiredPages::read(&sysfs, address).unwrap_err();
        std::fs::remove_dir_all(&root).unwrap();
        assert!(none.contains("shows no /sys/bus/pci/devices/0000:03:00.0/ras/gpu_vram_bad_pages"));
        let expected = |retired, pending, failed| RetiredPages {
            retired,
            after_lost_data: None,
            pending,
            by_itself: true,
            failed: Some(failed),
        };
        assert_eq!(healthy, Ok(expected(0, false, 0)));
        // One of the three is out of use, one waits, one could not be.
        assert_eq!(three, Ok(expected(1, true, 1)));
        assert!(strange.contains("is not a list of pages"), "{strange}");
    }
}
