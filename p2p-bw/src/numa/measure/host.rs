//! Host memory by CPUs, from the parent's side: a child measures every node of CPUs against every node of memory.

use std::time::Duration;

use measure::record::{HostMemoryOutcome, HostMemoryPoint};
use program::child::last_line;
use program::{Break, Stop, child::SHORT_LADDER};
use supervisor::{Event, Interrupt, Worker};
use topology::{Machine, NumaNode, Sysfs};

use crate::children::Child;
use crate::messages::{HostMemoryReply, HostMemoryRequest};
use crate::numa::free;

/// The chain of loads is so many times the largest cache, within bounds: a load must not find its line there.
const CHAIN_CACHES: u64 = 4;
const CHAIN_BYTES: (u64, u64) = (64 << 20, 512 << 20);

/// The buffers of a copy are so many times the largest cache together.
const COPY_BYTES: (u64, u64) = (64 << 20, 256 << 20);

/// Measures every pair; `keep` takes each point when it is there.
pub(super) fn measure(
    sysfs: &Sysfs,
    machine: &Machine,
    samples: usize,
    deadline: Duration,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
    keep: &mut dyn FnMut(HostMemoryPoint) -> Result<(), Break>,
) -> Result<(), Break> {
    let cache = machine.cpus.last_level_cache_bytes.unwrap_or(0);
    let chain_bytes = (cache * CHAIN_CACHES).clamp(CHAIN_BYTES.0, CHAIN_BYTES.1);
    let copy_bytes = (cache * 2)
        .next_power_of_two()
        .clamp(COPY_BYTES.0, COPY_BYTES.1);
    let mut worker: Option<Worker> = None;
    for (cpu, memory) in pairs(machine) {
        if let Some(signal) = interrupt.signal() {
            return Err(Break::Signal(signal));
        }
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
        let node = |node: Option<u32>| node.map_or_else(|| "any".to_owned(), |n| n.to_string());
        say(&format!(
            "host memory: CPUs of node {}, memory of node {}",
            node(request.cpu_node),
            node(request.memory_node)
        ));
        // Two buffers of a copy, then the chain alone; the child has given back what it had for the pair before.
        let wanted = chain_bytes.max(2 * copy_bytes);
        let free = request.memory_node.and_then(|node| free::of(sysfs, node));
        let too_little = request.memory_node.zip(free);
        let too_little = too_little.and_then(|(node, free)| {
            free::too_little(node, free, wanted, "leave it out with --no-host")
        });
        let outcome = match too_little {
            Some(reason) => Ok(HostMemoryOutcome::Failed { reason }),
            None => ask(&mut worker, &request, deadline, interrupt)?,
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(reason) => {
                if let Some(mut worker) = worker.take() {
                    worker.end(SHORT_LADDER);
                }
                HostMemoryOutcome::Failed { reason }
            }
        };
        keep(HostMemoryPoint {
            cpu_node: request.cpu_node,
            memory_node: request.memory_node,
            outcome,
        })?;
    }
    if let Some(mut worker) = worker {
        worker.end(SHORT_LADDER);
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

/// Asks the child, which is started where there is none; why there is no answer.
fn ask(
    worker: &mut Option<Worker>,
    request: &HostMemoryRequest,
    deadline: Duration,
    interrupt: &Interrupt,
) -> Result<Result<HostMemoryOutcome, String>, Stop> {
    if worker.is_none() {
        *worker = Some(Child::HostMemory.start()?);
    }
    let Some(worker) = worker else {
        return Ok(Err("its process is gone".to_owned()));
    };
    if let Err(error) = worker.send(request) {
        return Ok(Err(error.to_string()));
    }
    loop {
        match worker.next::<HostMemoryReply>(deadline, interrupt) {
            Event::Message(HostMemoryReply::Doing { .. }) => {}
            Event::Message(HostMemoryReply::Done { outcome }) => return Ok(Ok(*outcome)),
            Event::Silent { waited } => {
                let waited = waited.as_secs_f64();
                return Ok(Err(format!(
                    "no progress for {waited:.0} s; its process was ended"
                )));
            }
            Event::Exited(status) => {
                let said = last_line(&worker.tail());
                return Ok(Err(format!(
                    "its process ended with {status}: {said} (perhaps the node's memory is full)"
                )));
            }
            Event::Interrupted(signal) => return Err(Stop::Interrupted(signal)),
            Event::Garbled { error, .. } => {
                return Ok(Err(format!("its answer was not understood: {error}")));
            }
        }
    }
}
