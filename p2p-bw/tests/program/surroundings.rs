//! What `topology` reads of generated trees beside a path class, against the boxes they were made of; and the class that only
//! a vendor's tool knows.

use boxfile::{BoxFile, sysfs};
use record::MonitorLine;
use topology::{Machine, PathType, PciAddress, PcieLink, Sysfs};

use super::common::Scratch;

fn tree(scratch: &Scratch, described: &BoxFile) -> (Sysfs, Machine, Vec<PciAddress>) {
    let root = scratch.join("tree");
    sysfs::write_tree(described, &root).unwrap();
    let sysfs = Sysfs::at(root);
    let machine = Machine::read(&sysfs).unwrap();
    let gpus = machine.gpus.iter().map(|gpu| gpu.address).collect();
    (sysfs, machine, gpus)
}

#[test]
fn both_ends_of_an_r9700_slot_lie_outside_the_cards_own_switch() {
    let scratch = Scratch::new();
    let (sysfs, machine, gpus) = tree(&scratch, &BoxFile::builtin("r9700-x8").unwrap());
    // Root port, upstream and downstream port of the card's switch, GPU: the slot is between the first two.
    for (gpu, upper, lower) in [
        (gpus[0], "0000:00:01.1", "0000:01:00.0"),
        (gpus[1], "0000:00:01.2", "0000:04:00.0"),
    ] {
        let slot = machine.slot_link(&sysfs, gpu).unwrap();
        assert_eq!(slot.ends.upper.unwrap().to_string(), upper);
        assert_eq!(slot.ends.lower.to_string(), lower);
        // Both ends could do x16; the desktop CPU's lanes are split.
        assert_eq!(slot.current, PcieLink::new(5, 8).unwrap());
        assert_eq!(slot.maximum, PcieLink::new(5, 16).ok());
    }
    // Two root ports of one root complex: the cards' switches do not make it PXB.
    assert_eq!(machine.path_type(gpus[0], gpus[1]), PathType::Phb);
}

#[test]
fn the_monitor_tells_x8_from_x16_at_the_slot_though_both_cards_say_x16() {
    for (name, lanes) in [("r9700-x8", 8), ("r9700-x16", 16)] {
        let scratch = Scratch::new();
        let ran = scratch.run(&["monitor", "--sim", name, "--duration", "0.05"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let lines = ran
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let samples: Vec<_> = lines
            .filter_map(|line| match line {
                MonitorLine::Sample(sample) => Some(sample.values.slot_link),
                _ => None,
            })
            .collect();
        assert!(samples.len() >= 2, "{}", ran.stdout);
        assert!(
            samples
                .iter()
                .all(|slot| *slot == PcieLink::new(5, lanes).ok()),
            "{name}: {samples:?}"
        );
    }
}
