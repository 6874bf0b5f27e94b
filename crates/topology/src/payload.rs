//! The largest payload of one PCIe packet on the way to a device, from PCI configuration space.
//!
//! Only the superuser may read beyond the first 64 bytes of a function's `config` file; for others there is no answer.

use crate::express::payload;
use crate::{PciAddress, PciDevice, Sysfs};

/// The payload limit in bytes (MPS) that is set on the way to a device: the minimum over the device and its bridges.
///
/// `None` where any of them does not say, as without superuser rights or in a virtual machine.
pub fn max_payload_bytes(sysfs: &Sysfs, device: &PciDevice) -> Option<u32> {
    let hops = device.chain.iter().chain([&device.address]);
    let limits: Option<Vec<u32>> = hops.map(|&address| of_function(sysfs, address)).collect();
    limits?.into_iter().min()
}

fn of_function(sysfs: &Sysfs, address: PciAddress) -> Option<u32> {
    payload(&sysfs.read_bytes(format!("sys/bus/pci/devices/{address}/config"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Configuration space with a power-management capability at 0x40 and the PCI Express one at 0x60.
    fn config(device_control_low_byte: u8) -> Vec<u8> {
        let mut config = vec![0; 256];
        config[0x34] = 0x40;
        config[0x40..0x42].copy_from_slice(&[0x01, 0x60]);
        config[0x60..0x62].copy_from_slice(&[0x10, 0x00]);
        config[0x68] = device_control_low_byte;
        config
    }

    #[test]
    fn the_limit_is_128_shifted_by_bits_7_to_5() {
        // 0b001_10000: code 1, 128 << 1 = 256; the low bits are other settings.
        for (byte, bytes) in [(0x10, 128), (0x30, 256), (0x5f, 512), (0xa0, 4096)] {
            assert_eq!(payload(&config(byte)), Some(bytes));
        }
        assert_eq!(payload(&config(0xe0)), None);
    }

    #[test]
    fn a_short_read_or_a_broken_list_gives_no_limit() {
        let whole = config(0x30);
        assert_eq!(payload(&whole[..64]), None, "what others than root read");
        assert_eq!(payload(&[]), None);
        let mut looped = whole.clone();
        looped[0x41] = 0x40;
        assert_eq!(payload(&looped), None);
        let mut without = whole;
        without[0x41] = 0;
        assert_eq!(payload(&without), None);
    }
}
