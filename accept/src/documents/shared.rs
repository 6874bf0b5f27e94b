//! What of a report may be handed on. Names of the machine, UUIDs and serials become stand-ins, the same wherever the same thing is named, so
//! that a fleet's reports still tell nodes and cards apart. Texts are kept by an allow-list: what this program composes of numbers, labels and
//! links stays, and words of drivers, kernels, servers and libraries stay in the run's own folder.
//!
//! The structs are taken apart in full, so that a field that is added and not named here does not compile. PCI addresses stay: they name a
//! slot of a board of which there are many.

use sha2::{Digest, Sha256};

use crate::report::{Check, Evidence, Reason, ReasonCode, Report, ReportDevice, RunStatus};

/// A machine whose name can only be withheld.
pub(crate) const NODE_WITHHELD: &str = "node-withheld";

/// In place of words that are not handed on.
const WITHHELD: &str = "(withheld)";

/// Kinds whose states are composed here of labels, links, nodes and counts.
const OWN_STATES: [&str; 13] = [
    "inventory",
    "idle",
    "numa_node",
    "link",
    "link_transitions",
    "peer_access",
    "data",
    "throttle",
    "temperature",
    "memory_repairs",
    "memory",
    "arithmetic",
    "serving",
];

/// Codes whose details hold words of others: of a program that failed, a driver, the kernel's log, a server.
const WORDS_OF_OTHERS: [ReasonCode; 10] = [
    ReasonCode::NotMeasured,
    ReasonCode::Unreadable,
    ReasonCode::Unreadable,
    ReasonCode::DeviceLost,
    ReasonCode::Hang,
    ReasonCode::WrongData,
    ReasonCode::ErrorsCounted,
    ReasonCode::Noisy,
    // The names of their processes.
    ReasonCode::DeviceBusy,
    ReasonCode::NotApplicable,
];

/// The report as it may be handed on, unless identities are to stay. One that has none is returned as it is.
pub(crate) fn redacted(report: Report, identify: bool) -> Report {
    match identify || !report.node.identified {
        true => report,
        false => of_report(report),
    }
}

/// The report as its own user sees it: with the words of drivers, and with identities only where they are to stay.
pub(super) fn unnamed(mut report: Report, identify: bool) -> Report {
    if identify || !report.node.identified {
        return report;
    }
    let stand_ins = StandIns::of(&report.node.name, &report.devices);
    report.node.name.clone_from(&stand_ins.node);
    report.node.identified = false;
    let identities = report.devices.iter_mut();
    for identity in identities.filter_map(|device| device.identity.as_mut()) {
        *identity = stand_ins.identity(identity);
    }
    report
}

fn of_report(report: Report) -> Report {
    let mut report = unnamed(report, false);
    // Taken apart in full: what is added has to be named here.
    let Report {
        schema: _,
        program: _,
        version: _,
        program_sha256: _,
        simulated: _,
        started: _,
        took_s: _,
        status,
        verdict: _,
        exit_code: _,
        profile,
        level: _,
        node: _,
        devices: _,
        checks,
        not_covered: _,
        notes: _,
        checksum,
    } = &mut report;
    if let RunStatus::Failed { reason } = status {
        WITHHELD.clone_into(reason);
    }
    if !profile.shipped {
        profile.title.clear();
    }
    checks.iter_mut().for_each(of_check);
    *checksum = None;
    report
}

/// Figures and counts stay; details and states stay where this program composed them.
fn of_check(check: &mut Check) {
    let Check {
        id: _,
        kind,
        about: _,
        required: _,
        verdict: _,
        reason: Reason { code, detail },
        limit: _,
        evidence,
    } = check;
    let has_words = WORDS_OF_OTHERS.contains(code) || kind == "kernel_log";
    if has_words && !detail.is_empty() {
        WITHHELD.clone_into(detail);
    }
    if OWN_STATES.contains(&kind.as_str()) && !has_words {
        return;
    }
    for piece in evidence {
        if let Evidence::Seen { what, value, .. } = piece {
            WITHHELD.clone_into(what);
            WITHHELD.clone_into(value);
        }
    }
}

/// What stands for the identities of one report.
struct StandIns {
    node: String,
    /// Hash of all that an outsider does not know.
    key: String,
}

impl StandIns {
    /// A machine's name, of which there are few likely ones, is hashed together with the UUIDs of its devices; without one it is withheld.
    fn of(name: &str, devices: &[ReportDevice]) -> Self {
        let devices = devices.iter();
        let mut identities: Vec<&str> = devices
            .filter_map(|device| device.identity.as_deref())
            .collect();
        identities.sort_unstable();
        let strong: Vec<&str> = identities
            .iter()
            .copied()
            .filter(|identity| is_strong(identity))
            .collect();
        Self {
            key: hash(&["key", name, &identities.join(" ")]),
            node: match strong.is_empty() {
                true => NODE_WITHHELD.to_owned(),
                false => format!("node-{}", hash(&["node", name, &strong.join(" ")])),
            },
        }
    }

    /// A UUID that nobody guesses has the same stand-in in every report; a serial is hashed together with the rest of the machine.
    fn identity(&self, identity: &str) -> String {
        match is_strong(identity) {
            true => format!("id-{}", hash(&["id", identity])),
            false => format!("id-{}", hash(&["id", &self.key, identity])),
        }
    }
}

/// Whether an identity has so many hexadecimal digits that nobody guesses it.
fn is_strong(identity: &str) -> bool {
    let digits = identity.chars().filter(char::is_ascii_hexdigit).count();
    digits >= 16
}

/// The beginning of a hash over some texts, 40 bits: a fleet of a thousand has two alike once in two million times.
fn hash(parts: &[&str]) -> String {
    let mut sha = Sha256::new();
    sha.update("tplens accept stand-in");
    for part in parts {
        sha.update([0]);
        sha.update(part.to_ascii_lowercase());
    }
    let digest = sha.finalize();
    let begin = digest.iter().take(5);
    begin.map(|byte| format!("{byte:02x}")).collect()
}
