//! Every text of a report, one after the other, with what kind of text it is: what is cleaned before it is shown, and what identities are
//! taken out of.
//!
//! The structs are taken apart in full, so that a field that is added and not named here does not compile.

use measure::control;
use measure::record::Simulated;

use crate::report::{
    Check, Evidence, Fingerprint, Limit, Node, ProfileUsed, Reason, Report, ReportDevice,
    RunStatus, Series, Setting,
};

/// What a text of a report is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The machine's name.
    NodeName,
    /// A UUID or serial.
    Identity,
    /// A key, a label, a hash, a unit: others refer to it as it is.
    Key,
    /// A name of a thing that many have: device, driver, kernel, CPU.
    Model,
    /// From a profile: the same in every report that used it.
    Profile,
    /// Words of programs, drivers and the kernel.
    Words,
}

/// Characters of names and keys that are shown.
const NAME: usize = 80;

/// Characters of other texts that are shown.
const TEXT: usize = 600;

/// A copy that can be shown: no control characters in any text, and none longer than a reader would read.
pub(super) fn cleaned(report: &Report) -> Report {
    let mut report = report.clone();
    each(&mut report, &mut |place, text| {
        let most = match place {
            Place::NodeName | Place::Identity | Place::Key | Place::Model => NAME,
            Place::Profile | Place::Words => TEXT,
        };
        if text.contains(control::is_unseen) {
            *text = control::replaced(text);
        }
        if let Some((end, _)) = text.char_indices().nth(most) {
            text.truncate(end);
            text.push('…');
        }
    });
    report
}

/// Shows every text of a report to `visit`.
pub(super) fn each(report: &mut Report, visit: &mut dyn FnMut(Place, &mut String)) {
    let Report {
        schema: _,
        program,
        version,
        program_sha256,
        simulated,
        started,
        took_s: _,
        status,
        verdict: _,
        exit_code: _,
        profile,
        level,
        node,
        devices,
        checks,
        settings,
        series,
        not_covered,
        notes,
    } = report;
    for key in [program, version, started, level]
        .into_iter()
        .chain(program_sha256)
    {
        visit(Place::Key, key);
    }
    if let Some(Simulated { box_name }) = simulated {
        visit(Place::Key, box_name);
    }
    match status {
        RunStatus::Complete | RunStatus::Broken => {}
        RunStatus::Interrupted { signal } => visit(Place::Key, signal),
        RunStatus::Failed { reason } => visit(Place::Words, reason),
    }
    let ProfileUsed {
        name,
        title,
        sha256,
        shipped: _,
        baseline_sha256,
    } = profile;
    visit(Place::Profile, name);
    visit(Place::Profile, title);
    for key in [sha256].into_iter().chain(baseline_sha256) {
        visit(Place::Key, key);
    }
    each_of_node(node, visit);
    devices
        .iter_mut()
        .for_each(|device| each_of_device(device, visit));
    checks
        .iter_mut()
        .for_each(|check| each_of_check(check, visit));
    for Setting {
        name,
        value,
        why_not,
    } in settings
    {
        visit(Place::Words, name);
        for words in value.iter_mut().chain(why_not) {
            visit(Place::Words, words);
        }
    }
    for Series {
        device,
        key,
        unit,
        points: _,
        states,
    } in series
    {
        for key in [device, key, unit] {
            visit(Place::Key, key);
        }
        states
            .iter_mut()
            .for_each(|(_, state)| visit(Place::Words, state));
    }
    for words in not_covered.iter_mut().chain(notes) {
        visit(Place::Words, words);
    }
}

fn each_of_node(node: &mut Node, visit: &mut dyn FnMut(Place, &mut String)) {
    let Node {
        name,
        identified: _,
        fingerprint,
    } = node;
    visit(Place::NodeName, name);
    let Fingerprint {
        backend,
        devices,
        driver,
        interface,
        collectives,
        kernel,
        cpu,
        topology,
        max_payload_bytes: _,
    } = fingerprint;
    let known = [driver, interface, collectives, kernel, cpu]
        .into_iter()
        .flatten();
    for model in devices.iter_mut().chain(known) {
        visit(Place::Model, model);
    }
    for key in [backend].into_iter().chain(topology) {
        visit(Place::Key, key);
    }
}

fn each_of_device(device: &mut ReportDevice, visit: &mut dyn FnMut(Place, &mut String)) {
    let ReportDevice {
        label,
        name,
        slot,
        identity,
        node: _,
        memory_bytes: _,
    } = device;
    visit(Place::Key, label);
    visit(Place::Model, name);
    if let Some(slot) = slot {
        visit(Place::Key, slot);
    }
    if let Some(identity) = identity {
        visit(Place::Identity, identity);
    }
}

fn each_of_check(check: &mut Check, visit: &mut dyn FnMut(Place, &mut String)) {
    let Check {
        id,
        kind,
        about,
        required: _,
        verdict: _,
        reason: Reason { code: _, text },
        limit,
        evidence,
        advice,
    } = check;
    for key in [id, kind].into_iter().chain(about) {
        visit(Place::Key, key);
    }
    visit(Place::Words, text);
    if let Some(advice) = advice {
        visit(Place::Words, advice);
    }
    if let Some(Limit {
        good: _,
        fail: _,
        warn: _,
        unit,
        basis,
        source,
    }) = limit
    {
        visit(Place::Key, unit);
        visit(Place::Profile, basis);
        visit(Place::Profile, source);
    }
    for piece in evidence {
        match piece {
            Evidence::Measured {
                what,
                value: _,
                unit,
                n: _,
                low: _,
                high: _,
                samples: _,
                source,
            } => {
                visit(Place::Key, unit);
                visit(Place::Words, what);
                visit(Place::Words, source);
            }
            Evidence::Counted {
                what,
                before: _,
                after: _,
                over_s: _,
                source,
            } => {
                visit(Place::Words, what);
                visit(Place::Words, source);
            }
            Evidence::Seen {
                what,
                value,
                expected,
                n: _,
                source,
            } => {
                for words in [what, value, source].into_iter().chain(expected) {
                    visit(Place::Words, words);
                }
            }
        }
    }
}
