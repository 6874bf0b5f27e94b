//! [`CHECKS`]: every comparison of a machine, a row each with what it shows.
//!
//! How a machine is started, and how a difference is told, stand elsewhere.

use anyhow::Result;

use super::{proofs, topology};
use crate::vm::machines::Machine;
use crate::vm::qemu::Sections;

/// One comparison of a booted machine.
pub(in crate::vm) struct Check {
    /// What is the same where it passes.
    pub(in crate::vm) name: &'static str,
    /// Fails with the difference.
    pub(in crate::vm) run: fn(&Machine, &Sections) -> Result<()>,
}

/// All comparisons, in the order in which they are told.
pub(in crate::vm) const CHECKS: &[Check] = &[
    Check {
        name: "the machine has the shape that was asked for",
        run: topology::shape,
    },
    Check {
        name: "nodes, CPUs, memory and distances are numactl's",
        run: topology::nodes,
    },
    Check {
        name: "every function is below the bridges that lspci -t draws",
        run: topology::tree,
    },
    Check {
        name: "every function is below the bridges that lspci -PP names",
        run: topology::paths,
    },
    Check {
        name: "every function is on the node that the kernel names",
        run: topology::kernel,
    },
    Check {
        name: "every function is beside the CPUs that hwloc puts it beside",
        run: topology::beside,
    },
    Check {
        name: "the nodes and their memory are hwloc's",
        run: topology::memory,
    },
    Check {
        name: "path classes are those of the shape, as nvidia-smi names them",
        run: topology::smi,
    },
    Check {
        name: "path classes are those of the shape, as NCCL computes them",
        run: topology::nccl,
    },
    Check {
        name: "memory is proven on every node and after a move to every other",
        run: proofs::proven,
    },
    Check {
        name: "memory on the last node is memory that the kernel counted there",
        run: proofs::counted,
    },
    Check {
        name: "a node that is absent is refused",
        run: proofs::absent,
    },
    Check {
        name: "a node that a cpuset forbids is refused and the allowed one proven",
        run: proofs::forbidden,
    },
    Check {
        name: "where the calls are refused no node is proven",
        run: proofs::refused,
    },
    Check {
        name: "where move_pages alone is refused every node is proven by get_mempolicy",
        run: proofs::proven_otherwise,
    },
    Check {
        name: "where both questions are refused no node is proven",
        run: proofs::unproven,
    },
];
