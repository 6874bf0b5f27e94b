//! Links above GPUs in built trees: the slot behind AMD's own switch, hidden ports, virtual machines, payload limits.

use topology::{PcieLink, SlotLink, max_payload_bytes};

use crate::sysfs::fixture::{NVIDIA, Tree, at};

const GEN1: &str = "2.5 GT/s PCIe";
const GEN4: &str = "16.0 GT/s PCIe";
const GEN5: &str = "32.0 GT/s PCIe";
const X86_GUEST: &str = "processor\t: 0\nflags\t\t: fpu sse2 hypervisor lahf_lm\n";

fn link(generation: u8, width: u8) -> PcieLink {
    PcieLink::new(generation, width).expect("a link of the table")
}

/// Root port, switch of the card (upstream, downstream), GPU, with the values of a public dump of a Navi 48 card in an
fn refused(found: Result<SlotLink, String>, says: &str) {
    let why = found.expect_err("it is refused");
    assert!(why.contains(says), "{why}");
}

/// x8 slot of generation 4 (nokyan/resources issue 512): the GPU says Gen5 x16, its upstream port Gen4 x8.
fn navi48_in_x8() -> Tree {
    let tree = Tree::new();
    tree.amd_card(
        "pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:00.0/0000:03:00.0",
        0,
    );
    tree.link("0000:00:01.1", (GEN4, "8"), (GEN4, "16"));
    tree.link("0000:01:00.0", (GEN4, "8"), (GEN5, "16"));
    tree.link("0000:02:00.0", (GEN5, "16"), (GEN5, "16"));
    tree.link("0000:03:00.0", (GEN5, "16"), (GEN5, "16"));
    tree
}

#[test]
fn an_amd_card_in_an_x8_slot_shows_the_slot_and_not_its_own_switch() {
    let tree = navi48_in_x8();
    let machine = tree.machine();
    let slot = machine.slot_link(&tree.sysfs(), at("03:00.0")).unwrap();
    assert_eq!(slot.current, link(4, 8));
    // The slot's port can do Gen4 x16, the card Gen5 x16: the lower one.
    assert_eq!(slot.maximum, Some(link(4, 16)));
    assert_eq!(slot.ends.upper, Some(at("00:01.1")));
    assert_eq!(slot.ends.lower, at("01:00.0"));
}

#[test]
fn one_readable_end_of_a_link_is_enough() {
    let tree = navi48_in_x8();
    tree.link("0000:00:01.1", ("Unknown", "0"), ("Unknown", "255"));
    let slot = tree
        .machine()
        .slot_link(&tree.sysfs(), at("03:00.0"))
        .unwrap();
    assert_eq!(
        (slot.current, slot.maximum),
        (link(4, 8), Some(link(5, 16)))
    );
}

#[test]
fn an_amd_link_that_cannot_be_read_at_the_slot_is_not_replaced_by_the_inner_one() {
    let tree = navi48_in_x8();
    for port in ["0000:00:01.1", "0000:01:00.0"] {
        tree.link(port, ("Unknown", "0"), ("Unknown", "255"));
    }
    refused(
        tree.machine().slot_link(&tree.sysfs(), at("03:00.0")),
        "no link state",
    );
}

#[test]
fn an_amd_gpu_whose_switch_is_hidden_gives_a_reason() {
    // In a guest the GPU stands alone or below a port of the hypervisor; its own link is the one inside the card.
    for path in [
        "pci0000:00/0000:00:05.0",
        "pci0000:00/0000:00:02.0/0000:01:00.0",
    ] {
        let tree = Tree::new();
        let (_, name) = path.rsplit_once('/').unwrap();
        tree.gpu(path, 0x1002, 0);
        tree.link(name, (GEN5, "16"), (GEN5, "16"));
        tree.file("proc/cpuinfo", X86_GUEST);
        refused(
            tree.machine().slot_link(&tree.sysfs(), at(name)),
            "are hidden",
        );
    }
}

#[test]
fn the_narrowest_link_above_an_nvidia_gpu_is_found_behind_a_switch() {
    let tree = Tree::new();
    tree.gpu(
        "pci0000:a0/0000:a0:01.0/0000:a1:00.0/0000:a2:00.0/0000:a3:00.0",
        NVIDIA,
        1,
    );
    // The switch hangs on a Gen4 x8 link, the GPU on Gen4 x16 below it.
    tree.link("0000:a0:01.0", (GEN4, "8"), (GEN5, "16"));
    tree.link("0000:a1:00.0", (GEN4, "8"), (GEN4, "16"));
    tree.link("0000:a2:00.0", (GEN4, "16"), (GEN4, "16"));
    tree.link("0000:a3:00.0", (GEN4, "16"), (GEN4, "16"));
    let machine = tree.machine();
    let path = machine.slot_path(at("a3:00.0")).unwrap();
    assert_eq!(path.links.len(), 2);
    let slot = path.read(&tree.sysfs()).unwrap();
    assert_eq!((slot.current, slot.ends.lower), (link(4, 8), at("a1:00.0")));
    assert_eq!(path.card_link(&tree.sysfs()), Some(link(4, 16)));
}

#[test]
fn a_virtual_machine_without_link_files_gives_a_reason_and_no_link() {
    let tree = Tree::new();
    tree.gpu("pci0000:00/0000:00:05.0", NVIDIA, -1);
    let machine = tree.machine();
    refused(
        machine.slot_link(&tree.sysfs(), at("00:05.0")),
        "no link state",
    );
    assert_eq!(machine.gpus[0].node, None);
    refused(machine.slot_link(&tree.sysfs(), at("00:06.0")), "not a GPU");
}

#[test]
fn a_hypervisors_ports_do_not_speak_for_the_card() {
    // QEMU's ports say Gen1 x1; the card that is passed through says what its slot on the host gives.
    let tree = Tree::new();
    tree.gpu(
        "pci0000:40/0000:40:00.0/0000:41:00.0/0000:42:00.0/0000:43:00.0",
        NVIDIA,
        1,
    );
    for port in ["0000:40:00.0", "0000:41:00.0", "0000:42:00.0"] {
        tree.link(port, (GEN1, "1"), (GEN1, "1"));
    }
    tree.link("0000:43:00.0", (GEN5, "16"), (GEN5, "16"));
    let narrow = tree.machine().slot_link(&tree.sysfs(), at("43:00.0"));
    assert_eq!(
        narrow.unwrap().current,
        link(1, 1),
        "on bare metal ports are believed"
    );
    tree.file("proc/cpuinfo", X86_GUEST);
    let slot = tree
        .machine()
        .slot_link(&tree.sysfs(), at("43:00.0"))
        .unwrap();
    assert_eq!((slot.current, slot.ends.upper), (link(5, 16), None));
}

#[test]
fn the_payload_limit_is_the_least_on_the_way() {
    let tree = Tree::new();
    tree.gpu("pci0000:00/0000:00:01.0/0000:01:00.0", NVIDIA, 0);
    let machine = tree.machine();
    let limit = || max_payload_bytes(&tree.sysfs(), &machine.gpus[0]);
    assert_eq!(limit(), None, "no config file");
    // The port is set to 128 << 2 = 512, the device to 128 << 1 = 256.
    tree.payload_code("0000:00:01.0", 2);
    assert_eq!(limit(), None, "the device does not say");
    tree.payload_code("0000:01:00.0", 1);
    assert_eq!(limit(), Some(256));
}
