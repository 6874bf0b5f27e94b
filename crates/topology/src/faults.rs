//! What devices and links count of their faults: errors of links (Advanced Error Reporting), of memory as AMD's kernel driver counts them
//! (Documentation/gpu/amdgpu/ras.rst), and what was repaired of a device's memory. NVIDIA's stand in its management library alone.
//! Nothing is judged here.

use serde::{Deserialize, Serialize};

use crate::pci::attribute;
use crate::{Fact, PciAddress, Sysfs};

/// Errors of a function since the machine or the function started; each `None` where the kernel does not show it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AerCounters {
    /// Mended by the link itself, as a packet sent again is; they cost time.
    pub correctable: Option<u64>,
    /// Packets lost.
    pub nonfatal: Option<u64>,
    /// Links lost.
    pub fatal: Option<u64>,
}

impl AerCounters {
    /// What the kernel shows of a function; `None` where it shows no counter (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats).
    pub(crate) fn read(sysfs: &Sysfs, address: PciAddress) -> Option<Self> {
        let total = |kind: &str| {
            attribute(sysfs, address, &format!("aer_dev_{kind}")).and_then(|text| total(&text))
        };
        let counters = Self {
            correctable: total("correctable"),
            nonfatal: total("nonfatal"),
            fatal: total("fatal"),
        };
        (counters != Self::default()).then_some(counters)
    }

    /// All of them; what is not shown counts nothing.
    #[must_use]
    pub fn sum(self) -> u64 {
        let kinds = [self.correctable, self.nonfatal, self.fatal];
        kinds.into_iter().flatten().fold(0, u64::saturating_add)
    }
}

/// The line `TOTAL_ERR_COR 3`; without one the sum of the lines `RxErr 3`.
fn total(text: &str) -> Option<u64> {
    let lines: Option<Vec<(&str, u64)>> = text
        .lines()
        .map(|line| {
            let (name, count) = line.trim().rsplit_once(' ')?;
            Some((name, count.parse().ok()?))
        })
        .collect();
    let lines = lines.filter(|lines| !lines.is_empty())?;
    let told = lines.iter().find(|(name, _)| name.starts_with("TOTAL"));
    told.map(|(_, count)| *count).or_else(|| {
        lines
            .iter()
            .try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count))
    })
}

/// Errors since the driver was loaded, over all blocks of a device that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RasErrors {
    /// Mended.
    pub corrected: u64,
    /// Not mended: data was lost.
    pub uncorrected: u64,
}

impl RasErrors {
    /// Of the device at an address.
    ///
    /// # Errors
    /// Its driver shows no such counts, or one of them cannot be read; the text says which.
    pub fn read(sysfs: &Sysfs, address: PciAddress) -> Result<Self, String> {
        let folder = format!("sys/bus/pci/devices/{address}/ras");
        let mut names = sysfs.names(&folder);
        names.retain(|name| name.ends_with("_err_count"));
        if names.is_empty() {
            return Err(format!(
                "the kernel's driver shows no /{folder}/*_err_count"
            ));
        }
        let mut all = Self::default();
        for name in names {
            let path = format!("{folder}/{name}");
            let counted = sysfs.read_text(&path).as_deref().and_then(counts);
            let counted = counted.ok_or_else(|| format!("/{path} cannot be read"))?;
            all.corrected = all.corrected.saturating_add(counted.corrected);
            all.uncorrected = all.uncorrected.saturating_add(counted.uncorrected);
        }
        Ok(all)
    }
}

/// Lines `ue: N` and `ce: N`; later drivers add others.
fn counts(text: &str) -> Option<RasErrors> {
    let of = |key: &str| {
        let value = text.lines().find_map(|line| line.trim().strip_prefix(key));
        value?.trim().parse().ok()
    };
    Some(RasErrors {
        corrected: of("ce:")?,
        uncorrected: of("ue:")?,
    })
}

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
            rows: rows.into(),
            pages: pages.into(),
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
    fn the_total_is_the_kernels_or_the_sum_of_its_lines() {
        assert_eq!(total("RxErr 2\nBadTLP 5\nTOTAL_ERR_COR 7"), Some(7));
        // 2 + 5.
        assert_eq!(total("RxErr 2\nBadTLP 5"), Some(7));
        assert_eq!(total("TOTAL_ERR_FATAL 0"), Some(0));
    }

    #[test]
    fn a_text_that_is_none_has_no_total() {
        for text in [
            "",
            "RxErr",
            "RxErr two",
            "RxErr -1",
            "a 18446744073709551615\nb 1",
        ] {
            assert_eq!(total(text), None, "{text}");
        }
    }

    #[test]
    fn blocks_are_added_up_and_what_cannot_be_read_is_named() {
        let root = std::env::temp_dir().join(format!("topology-ras-{}", std::process::id()));
        let folder = root.join("sys/bus/pci/devices/0000:03:00.0/ras");
        std::fs::create_dir_all(&folder).unwrap();
        let sysfs = Sysfs::at(&root);
        let address = "0000:03:00.0".parse().unwrap();
        let none = RasErrors::read(&sysfs, address).unwrap_err();
        // The kernel's form, and that of drivers that count deferred errors too.
        std::fs::write(folder.join("umc_err_count"), "ue: 1\nce: 20\n").unwrap();
        std::fs::write(folder.join("gfx_err_count"), "ue: 2\nce: 300\nde: 7\n").unwrap();
        std::fs::write(folder.join("features"), "feature mask: 0x1\n").unwrap();
        let all = RasErrors::read(&sysfs, address);
        std::fs::write(folder.join("sdma_err_count"), "Query failed\n").unwrap();
        let broken = RasErrors::read(&sysfs, address).unwrap_err();
        std::fs::remove_dir_all(&root).unwrap();
        assert!(
            none.contains("shows no /sys/bus/pci/devices/0000:03:00.0/ras"),
            "{none}"
        );
        // 1 + 2 and 20 + 300.
        let added = RasErrors {
            corrected: 320,
            uncorrected: 3,
        };
        assert_eq!(all, Ok(added));
        assert!(broken.contains("sdma_err_count cannot be read"), "{broken}");
    }

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
