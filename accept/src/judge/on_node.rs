//! The NUMA node of each device, as the profile expects it.
//!
//! What memory of another node costs is in `numa`.

use topology::PciAddress;

use super::inventory::seen;
use super::judging::Judging;
use super::pool::Device;
use crate::plural::plural;
use crate::report::{Check, ReasonCode, Seen, Verdict};

/// Whether each device hangs on the node where it is expected.
pub(super) fn numa_node(judging: &Judging<'_>) -> Vec<Check> {
    const KIND: &str = "numa_node";
    let devices = judging.by_address();
    let Some(numa) = &judging.profile.numa else {
        let text = "the profile does not say on which nodes the devices hang".to_owned();
        let skip = || {
            judging
                .subject(KIND, ["box".to_owned()])
                .skipped(ReasonCode::NotApplicable, text)
        };
        return if devices.is_empty() {
            vec![]
        } else {
            vec![skip()]
        };
    };
    let Some(nodes) = expected_nodes(judging, &devices, &numa.nodes) else {
        let text = format!(
            "the profile gives {} for {}",
            plural(numa.nodes.len(), "node"),
            plural(devices.len(), "device")
        );
        let subject = judging.subject(KIND, ["box".to_owned()]);
        return vec![subject.skipped(ReasonCode::DependencyFailed, text)];
    };
    let one = |(device, expected): (&Device, u32)| {
        let about = [device.it.label.clone()];
        let Some(node) = device.it.node else {
            let text = format!(
                "the kernel does not say on which node {} hangs; node {expected} is expected",
                device.it.label
            );
            return judging.subject(KIND, about).inconclusive(
                ReasonCode::Unreadable,
                text,
                None,
                vec![],
            );
        };
        let evidence = seen(
            "NUMA node",
            node.to_string(),
            Some(expected.to_string()),
            &device.source,
        );
        let text = format!(
            "on node {node}, node {expected} is expected ({})",
            numa.source
        );
        let came = if node == expected {
            (Verdict::Pass, ReasonCode::AsExpected, text)
        } else {
            (Verdict::Fail, ReasonCode::NumaMisbound, text)
        };
        judging.judged(KIND, about, came, None, Seen::new(evidence, []))
    };
    devices.into_iter().zip(nodes).map(one).collect()
}

/// The node that the profile expects of each device: it names them for all devices of the box in the order of their addresses, those
/// that were left out on the command line among them. `None` where it gives another number of them.
fn expected_nodes(judging: &Judging<'_>, devices: &[&Device], nodes: &[u32]) -> Option<Vec<u32>> {
    if devices.len() == nodes.len() || devices.is_empty() {
        return Some(nodes.to_vec());
    }
    let left_out = &judging.findings.left_out_at;
    let own: Option<Vec<PciAddress>> = devices.iter().map(|device| device.it.address).collect();
    let own = own.filter(|own| own.len() + left_out.len() == nodes.len())?;
    let mut all: Vec<PciAddress> = own.iter().chain(left_out).copied().collect();
    all.sort();
    own.iter()
        .map(|address| Some(nodes[all.iter().position(|other| other == address)?]))
        .collect()
}
