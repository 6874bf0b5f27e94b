//! `p2p-bw topo` against the machine's shape, numactl, lspci, hwloc and the kernel's own files.
//!
//! Where memory goes is compared elsewhere.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::difference::{output, same, same_map, section};
use crate::vm::machines::{Machine, Pair};
use crate::vm::ours::{Classes, Topo};
use crate::vm::qemu::Sections;
use crate::vm::tools::cpus::Cpus;
use crate::vm::tools::{lspci, lstopo, numactl, sysfs};

pub(super) fn shape(machine: &Machine, sections: &Sections) -> Result<()> {
    let functions = sysfs::read(output(sections, "sysfs")?)?;
    for &(address, node) in machine.devices {
        let function = functions
            .get(address)
            .with_context(|| format!("{address} is not there"))?;
        same(
            &format!("the node of {address}"),
            &function.node,
            &Some(node),
        )?;
    }
    let nodes = numactl::read(output(sections, "numactl")?)?;
    let without_cpus = nodes.iter().filter(|(_, node)| node.cpus.is_empty());
    let without_cpus: Vec<u32> = without_cpus.map(|(id, _)| *id).collect();
    same(
        "nodes without CPUs",
        &without_cpus,
        &machine.memory_only.to_vec(),
    )
}

pub(super) fn nodes(_: &Machine, sections: &Sections) -> Result<()> {
    const MIB: u64 = 1024 * 1024;
    let ours = topo(sections)?.nodes.into_iter().map(|(id, node)| {
        let mib = node.bytes.context("a node has no memory")? / MIB;
        let (cpus, distances) = (node.cpus, node.distances);
        Ok((
            id,
            numactl::Node {
                cpus,
                mib,
                distances,
            },
        ))
    });
    same(
        "nodes",
        &ours.collect::<Result<BTreeMap<_, _>>>()?,
        &numactl::read(output(sections, "numactl")?)?,
    )
}

pub(super) fn tree(_: &Machine, sections: &Sections) -> Result<()> {
    same_map(&chains(sections)?, &lspci::tree(output(sections, "tree")?)?)
}

pub(super) fn paths(_: &Machine, sections: &Sections) -> Result<()> {
    same_map(
        &chains(sections)?,
        &lspci::paths(output(sections, "paths")?)?,
    )
}

pub(super) fn kernel(_: &Machine, sections: &Sections) -> Result<()> {
    let ours: BTreeMap<_, _> = topo(sections)?
        .functions
        .into_iter()
        .map(|(address, function)| (address, (function.node, function.chain)))
        .collect();
    let theirs = sysfs::read(output(sections, "sysfs")?)?
        .into_iter()
        .map(|(address, function)| (address, (function.node, function.chain)));
    same_map(&ours, &theirs.collect())
}

/// hwloc puts a function beside the CPUs of its node, and beside all CPUs where the node has none or is not known.
pub(super) fn beside(_: &Machine, sections: &Sections) -> Result<()> {
    let theirs = lstopo::read(output(sections, "lstopo")?)?;
    let topo = topo(sections)?;
    let cpus = |node: Option<u32>| -> Cpus {
        let node = node.and_then(|id| topo.nodes.get(&id));
        let some = node.map(|node| &node.cpus).filter(|cpus| !cpus.is_empty());
        some.unwrap_or(&theirs.cpus).clone()
    };
    let ours: BTreeMap<_, _> = topo
        .functions
        .iter()
        .map(|(address, function)| (address.clone(), cpus(function.node)))
        .collect();
    same_map(&ours, &theirs.functions)
}

pub(super) fn memory(_: &Machine, sections: &Sections) -> Result<()> {
    let ours: BTreeMap<_, _> = topo(sections)?
        .nodes
        .into_iter()
        .filter_map(|(id, node)| Some((id, node.bytes?)))
        .collect();
    let theirs = lstopo::read(output(sections, "lstopo")?)?.nodes;
    same("bytes by node", &ours, &theirs)
}

pub(super) fn smi(machine: &Machine, sections: &Sections) -> Result<()> {
    classes(&topo(sections)?.smi, machine, |pair| pair.smi)
}

pub(super) fn nccl(machine: &Machine, sections: &Sections) -> Result<()> {
    classes(&topo(sections)?.nccl, machine, |pair| pair.nccl)
}

fn classes(ours: &Classes, machine: &Machine, expected: fn(&Pair) -> &'static str) -> Result<()> {
    for pair in machine.pairs {
        for (a, b) in [(pair.a, pair.b), (pair.b, pair.a)] {
            let class = ours.get(&(a.to_owned(), b.to_owned()));
            let class = class.with_context(|| format!("{a} and {b} have no class"))?;
            same(&format!("{a} and {b}"), &class.as_str(), &expected(pair))?;
        }
    }
    Ok(())
}

fn topo(sections: &Sections) -> Result<Topo> {
    let section = section(sections, "topo")?;
    Topo::read(&section.output)
        .with_context(|| format!("exit {}, messages: {}", section.code, section.messages))
}

fn chains(sections: &Sections) -> Result<lspci::Chains> {
    let functions = topo(sections)?.functions.into_iter();
    Ok(functions
        .map(|(address, function)| (address, function.chain))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::compare::difference::samples::{NUMACTL, difference, guest};
    use crate::vm::machines::MACHINES;

    fn topo_of(distance: u32, class: &str) -> String {
        // 218.9 MiB are 229533286 bytes and 251 MiB 263192576.
        format!(
            r#"{{"machine":{{"nodes":[
                {{"id":0,"cpus":"0-1","memory_bytes":229533286,"distances":{{"0":10,"1":{distance}}}}},
                {{"id":1,"cpus":"","memory_bytes":263192576,"distances":{{"0":{distance},"1":10}}}}]}},
            "tree":{{"functions":[{{"pci":{{"address":"0000:41:00.0","node":0,"chain":["0000:40:00.0"]}}}}]}},
            "matrix":{{"ends":[{{"address":"0000:41:00.0"}},{{"address":"0000:42:00.0"}}],"classes":[["X","{class}"],["{class}","X"]]}},
            "nccl":{{"ends":[],"classes":[]}}}}"#
        )
    }

    #[test]
    fn a_distance_that_numactl_does_not_say_is_a_difference() {
        let guest = |distance| guest(&[("topo", &topo_of(distance, "PHB")), ("numactl", NUMACTL)]);
        assert_eq!(difference(nodes, &guest(21)), None);
        let told = difference(nodes, &guest(20)).unwrap();
        assert!(told.starts_with("nodes: ours {0: "), "{told}");
    }

    #[test]
    fn a_bridge_that_lspci_does_not_draw_is_a_difference() {
        let topo = topo_of(21, "PHB");
        let drawn = |text| difference(tree, &guest(&[("topo", &topo), ("tree", text)])).unwrap();
        let told = drawn("-[0000:40]---01.0-[41]----00.0\n");
        assert!(told.starts_with("0000:41:00.0: ours"), "{told}");
        // A function that only lspci shows is one, too.
        let told = drawn("-[0000:40]---00.0-[41]----00.0\n");
        assert!(told.starts_with("0000:40:00.0: ours None"), "{told}");
    }

    #[test]
    fn a_class_that_is_not_the_shapes_is_a_difference() {
        let told = |class| {
            let ours = Topo::read(&topo_of(21, class)).unwrap().smi;
            let one = Machine {
                pairs: &MACHINES[0].pairs[..1],
                ..MACHINES[0]
            };
            classes(&ours, &one, |pair| pair.smi).err()
        };
        assert!(told("PHB").is_none());
        assert_eq!(
            told("NODE").unwrap().to_string(),
            r#"0000:41:00.0 and 0000:42:00.0: ours "NODE", not "PHB""#
        );
    }

    #[test]
    fn a_tool_that_failed_agrees_with_nothing() {
        let mut guest = guest(&[("topo", &topo_of(21, "PHB")), ("numactl", NUMACTL)]);
        if let Some(section) = guest.get_mut("numactl") {
            section.code = 127;
        }
        let told = difference(nodes, &guest).unwrap();
        assert!(told.starts_with("numactl failed with 127"), "{told}");
        let told = difference(memory, &guest).unwrap();
        assert_eq!(told, "the guest did not run lstopo");
    }
}
