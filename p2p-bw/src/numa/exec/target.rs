//! [`Target`]: the GPUs that were named, their nodes, and the binding that follows.

use std::time::Duration;

use anyhow::Context;
use inventory::{BackendArg, Built};
use program::{Stop, sim};
use record::NumaBinding;
use runner::Interrupt;
use topology::{CpuSet, Machine, Sysfs};

use super::args::ExecArgs;
use crate::begun::Begun;
use crate::numa::binding;

/// How long a driver may take to list its devices.
const LISTING: Duration = Duration::from_secs(20);

/// Where a program is to run, and why there.
pub(super) struct Target {
    pub(super) nodes: NumaBinding,
    /// CPUs of the nodes.
    pub(super) cpus: CpuSet,
    /// What the search for a driver told.
    pub(super) said: Vec<String>,
}

impl Target {
    /// Asks the driver, or takes the nodes that were named.
    pub(super) fn find(args: &ExecArgs, interrupt: &Interrupt) -> Result<Self, Stop> {
        let found = Self::find_in(args, interrupt);
        sim::forget();
        found
    }

    fn find_in(args: &ExecArgs, interrupt: &Interrupt) -> Result<Self, Stop> {
        if !args.node.is_empty() {
            let machine = Machine::read(&Sysfs::real()).context("reading sysfs")?;
            if let Some(node) = args.node.iter().find(|node| machine.node(**node).is_none()) {
                return Err(Stop::Usage(format!(
                    "--node {node}: this machine has no such node; it has {}",
                    listed(&machine)
                )));
            }
            let nodes: Vec<Option<u32>> = args.node.iter().copied().map(Some).collect();
            let mut target = Self::of(machine, &nodes, Vec::new())?;
            let named: Vec<String> = args.node.iter().map(u32::to_string).collect();
            target.nodes.basis = format!("--node names {}", named.join(", "));
            return Ok(target);
        }
        let (begun, found) = Begun::look(&args.on, "numa", LISTING, interrupt)?;
        let chosen = &begun.chosen;
        if args.on.backend == BackendArg::Auto && chosen.backend == Built::Host {
            return Err(Stop::Refused(
                format!(
                    "no GPU was found ({}); install the GPU's driver, or name nodes with --node",
                    chosen.absent.join("; ")
                )
                .into(),
            ));
        }
        let devices = begun.describe(&found).into_iter();
        let nodes: Vec<Option<u32>> = devices.map(|device| device.node).collect();
        Self::of(begun.machine, &nodes, begun.chosen.said)
    }

    fn of(machine: Machine, nodes: &[Option<u32>], mut said: Vec<String>) -> Result<Self, Stop> {
        let mut nodes = nodes.to_vec();
        // The one node of a machine holds everything, whether or not the device says so.
        if let [only] = &machine.nodes[..]
            && nodes.contains(&None)
        {
            nodes.fill(Some(only.id));
            said.push(format!("node {} is the only one of this machine", only.id));
        }
        let Some(binding) = binding::of(&nodes, &machine) else {
            return Err(Stop::Refused(format!(
                "the kernel gives no NUMA node for these GPUs (numa_node is -1 or missing); this machine has {}: name nodes with --node",
                listed(&machine)
            ).into()));
        };
        let of_nodes = machine
            .nodes
            .iter()
            .filter(|node| binding.cpu_nodes.contains(&node.id));
        let cpus: CpuSet = of_nodes.flat_map(|node| node.cpus.iter()).collect();
        Ok(Self {
            cpus,
            nodes: binding,
            said,
        })
    }
}

/// The nodes of a machine, in words.
fn listed(machine: &Machine) -> String {
    let ids: Vec<String> = machine
        .nodes
        .iter()
        .map(|node| node.id.to_string())
        .collect();
    match ids.len() {
        0 => "none".to_owned(),
        1 => format!("node {} alone", ids[0]),
        _ => format!("nodes {}", ids.join(", ")),
    }
}
