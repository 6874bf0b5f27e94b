//! What a container allows: control groups, processors and nodes, system calls.

use super::PROCESS;
use super::limits::of_process;
use crate::{Facts, Finding};

/// CAP_SYS_NICE (linux/capability.h).
const SYS_NICE: u32 = 23;
/// Seccomp's mode in which a filter decides.
const FILTER: u32 = 2;
/// What a GPU's rank wants free at least: pinned buffers, weights on their way to the GPU.
const MEMORY_WANTED: u64 = 8 << 30;
/// What a GPU's rank may start: threads of the engine, the driver and the library.
const TASKS_WANTED: u64 = 512;

/// How many ranks are counted with; one where there is no GPU.
fn ranks(facts: &Facts) -> u64 {
    facts.gpus.len().max(1) as u64
}

pub(super) fn cpu(facts: &Facts) -> Vec<Finding> {
    of_process(facts, |process| {
        let read = &process.cgroup.cpus;
        let online = facts.machine.cpus.count;
        match read.told() {
            Err(why) => Finding::cannot_tell(PROCESS, why),
            Ok(None) => Finding::ok(PROCESS, format!("{}: no limit", read.source)),
            Ok(Some(cpus)) => {
                let seen = format!("{}: {cpus:.1} processors' time", read.source);
                match online {
                    Some(online) if *cpus >= online as f64 => Finding::ok(PROCESS, seen),
                    _ => Finding::warn(
                        PROCESS,
                        seen,
                        "give whole processors by cpuset (--cpuset-cpus, or the static CPU manager of Kubernetes) instead of a share of time",
                    ),
                }
            }
        }
    })
}

pub(super) fn memory(facts: &Facts) -> Vec<Finding> {
    of_process(facts, |process| {
        let read = &process.cgroup.memory;
        let wanted = ranks(facts) * MEMORY_WANTED;
        match read.told() {
            Err(why) => Finding::cannot_tell(PROCESS, why),
            Ok(None) => Finding::ok(PROCESS, format!("{}: no limit", read.source)),
            Ok(Some(quota)) => {
                let seen = format!(
                    "{}: {} MiB, of which {} MiB are free",
                    read.source,
                    quota.limit >> 20,
                    quota.free() >> 20
                );
                if quota.free() < wanted {
                    let todo = format!(
                        "allow {} MiB more, or leave the limit out",
                        (wanted - quota.free()) >> 20
                    );
                    Finding::warn(PROCESS, seen, todo)
                } else {
                    Finding::ok(PROCESS, seen)
                }
            }
        }
    })
}

pub(super) fn tasks(facts: &Facts) -> Vec<Finding> {
    of_process(facts, |process| {
        let read = &process.cgroup.tasks;
        let wanted = ranks(facts) * TASKS_WANTED;
        match read.told() {
            Err(why) => Finding::cannot_tell(PROCESS, why),
            Ok(None) => Finding::ok(PROCESS, format!("{}: no limit", read.source)),
            Ok(Some(quota)) => {
                let seen = format!(
                    "{}: {}, of which {} are free",
                    read.source,
                    quota.limit,
                    quota.free()
                );
                if quota.free() < wanted {
                    Finding::warn(
                        PROCESS,
                        seen,
                        "in a container: --pids-limit=-1; in a unit: TasksMax=infinity",
                    )
                } else {
                    Finding::ok(PROCESS, seen)
                }
            }
        }
    })
}

pub(super) fn cpuset(facts: &Facts) -> Vec<Finding> {
    of_process(facts, |process| {
        let (cpus, nodes) = match (process.cpus.told(), process.memory_nodes.told()) {
            (Ok(cpus), Ok(nodes)) => (cpus, nodes),
            (Err(why), _) | (_, Err(why)) => return Finding::cannot_tell(PROCESS, why),
        };
        let seen = format!(
            "{}: processors {cpus}, memory of nodes {nodes}",
            process.cpus.source
        );
        let mut far = Vec::new();
        for gpu in &facts.gpus {
            let Some(node) = gpu.node.and_then(|node| facts.machine.node(node)) else {
                continue;
            };
            let label = &gpu.label;
            // A node without processors is nobody's to run on.
            if !node.cpus.is_empty() && !node.cpus.iter().any(|cpu| cpus.contains(cpu)) {
                far.push(format!(
                    "none of the processors of node {}, that of {label}",
                    node.id
                ));
            }
            if !nodes.contains(node.id as usize) {
                far.push(format!("no memory of node {}, that of {label}", node.id));
            }
        }
        if far.is_empty() {
            return Finding::ok(PROCESS, seen);
        }
        Finding::warn(
            PROCESS,
            format!("{seen}: {}", far.join("; ")),
            "in a container: --cpuset-cpus and --cpuset-mems with the nodes of the GPUs; `p2p-bw topo` says which",
        )
    })
}

pub(super) fn seccomp(facts: &Facts) -> Vec<Finding> {
    of_process(facts, |process| {
        let read = &process.seccomp;
        match (read.told(), process.has(SYS_NICE)) {
            (Err(why), _) => Finding::cannot_tell(PROCESS, why),
            (Ok(0), _) => Finding::ok(
                PROCESS,
                format!("{}: no filter of system calls", read.source),
            ),
            // Docker's own filter lets mbind, set_mempolicy and get_mempolicy through then, and move_pages not; another may refuse all.
            (Ok(mode), Some(true)) => Finding::cannot_tell(
                PROCESS,
                format!(
                    "{}: seccomp mode {mode}, with CAP_SYS_NICE; which calls the filter lets through is not shown",
                    read.source
                ),
            )
            .with_todo("`p2p-bw numa prove` says whether memory can be bound"),
            (Ok(&FILTER), Some(false)) => Finding::warn(
                PROCESS,
                format!(
                    "{}: a filter of system calls, without CAP_SYS_NICE",
                    read.source
                ),
                "`p2p-bw numa prove` says whether memory can be bound; in a container: --cap-add SYS_NICE lets mbind, \
                 set_mempolicy and get_mempolicy through; to move pages needs a seccomp profile of your own",
            ),
            (Ok(mode), _) => Finding::cannot_tell(
                PROCESS,
                format!(
                    "{}: seccomp mode {mode}, and the capabilities are not known",
                    read.source
                ),
            )
            .with_todo("`p2p-bw numa prove` says whether memory can be bound"),
        }
    })
}
