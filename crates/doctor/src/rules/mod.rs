//! [`RULES`]: every rule, in the order in which findings of one verdict are shown.

mod host;
mod links;
mod nics;
mod nvlink;
mod peers;
mod process;
mod transport;
mod variables;
mod versions;

use topology::Fact;

use crate::{Facts, Finding, Gpu, Pair, Reading};

/// One thing that can be wrong. Its id is the code whose page says what is read, why it matters and what to do.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// A name that stays.
    pub id: &'static str,
    /// What it says of these facts: nothing where there is nothing that it could apply to.
    pub judge: fn(&Facts) -> Vec<Finding>,
}

const fn rule(id: &'static str, judge: fn(&Facts) -> Vec<Finding>) -> Rule {
    Rule { id, judge }
}

/// Every rule.
pub const RULES: &[Rule] = &[
    rule("peer-access-forbidden", peers::forbidden),
    rule("iommu-translates", peers::iommu),
    rule("acs-redirect", peers::acs),
    rule("large-bar", peers::large_bar),
    rule("amd-peer-links", peers::kfd),
    rule("nccl-p2p-level", transport::level),
    rule("guest", host::guest),
    rule("slot-link", links::link),
    rule("slot-below-card", links::slot),
    rule("link-errors", links::errors),
    rule("nvlink-inactive", nvlink::inactive),
    rule("nvlink-errors", nvlink::errors),
    rule("fabric-manager", nvlink::fabric),
    rule("memory-repairs", links::repairs),
    rule("cpu-governor", host::governor),
    rule("cpu-boost", host::boost),
    rule("numa-balancing", host::balancing),
    rule("shm-size", process::shared_memory),
    rule("memlock", process::memlock),
    rule("open-files", process::open_files),
    rule("cgroup-cpu", process::cpu),
    rule("cpuset", process::cpuset),
    rule("seccomp-numa", process::seccomp),
    rule("known-versions", versions::known),
    rule("host-hang", versions::host_hang),
    rule("variables", variables::set),
    rule("rccl-fine-grain", variables::fine_grain),
    rule("gpu-nic-memory", nics::peer_memory),
    rule("nic-link", nics::link),
    rule("gid-index", nics::gid),
    rule("gpu-nic-distance", nics::distance),
    rule("kernel-log", host::kernel_log),
];

/// What some of the rules say, by id, or all where none is named; the worst first, then in the order of the table.
#[must_use]
pub fn judge(facts: &Facts, only: &[&str]) -> Vec<Finding> {
    let chosen = RULES
        .iter()
        .filter(|rule| only.is_empty() || only.contains(&rule.id));
    let mut findings: Vec<Finding> = chosen
        .flat_map(|rule| {
            (rule.judge)(facts).into_iter().map(|mut finding| {
                rule.id.clone_into(&mut finding.rule);
                if finding.code.is_empty() {
                    rule.id.clone_into(&mut finding.code);
                }
                finding
            })
        })
        .collect();
    findings.sort_by_key(|finding| finding.verdict);
    findings
}

/// Judges what a file says, and names the file; unknown where it was not read.
fn of_file<T>(read: &Reading<T>, judge: impl FnOnce(&T) -> Finding) -> Finding {
    of_fact(&read.value, judge).with("in", read.source.as_str())
}

/// Judges a fact; unknown, with the reason, where it is not known.
fn of_fact<T>(fact: &Fact<T>, judge: impl FnOnce(&T) -> Finding) -> Finding {
    match fact {
        Fact::Known(value) => judge(value),
        Fact::Unknown(why) => Finding::unknown(why),
    }
}

/// A finding of each GPU.
fn of_gpus(facts: &Facts, judge: impl Fn(&Gpu) -> Finding) -> Vec<Finding> {
    let gpus = facts.gpus.iter();
    gpus.map(|gpu| judge(gpu).about(&gpu.label)).collect()
}

/// A finding of each pair of GPUs.
fn of_pairs(facts: &Facts, judge: impl Fn(&Pair) -> Finding) -> Vec<Finding> {
    let pairs = facts.pairs.iter();
    pairs.map(|pair| judge(pair).about(&pair.label)).collect()
}
