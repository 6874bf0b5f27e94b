//! The devices that this process opened, and whether one of them does not answer any more.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use topology::PciAddress;

use crate::management::Nvml;

/// PCI addresses as the driver prints them.
static OPENED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Remembers a device.
pub(super) fn remember(address: Option<String>) {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(address) = address.filter(|address| !opened.contains(address)) {
        opened.push(address);
    }
}

/// Whether a device that was opened fell off the bus: by NVIDIA's management library, and where it does not say, by the kernel.
pub(crate) fn any_is_gone() -> bool {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let nvml = Nvml::open().ok();
    opened.iter().any(|address| {
        let managed = nvml.as_ref().and_then(|nvml| nvml.is_lost(address));
        managed.unwrap_or_else(|| is_off_the_bus(Path::new("/sys/bus/pci/devices"), address))
    })
}

/// Whether the kernel shows no such function among others, or one whose config space reads as all ones.
fn is_off_the_bus(devices: &Path, address: &str) -> bool {
    let Ok(address) = address.parse::<PciAddress>() else {
        return false;
    };
    let folder = devices.join(address.to_string());
    if !folder.exists() {
        return devices.exists();
    }
    let mut id = [0; 4];
    let read = File::open(folder.join("config")).and_then(|mut config| config.read_exact(&mut id));
    read.is_ok() && id == [0xff; 4]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_is_not_shown_or_reads_as_ones_is_off_the_bus() {
        let name = format!("tplens-opened-{}", std::process::id());
        let devices = std::env::temp_dir().join(name);
        let config = devices.join("0000:21:00.0/config");
        assert!(!is_off_the_bus(&devices, "0000:21:00.0"));
        std::fs::create_dir_all(devices.join("0000:21:00.0")).unwrap();
        std::fs::write(&config, [0xde, 0x10, 0xb5, 0x26]).unwrap();
        // As the driver prints it: a domain of four or of eight digits.
        assert!(!is_off_the_bus(&devices, "00000000:21:00.0"));
        assert!(is_off_the_bus(&devices, "0000:61:00.0"));
        std::fs::write(&config, [0xff; 64]).unwrap();
        assert!(is_off_the_bus(&devices, "0000:21:00.0"));
        std::fs::remove_dir_all(devices).unwrap();
    }
}
