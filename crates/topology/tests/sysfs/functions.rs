//! Every PCI function of built trees: drivers, settings, ACS, errors, and trees that are broken.

use std::os::unix::fs::symlink;

use topology::{AerCounters, Fact, PciTree, PcieLink};

use crate::sysfs::fixture::{NVIDIA, Tree, at};

const PORT: &str = "0000:20:01.1";
const GPU: &str = "0000:21:00.0";

fn one_gpu() -> Tree {
    let tree = Tree::new();
    tree.gpu(&format!("pci0000:20/{PORT}/{GPU}"), NVIDIA, 0);
    tree
}

/// Configuration space with PCI Express at 0x40 and ACS at 0x100: this control.
fn config(acs: u16) -> Vec<u8> {
    let mut config = vec![0; 4096];
    config[0x34] = 0x40;
    config[0x40] = 0x10;
    config[0x100..0x104].copy_from_slice(&0x0001_000d_u32.to_le_bytes());
    config[0x106..0x108].copy_from_slice(&acs.to_le_bytes());
    config
}

#[test]
fn drivers_and_links_of_every_function_are_read() {
    let tree = one_gpu();
    tree.link(GPU, ("2.5 GT/s PCIe", "16"), ("16.0 GT/s PCIe", "16"));
    let folder = format!("sys/bus/pci/devices/{GPU}");
    // The driver's folder is not part of the copy.
    symlink(
        "../../../bus/pci/drivers/nvidia",
        tree.path(&format!("{folder}/driver")),
    )
    .unwrap();
    let all = PciTree::read(&tree.sysfs(), false);
    let addresses: Vec<String> = all
        .functions
        .iter()
        .map(|function| function.pci.address.to_string())
        .collect();
    assert_eq!(addresses, [PORT, GPU]);
    let gpu = all.at(at(GPU)).unwrap();
    assert_eq!(gpu.driver.as_deref(), Some("nvidia"));
    assert_eq!(gpu.current, PcieLink::new(1, 16).ok());
    assert_eq!(gpu.maximum, PcieLink::new(4, 16).ok());
    assert_eq!((gpu.acs.clone(), gpu.aer), (None, None));
    let above: Vec<String> = all
        .above(&gpu.pci)
        .map(|port| port.pci.address.to_string())
        .collect();
    assert_eq!(above, [PORT]);
}

#[test]
fn acs_of_a_bridge_is_told_on_the_machine_and_not_in_a_guest() {
    let tree = one_gpu();
    // Source validation alone does not redirect, request redirect (0x04) does.
    for (acs, redirects) in [(0x01, Some(false)), (0x1d, Some(true))] {
        tree.file(&format!("sys/bus/pci/devices/{PORT}/config"), config(acs));
        let all = PciTree::read(&tree.sysfs(), false);
        let port = all.at(at(PORT)).unwrap();
        assert_eq!(port.acs, Some(Fact::Known(Some(acs))));
        assert_eq!(port.redirects(), redirects);
        let guest = PciTree::read(&tree.sysfs(), true);
        assert_eq!(guest.at(at(PORT)).unwrap().redirects(), None);
        assert_eq!(all.at(at(GPU)).unwrap().redirects(), None);
    }
}

#[test]
fn errors_are_counted_by_kind() {
    let tree = one_gpu();
    let folder = format!("sys/bus/pci/devices/{GPU}");
    tree.file(
        &format!("{folder}/aer_dev_correctable"),
        "RxErr 3\nBadTLP 4\nTOTAL_ERR_COR 7\n",
    );
    tree.file(
        &format!("{folder}/aer_dev_nonfatal"),
        "TOTAL_ERR_NONFATAL 0\n",
    );
    tree.file(&format!("{folder}/aer_dev_fatal"), "broken\n");
    let all = PciTree::read(&tree.sysfs(), false);
    let counted = all.at(at(GPU)).unwrap().aer.unwrap();
    let expected = AerCounters {
        correctable: Some(7),
        nonfatal: Some(0),
        fatal: None,
    };
    assert_eq!((counted, counted.sum()), (expected, 7));
}
