//! What of a report may be handed on, by an allow-list: figures, codes, and the states and details that this program composes of numbers,
//! labels and links. Words of drivers, kernels, servers and libraries stay in the run's own folder. Names of the machine, UUIDs and serials
//! become stand-ins, the same in every report of a machine, so that a fleet's reports still tell nodes and cards apart.
//!
//! The structs are taken apart in full, so that a field that is added and not named here does not compile. PCI addresses stay: they name a
//! slot of a board of which there are many.

use sha2::{Digest, Sha256};

use crate::report::{Check, Evidence, Reason, ReasonCode, Report, RunStatus, hex};

/// A machine whose name can only be withheld.
pub(crate) const NODE_WITHHELD: &str = "node-withheld";

/// In place of words that are not handed on.
pub(super) const WITHHELD: &str = "(withheld)";

/// Whether the details of a code are composed here, of numbers and labels.
fn has_own_details(code: ReasonCode) -> bool {
    use ReasonCode::{AsExpected, BeyondLimit, ErrorsCounted, LinkDegraded, Throttled};
    matches!(
        code,
        AsExpected | BeyondLimit | LinkDegraded | ErrorsCounted | Throttled
    )
}

/// The report as it may be handed on, unless identities are to stay. One that has none is returned as it is.
pub(crate) fn redacted(mut report: Report, identify: bool) -> Report {
    if identify || !report.node.identified {
        return report;
    }
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
        node,
        devices,
        checks,
        not_covered: _,
        notes: _,
        journal_sha256: _,
    } = &mut report;
    if let RunStatus::Failed { reason } = status {
        WITHHELD.clone_into(reason);
    }
    if !profile.shipped {
        profile.title.clear();
    }
    // A machine's name, of which there are few likely ones, is hashed together with the UUIDs of its devices.
    let all = devices.iter();
    let mut all: Vec<&str> = all.filter_map(|one| one.identity.as_deref()).collect();
    all.sort_unstable();
    let key = hash(&[&node.name, &all.join(" ")]);
    node.name = match all.is_empty() {
        true => NODE_WITHHELD.to_owned(),
        false => format!("node-{key}"),
    };
    node.identified = false;
    for identity in devices.iter_mut().filter_map(|one| one.identity.as_mut()) {
        *identity = format!("id-{}", hash(&[&key, identity]));
    }
    for check in checks {
        of_check(check, profile.shipped);
    }
    report
}

fn of_check(check: &mut Check, is_shipped: bool) {
    let Check {
        id: _,
        kind,
        about: _,
        required: _,
        verdict: _,
        reason: Reason { code, detail },
        limit,
        evidence,
        advice: _,
    } = check;
    if !detail.is_empty() && (!has_own_details(*code) || kind == "kernel_log") {
        WITHHELD.clone_into(detail);
    }
    if let Some(limit) = limit.as_mut().filter(|_| !is_shipped) {
        WITHHELD.clone_into(&mut limit.source);
    }
    for piece in evidence {
        if let Evidence::Seen(seen) = piece
            && !seen.own
        {
            WITHHELD.clone_into(&mut seen.what);
            WITHHELD.clone_into(&mut seen.value);
        }
    }
}

/// The beginning of a hash over some texts, 40 bits: a fleet of a thousand has two alike once in two million times.
fn hash(parts: &[&str]) -> String {
    let mut sha = Sha256::new();
    sha.update("tplens accept stand-in");
    for part in parts {
        sha.update([0]);
        sha.update(part.to_ascii_lowercase());
    }
    hex(&sha.finalize()[..5])
}
