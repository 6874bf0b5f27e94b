//! [`RULES`]: every rule, in the order in which findings of one verdict are shown.

mod gpus;
mod links;
mod machine;
mod nics;
mod software;

use crate::finding::MACHINE;
use crate::{Card, Facts, Finding, Gpu, Pair, Port, Process};

/// The subject of what is the process's.
const PROCESS: &str = "this process";

/// One thing that can be wrong. Its id is the code whose page says what is read, why it matters and what to do.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// A name that stays.
    pub id: &'static str,
    judge: Judge,
}

/// What a rule says, of each of what it looks at.
#[derive(Debug, Clone, Copy)]
enum Judge {
    Machine(fn(&Facts) -> Told),
    Process(fn(&Facts, &Process) -> Told),
    Gpus(fn(&Facts, &Gpu) -> Told),
    Pairs(fn(&Facts, &Pair) -> Told),
    /// Ports of network cards with RDMA.
    Ports(fn(&Facts, &Card, &Port) -> Told),
    /// As many findings as there are, each with its subject.
    All(fn(&Facts) -> Vec<Finding>),
}

/// What a rule says of one thing, or why it says nothing.
type Told = Result<Finding, Silent>;

/// Why a rule does not judge.
enum Silent {
    /// What it would look at could not be read, for this reason.
    Unknown(String),
    /// There is nothing that it could apply to.
    Elsewhere,
}

impl<T: Into<String>> From<T> for Silent {
    fn from(why: T) -> Self {
        Self::Unknown(why.into())
    }
}

use Judge::{All, Gpus, Machine, Pairs, Ports};

const fn rule(id: &'static str, judge: Judge) -> Rule {
    Rule { id, judge }
}

/// Every rule.
pub const RULES: &[Rule] = &[
    rule("peer-access-forbidden", Gpus(gpus::forbidden)),
    rule("iommu-translates", Pairs(gpus::iommu)),
    rule("acs-redirect", Pairs(gpus::acs)),
    rule("large-bar", Gpus(gpus::large_bar)),
    rule("amd-peer-links", Machine(gpus::kfd)),
    rule("nccl-p2p-level", All(software::level)),
    rule("guest", Machine(machine::guest)),
    rule("slot-link", Gpus(links::link)),
    rule("slot-below-card", Gpus(links::slot)),
    rule("link-errors", Gpus(links::errors)),
    rule("nvlink-inactive", Gpus(links::nvlink_inactive)),
    rule("nvlink-errors", Gpus(links::nvlink_errors)),
    rule("fabric-manager", Gpus(links::fabric)),
    rule("memory-repairs", Gpus(gpus::repairs)),
    rule("cpu-governor", Machine(machine::governor)),
    rule("cpu-boost", Machine(machine::boost)),
    rule("numa-balancing", Machine(machine::balancing)),
    rule("shm-size", All(machine::shared_memory)),
    rule("memlock", Judge::Process(machine::memlock)),
    rule("open-files", Judge::Process(machine::open_files)),
    rule("cgroup-cpu", Judge::Process(machine::cpu)),
    rule("cpuset", Judge::Process(machine::cpuset)),
    rule("seccomp-numa", Judge::Process(machine::seccomp)),
    rule("known-versions", All(software::known)),
    rule("host-hang", Machine(software::host_hang)),
    rule("variables", All(software::variables)),
    rule("rccl-fine-grain", All(software::fine_grain)),
    rule("gpu-nic-memory", Machine(nics::peer_memory)),
    rule("nic-link", Ports(nics::link)),
    rule("gid-index", Ports(nics::gid)),
    rule("nic-slot", Ports(nics::slot)),
    rule("nic-mtu", Ports(nics::mtu)),
    rule("nic-errors", Ports(nics::errors)),
    rule("gpu-nic-distance", Gpus(nics::distance)),
    rule("gpu-nic-pairing", Machine(nics::pairing)),
    rule("gpu-nic-acs", Gpus(nics::acs)),
    rule("transfer-devices", All(nics::transfer_devices)),
    rule("kernel-log", All(machine::kernel_log)),
];

/// What the rules say; the worst first, then in the order of the table.
#[must_use]
pub fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        for mut finding in rule.judge.of(facts) {
            rule.id.clone_into(&mut finding.rule);
            if finding.code.is_empty() {
                rule.id.clone_into(&mut finding.code);
            }
            findings.push(finding);
        }
    }
    findings.sort_by_key(|finding| finding.verdict);
    findings
}

impl Judge {
    fn of(self, facts: &Facts) -> Vec<Finding> {
        match self {
            All(judge) => judge(facts),
            Machine(judge) => about(MACHINE, judge(facts)).into_iter().collect(),
            Self::Process(judge) => {
                let process = facts.process.told().map_err(Silent::from);
                let told = process.and_then(|process| judge(facts, process));
                about(PROCESS, told).into_iter().collect()
            }
            Gpus(judge) => {
                let gpus = facts.gpus.iter();
                gpus.filter_map(|gpu| about(&gpu.device.label, judge(facts, gpu)))
                    .collect()
            }
            Pairs(judge) => {
                let pairs = facts.pairs.iter();
                pairs
                    .filter_map(|pair| about(&pair.label, judge(facts, pair)))
                    .collect()
            }
            Ports(judge) => match facts.nics.told() {
                Err(why) => about(MACHINE, Err(why.into())).into_iter().collect(),
                Ok(cards) => {
                    let ports = cards.iter();
                    let ports =
                        ports.flat_map(|card| card.ports.iter().map(move |port| (card, port)));
                    let told =
                        |(card, port): (&Card, &Port)| about(&port.label, judge(facts, card, port));
                    ports.filter_map(told).collect()
                }
            },
        }
    }
}

/// The finding of a subject, where there is one.
fn about(subject: &str, told: Told) -> Option<Finding> {
    let finding = match told {
        Ok(finding) => finding,
        Err(Silent::Unknown(why)) => Finding::unknown(why),
        Err(Silent::Elsewhere) => return None,
    };
    Some(finding.about(subject))
}
