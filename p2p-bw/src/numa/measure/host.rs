//! Host memory by CPUs, from the parent's side: a child measures every node of CPUs against every node of memory.

use program::Break;
use record::{HostMemoryOutcome, HostMemoryPoint, LinkUse, Outcome};
use topology::{Machine, NumaNode, Sysfs};

use crate::messages::HostMemoryRequest;
use crate::numa::free;
use crate::parent::{Finding, JobEnd, Measurer};

/// The chain of loads is so many times the largest cache, within bounds: a load must not find its line there.
const CHAIN_CACHES: u64 = 4;
const CHAIN_BYTES: (u64, u64) = (64 << 20, 512 << 20);

/// The buffers of a copy are so many times the largest cache together.
const COPY_BYTES: (u64, u64) = (64 << 20, 256 << 20);

/// Measures every pair and hands on what was found.
///
/// # Errors
/// A signal came, or `keep` says so.
pub(super) fn measure(
    machine: &Machine,
    samples: usize,
    measurer: &mut Measurer<'_>,
    say: &dyn Fn(&str),
    keep: &mut dyn FnMut(HostMemoryPoint) -> Result<(), Break>,
) -> Result<(), Break> {
    let cache = machine.cpus.last_level_cache_bytes.unwrap_or(0);
    let chain_bytes = (cache * CHAIN_CACHES).clamp(CHAIN_BYTES.0, CHAIN_BYTES.1);
    let copy_bytes = (cache * 2)
        .next_power_of_two()
        .clamp(COPY_BYTES.0, COPY_BYTES.1);
    for (cpu, memory) in pairs(machine) {
        let request = HostMemoryRequest {
            cpus: cpu
                .map(|node| node.cpus.iter().collect())
                .unwrap_or_default(),
            cpu_node: cpu.map(|node| node.id),
            memory_node: memory.map(|node| node.id),
            copy_bytes,
            chain_bytes,
            samples,
        };
        let (cpu_node, memory_node) = (request.cpu_node, request.memory_node);
        let node = |node: Option<u32>| node.map_or_else(|| "any".to_owned(), |n| n.to_string());
        say(&format!(
            "host memory: CPUs of node {}, memory of node {}",
            node(cpu_node),
            node(memory_node)
        ));
        // Two buffers of a copy, then the chain alone; the child has given back what it had for the pair before.
        let wanted = chain_bytes.max(2 * copy_bytes);
        let too_little = memory_node.and_then(|node| {
            let free = free::of(&Sysfs::real(), node)?;
            free::too_little(node, free, wanted, "leave it out with --no-host")
        });
        let failed = |reason| HostMemoryOutcome::Failed { reason };
        let outcome = match too_little {
            Some(reason) => failed(reason.into()),
            None => match measurer.host_memory(request)? {
                JobEnd::HostMemory(outcome) => *outcome,
                end => match Finding::of(end, |_| LinkUse::default())
                    .map_err(Break::Signal)?
                    .outcome
                {
                    Outcome::Failed { reason } | Outcome::Skipped { reason } => failed(reason),
                    Outcome::Hang { doing } => failed(doing.into()),
                    _ => failed("it answered out of turn".into()),
                },
            },
        };
        keep(HostMemoryPoint {
            cpu_node,
            memory_node,
            outcome,
        })?;
    }
    Ok(())
}

/// Every node of CPUs with every node of memory; one of no node where the kernel shows none.
fn pairs(machine: &Machine) -> Vec<(Option<&NumaNode>, Option<&NumaNode>)> {
    if machine.nodes.is_empty() {
        return vec![(None, None)];
    }
    let with_cpus = machine.nodes.iter().filter(|node| !node.cpus.is_empty());
    let with_memory = || {
        let nodes = machine.nodes.iter();
        nodes.filter(|node| node.memory_bytes != Some(0))
    };
    with_cpus
        .flat_map(|cpu| with_memory().map(move |memory| (Some(cpu), Some(memory))))
        .collect()
}
