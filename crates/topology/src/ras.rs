//! Errors of a device's own memory and blocks, as AMD's kernel driver counts them (Documentation/gpu/amdgpu/ras.rst).
//!
//! NVIDIA's stand in its management library alone.

use crate::{PciAddress, Sysfs};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
