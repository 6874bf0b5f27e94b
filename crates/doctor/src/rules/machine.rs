//! Settings of the machine (processors, memory, the kernel's log), and what this process may use: shared memory, limits, control groups,
//! processors and nodes, system calls.

use super::{Silent, Told, about};
use crate::{Facts, Finding, Frequency, Process, Value, Verdict, event};

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

pub(super) fn guest(facts: &Facts) -> Told {
    let is_guest = facts.machine.hypervisor;
    let is_guest = is_guest.ok_or("this processor does not say whether there is a hypervisor")?;
    Ok(Finding::warn_if(is_guest).with("hypervisor", is_guest))
}

/// Drivers that choose by a preference have only two governors, and the slower one is no power saving by itself.
pub(super) fn governor(facts: &Facts) -> Told {
    let all = facts.host.frequency.told()?;
    let is_fast = |one: &Frequency| {
        one.governor == "performance" || one.preference.as_deref() == Some("performance")
    };
    let mut finding = Finding::warn_if(!all.iter().all(is_fast));
    for one in all {
        finding = finding
            .with("governor", one.governor.as_str())
            .with_some("driver", one.driver.as_deref())
            .with_some("preference", one.preference.as_deref())
            .with("policies", one.policies);
    }
    Ok(finding.within(&facts.host.frequency))
}

pub(super) fn boost(facts: &Facts) -> Told {
    let allowed = *facts.host.boost.told()?;
    let finding = Finding::warn_if(!allowed).with("allowed", allowed);
    Ok(finding.within(&facts.host.boost))
}

pub(super) fn balancing(facts: &Facts) -> Told {
    let (mode, nodes) = (
        *facts.host.numa_balancing.told()?,
        facts.machine.nodes.len(),
    );
    let finding = Finding::warn_if(mode != 0 && nodes > 1)
        .with("mode", u64::from(mode))
        .with("nodes", nodes);
    Ok(finding.within(&facts.host.numa_balancing))
}

/// Each kind of event once, in the order in which it was first seen.
pub(super) fn kernel_log(facts: &Facts) -> Vec<Finding> {
    let lines = match facts.given.kernel_log.told() {
        Ok(lines) => lines,
        Err(why) => return vec![Finding::unknown(why)],
    };
    let mut kinds: Vec<(Verdict, String, u64, &str)> = Vec::new();
    for line in lines {
        let Some((verdict, meaning)) = event(line) else {
            continue;
        };
        match kinds.iter_mut().find(|kind| kind.1 == meaning) {
            Some((_, _, count, last)) => (*count, *last) = (*count + 1, line),
            None => kinds.push((verdict, meaning, 1, line)),
        }
    }
    if kinds.is_empty() {
        let none = Finding::ok().with("lines", lines.len());
        return vec![none.with("faults", 0_u64)];
    }
    let finding = |(verdict, meaning, count, last): (Verdict, String, u64, &str)| {
        Finding::of(verdict)
            .with("event", meaning)
            .with("lines", count)
            .with("last", last)
    };
    kinds.into_iter().map(finding).collect()
}

pub(super) fn shared_memory(facts: &Facts) -> Vec<Finding> {
    let told = facts.given.shared_memory.told().map(|shared| {
        let verdict = match (shared.bytes, shared.free_bytes) {
            (..=SHARED_OF_DOCKER, _) => Verdict::Bad,
            (..SHARED_WANTED, _) | (_, ..SHARED_WANTED) => Verdict::Warn,
            _ => Verdict::Ok,
        };
        Finding::of(verdict)
            .with("size", Value::Bytes(shared.bytes))
            .with("free", Value::Bytes(shared.free_bytes))
    });
    let finding = about("/dev/shm", told.map_err(Silent::from));
    finding.into_iter().collect()
}

/// With both limits.
fn limited(finding: Finding, limits: [Option<u64>; 2]) -> Finding {
    let shown = limits.map(|limit| limit.map_or(Value::from("unlimited"), Value::Count));
    let [soft, hard] = shown;
    finding.with("soft limit", soft).with("hard limit", hard)
}

pub(super) fn memlock(_: &Facts, process: &Process) -> Told {
    let limits = *process.locked_bytes.told()?;
    let may_lock = process.has(IPC_LOCK) == Some(true);
    let finding = Finding::warn_if(limits[0].is_some() && !may_lock);
    let finding = limited(finding, limits).with("CAP_IPC_LOCK", may_lock);
    Ok(finding.within(&process.locked_bytes))
}

/// A soft limit below what vLLM asks for does not matter where the hard one reaches it: vLLM raises it.
pub(super) fn open_files(_: &Facts, process: &Process) -> Told {
    let limits = *process.open_files.told()?;
    let reaches = |limit: Option<u64>| limit.is_none_or(|limit| limit >= FILES_WANTED);
    let finding = Finding::warn_if(!limits.into_iter().any(reaches));
    Ok(limited(finding, limits).within(&process.open_files))
}

pub(super) fn cpu(facts: &Facts, process: &Process) -> Told {
    let finding = match process.group_cpus.told()? {
        None => Finding::ok().with("limit", "none"),
        Some(cpus) => {
            let online = facts.machine.cpus.count;
            let is_all = online.is_some_and(|online| *cpus >= online as f64);
            Finding::warn_if(!is_all).with("processors", format!("{cpus:.1}"))
        }
    };
    Ok(finding.within(&process.group_cpus))
}

pub(super) fn cpuset(facts: &Facts, process: &Process) -> Told {
    let (cpus, nodes) = (process.cpus.told()?, process.memory_nodes.told()?);
    let is_far = |node: &topology::NumaNode| {
        // A node without processors is nobody's to run on.
        let runs = node.cpus.is_empty() || node.cpus.iter().any(|cpu| cpus.contains(cpu));
        !runs || !nodes.contains(node.id as usize)
    };
    let far = facts.gpus.iter().filter(|gpu| {
        let node = gpu
            .pci
            .as_ref()
            .and_then(|pci| facts.machine.node(pci.node?));
        node.is_some_and(is_far)
    });
    let far: Vec<String> = far.map(|gpu| gpu.device.label.clone()).collect();
    let finding = Finding::warn_if(!far.is_empty())
        .with("processors", cpus.to_string())
        .with("memory nodes", nodes.to_string())
        .with_some("far from", (!far.is_empty()).then_some(far));
    Ok(finding.within(&process.cpus))
}

/// Docker's own filter lets mbind and its like through with `CAP_SYS_NICE`; what another lets through is not shown.
pub(super) fn seccomp(_: &Facts, process: &Process) -> Told {
    let (mode, may_bind) = (*process.seccomp.told()?, process.has(SYS_NICE));
    let finding = match (mode, may_bind) {
        (0, _) => Finding::ok(),
        (FILTER, Some(false)) => Finding::warn_if(true),
        _ => Finding::unknown("which calls the filter lets through is not shown"),
    };
    let finding = finding
        .with("mode", u64::from(mode))
        .with_some("CAP_SYS_NICE", may_bind);
    Ok(finding.within(&process.seccomp))
}
