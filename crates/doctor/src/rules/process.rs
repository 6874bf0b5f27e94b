//! What this process may use: shared memory, limits, control groups, processors and nodes, system calls.

use super::{of_fact, of_file};
use crate::{Facts, Finding, Process, Value};

/// The subject of what is the process's.
pub(super) const PROCESS: &str = "this process";
/// What NCCL's page gives a container.
const SHARED_WANTED: u64 = 1 << 30;
/// What Docker gives a container that asks for nothing.
const SHARED_OF_DOCKER: u64 = 64 << 20;
/// CAP_IPC_LOCK (linux/capability.h): the limit of locked memory does not count.
const IPC_LOCK: u32 = 14;
/// CAP_SYS_NICE (linux/capability.h).
const SYS_NICE: u32 = 23;
/// What vLLM asks for.
const FILES_WANTED: u64 = 65_535;
/// Seccomp's mode in which a filter decides.
const FILTER: u32 = 2;

/// Judges this process, or says why it is of no account.
fn of_process(facts: &Facts, judge: impl FnOnce(&Process) -> Finding) -> Vec<Finding> {
    vec![of_fact(&facts.process, judge).about(PROCESS)]
}

pub(super) fn shared_memory(facts: &Facts) -> Vec<Finding> {
    let finding = of_fact(&facts.given.shared_memory, |shared| {
        let verdict = match (shared.bytes, shared.free_bytes) {
            (..=SHARED_OF_DOCKER, _) => crate::Verdict::Bad,
            (..SHARED_WANTED, _) | (_, ..SHARED_WANTED) => crate::Verdict::Warn,
            _ => crate::Verdict::Ok,
        };
        Finding::of(verdict)
            .with("size", Value::Bytes(shared.bytes))
            .with("free", Value::Bytes(shared.free_bytes))
    });
    vec![finding.about("/dev/shm")]
}

/// With a limit, where there is one.
fn limited(finding: Finding, name: &str, limit: Option<u64>) -> Finding {
    match limit {
        Some(limit) => finding.with(name, limit),
        None => finding.with(name, "unlimited"),
    }
}

pub(super) fn memlock(facts: &Facts) -> Vec<Finding> {
    of_process(facts, |process| {
        of_file(&process.locked_bytes, |[soft, hard]| {
            let may_lock = process.has(IPC_LOCK) == Some(true);
            let finding = Finding::warn_if(soft.is_some() && !may_lock);
            let finding = limited(limited(finding, "soft limit", *soft), "hard limit", *hard);
            finding.with("CAP_IPC_LOCK", may_lock)
        })
    })
}

/// A soft limit below what vLLM asks for does not matter where the hard one reaches it: vLLM raises it.
pub(super) fn open_files(facts: &Facts) -> Vec<Finding> {
    of_process(facts, |process| {
        of_file(&process.open_files, |[soft, hard]| {
            let reaches = |limit: Option<u64>| limit.is_none_or(|limit| limit >= FILES_WANTED);
            let finding = Finding::warn_if(!reaches(*soft) && !reaches(*hard));
            limited(limited(finding, "soft limit", *soft), "hard limit", *hard)
        })
    })
}

pub(super) fn cpu(facts: &Facts) -> Vec<Finding> {
    of_process(facts, |process| {
        of_file(&process.group_cpus, |limit| {
            let Some(cpus) = limit else {
                return Finding::ok().with("limit", "none");
            };
            let online = facts.machine.cpus.count;
            let is_all = online.is_some_and(|online| *cpus >= online as f64);
            Finding::warn_if(!is_all).with("processors", format!("{cpus:.1}"))
        })
    })
}

pub(super) fn cpuset(facts: &Facts) -> Vec<Finding> {
    of_process(facts, |process| {
        of_file(&process.cpus, |cpus| {
            of_fact(&process.memory_nodes.value, |nodes| {
                let mut far = Vec::new();
                for gpu in &facts.gpus {
                    let node = gpu.node.and_then(|node| facts.machine.node(node));
                    let is_far = node.is_some_and(|node| {
                        // A node without processors is nobody's to run on.
                        let runs = node.cpus.iter().any(|cpu| cpus.contains(cpu));
                        !runs && !node.cpus.is_empty() || !nodes.contains(node.id as usize)
                    });
                    far.extend(is_far.then(|| gpu.label.clone()));
                }
                let finding = Finding::warn_if(!far.is_empty())
                    .with("processors", cpus.to_string())
                    .with("memory nodes", nodes.to_string());
                match far.is_empty() {
                    true => finding,
                    false => finding.with("far from", far),
                }
            })
        })
    })
}

/// Docker's own filter lets mbind and its like through with `CAP_SYS_NICE`; what another lets through is not shown.
pub(super) fn seccomp(facts: &Facts) -> Vec<Finding> {
    of_process(facts, |process| {
        of_file(&process.seccomp, |mode| {
            let may_bind = process.has(SYS_NICE);
            let finding = match (*mode, may_bind) {
                (0, _) => Finding::ok(),
                (FILTER, Some(false)) => Finding::warn_if(true),
                _ => Finding::unknown("which calls the filter lets through is not shown"),
            };
            let finding = finding.with("mode", *mode);
            match may_bind {
                Some(may_bind) => finding.with("CAP_SYS_NICE", may_bind),
                None => finding,
            }
        })
    })
}
