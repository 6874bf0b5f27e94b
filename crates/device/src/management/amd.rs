//! [`Amd`]: AMD's cards by the files of their kernel driver, and how much of their memory is in use.
//!
//! No library is loaded. The processes that use a card are not told in these files, and the card function's own link is the
//! one behind the switch on the card: the link of the slot is read by crate `topology`.

use topology::{Machine, PciAddress, PcieLink, Repairs, Sysfs};

use super::sample::amd_sample;
use super::{Answer, ManagedDevice, Management, Sample};

/// The files of AMD's cards under one root.
pub struct Amd {
    sysfs: Sysfs,
    cards: Vec<PciAddress>,
}

impl Amd {
    /// Finds the cards.
    ///
    /// # Errors
    /// There is no sysfs, or it cannot be understood.
    pub fn open(sysfs: &Sysfs) -> Answer<Self> {
        let machine = Machine::read(sysfs).map_err(|error| error.to_string())?;
        let cards = machine.gpus.iter().filter(|gpu| gpu.is_amd());
        Ok(Self {
            cards: cards.map(|gpu| gpu.address).collect(),
            sysfs: sysfs.clone(),
        })
    }
}

impl Management for Amd {
    fn driver_version(&self) -> Answer<String> {
        let version = self.sysfs.read_text("sys/module/amdgpu/version");
        version.ok_or_else(|| {
            "the kernel's own amdgpu has the kernel's version; only AMD's package has one of its own"
                .to_owned()
        })
    }

    fn devices(&self) -> Answer<Vec<Answer<ManagedDevice>>> {
        let describe = |address: &PciAddress| {
            let pci = address.to_string();
            let now = amd_sample(&self.sysfs, &pci);
            ManagedDevice {
                uuid: None,
                used_bytes: now.memory_used_bytes,
                repairs: Repairs::of_files(&self.sysfs, *address),
                nvlinks: None,
                processes: Err("sysfs does not list them".to_owned()),
                utilisation_percent: now.utilisation_percent.ok(),
                mig: Vec::new(),
                pci: Some(pci),
            }
        };
        Ok(self.cards.iter().map(|card| Ok(describe(card))).collect())
    }

    fn link(&self, _pci: &str) -> Answer<Option<PcieLink>> {
        Err("AMD's driver tells the link behind the switch on the card only".to_owned())
    }

    fn sample(&self, pci: &str) -> Sample {
        amd_sample(&self.sysfs, pci)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// A tree with one card.
    fn tree(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root =
            std::env::temp_dir().join(format!("device-amd-cards-{}-{name}", std::process::id()));
        let card = root.join("sys/devices/pci0000:40/0000:40:01.1/0000:43:00.0");
        fs::create_dir_all(card.join("hwmon/hwmon7")).unwrap();
        let devices = root.join("sys/bus/pci/devices");
        fs::create_dir_all(&devices).unwrap();
        std::os::unix::fs::symlink(&card, devices.join("0000:43:00.0")).unwrap();
        let identity = [
            ("vendor", "0x1002\n"),
            ("device", "0x7551\n"),
            ("class", "0x030000\n"),
        ];
        for (file, text) in identity.iter().chain(files) {
            fs::write(card.join(file), text).unwrap();
        }
        root
    }

    #[test]
    fn memory_in_use_is_told_and_processes_are_unknown() {
        let root = tree(
            "used",
            &[
                ("mem_info_vram_used", "1073741824\n"),
                ("gpu_busy_percent", "37\n"),
            ],
        );
        let managed = Amd::open(&Sysfs::at(&root)).unwrap().devices().unwrap();
        fs::remove_dir_all(&root).unwrap();
        let device = managed[0].as_ref().unwrap();
        assert_eq!(device.used_bytes, Ok(1 << 30));
        assert_eq!(device.utilisation_percent, Some(37));
        assert_eq!(device.pci.as_deref(), Some("0000:43:00.0"));
        assert!(device.processes.is_err(), "nobody knows them");
    }
}
