//! `accept explain`: what a check looks at, how, what it does not see, what to do, and what its reasons mean.

use measure::exit;
use program::command_line::nearest;
use program::{outputs, say};

use super::text::{indented, table, wrapped};
use super::{answer, words};
use crate::checks::{self, KINDS, Kind};
use crate::report::{ReasonCode, Verdict};

/// Reasons that any check can have, whatever it looks at.
const COMMON: &[ReasonCode] = &[
    ReasonCode::DeviceLost,
    ReasonCode::Rebooted,
    ReasonCode::Unreadable,
    ReasonCode::Permission,
    ReasonCode::BusyHost,
    ReasonCode::WorkerFailed,
    ReasonCode::OutOfMemory,
    ReasonCode::Interrupted,
    ReasonCode::NotApplicable,
    ReasonCode::UnsupportedByDevice,
    ReasonCode::MissingLibrary,
    ReasonCode::Budget,
    ReasonCode::DependencyFailed,
    ReasonCode::ExcludedByUser,
    ReasonCode::NotAsked,
];

/// Prints the explanation of a check or of a reason, or lists all checks, and gives the exit code.
pub(crate) fn explain(key: Option<&str>) -> u8 {
    let Some(key) = key else {
        return outputs::print(&all());
    };
    if let Some(kind) = checks::kind(key) {
        return outputs::print(&of_kind(kind));
    }
    if let Some(code) = ReasonCode::ALL.iter().find(|code| code.word() == key) {
        return outputs::print(&of_reason(*code));
    }
    let keys = KINDS.iter().map(|kind| kind.key);
    let words = ReasonCode::ALL.iter().map(|code| code.word());
    let meant = nearest(key, keys.chain(words))
        .map_or_else(String::new, |name| format!("; `{name}` is near it"));
    let key = measure::control::replaced(key);
    say!("error: there is no check or reason `{key}`{meant}; `accept explain` lists the checks");
    exit::USAGE
}

/// Every check in a line.
pub(super) fn all() -> String {
    let mut table = table(["check", "looks at"]);
    for kind in KINDS {
        table.add_row([kind.key, kind.looks_at]);
    }
    let mut text = indented(&table);
    text.push('\n');
    wrapped(
        &mut text,
        "",
        "`accept explain CHECK` says how, what it does not see, and what to do; `accept explain REASON` what a reason such as `noisy` means.",
    );
    text
}

/// A check's explanation.
pub(super) fn of_kind(kind: &Kind) -> String {
    let mut text = format!("{}: {}\n", kind.key, words::title(kind.group));
    for (lead, words) in [
        ("  looks at       ", kind.looks_at),
        ("  how            ", kind.how),
        ("  does not see   ", kind.blind_to),
        ("  what to do     ", kind.advice),
    ] {
        if !words.is_empty() {
            wrapped(&mut text, lead, words);
        }
    }
    text.push_str("\nReasons\n");
    let mut table = table(["reason", "comes with", "means"]);
    let own = ReasonCode::ALL
        .iter()
        .filter(|code| is_of(kind.key, **code));
    for code in own {
        table.add_row([code.word(), &comes_with(*code), code.meaning().trim()]);
    }
    text.push_str(&indented(&table));
    let common: Vec<&str> = COMMON.iter().map(|code| code.word()).collect();
    wrapped(
        &mut text,
        " ",
        &format!("and what any check can have: {}", common.join(", ")),
    );
    text
}

/// A reason's explanation.
pub(super) fn of_reason(code: ReasonCode) -> String {
    let mut text = String::new();
    wrapped(
        &mut text,
        "",
        &format!(
            "{} ({}): {}",
            code.word(),
            comes_with(code),
            code.meaning().trim()
        ),
    );
    if let Some(next) = answer::next(code) {
        wrapped(&mut text, "  what to do  ", next);
    }
    let kinds: Vec<&str> = KINDS
        .iter()
        .filter(|kind| is_of(kind.key, code))
        .map(|kind| kind.key)
        .collect();
    let of = match COMMON.contains(&code) {
        true => "any check".to_owned(),
        false => kinds.join(", "),
    };
    wrapped(&mut text, "  stands with ", &of);
    text
}

/// The verdicts that a reason may stand with.
fn comes_with(code: ReasonCode) -> String {
    let words: Vec<&str> = code
        .verdicts()
        .iter()
        .map(|verdict: &Verdict| verdict.word())
        .collect();
    words.join(" or ")
}

/// Reasons of what is worked out of several figures.
const RATIO: &[ReasonCode] = &[
    ReasonCode::WithinLimit,
    ReasonCode::AsExpected,
    ReasonCode::Noisy,
    ReasonCode::TooFewSamples,
    ReasonCode::BusyDevice,
];

/// Reasons of a rate or a time that is measured, besides those.
const FIGURE: &[ReasonCode] = &[
    ReasonCode::BelowBaseline,
    ReasonCode::Hang,
    ReasonCode::DataMismatch,
];

/// Whether a reason is one of this kind's own, besides those that any check can have.
fn is_of(kind: &str, code: ReasonCode) -> bool {
    use ReasonCode as R;
    let ratio = RATIO.contains(&code);
    let figure = ratio || FIGURE.contains(&code);
    let is_any = |codes: &[ReasonCode]| codes.contains(&code);
    match kind {
        "inventory" => is_any(&[
            R::AsExpected,
            R::DeviceMissing,
            R::Outlier,
            R::VersionMismatch,
        ]),
        "idle" => is_any(&[R::AsExpected, R::BusyDevice]),
        "numa_node" => is_any(&[R::AsExpected, R::NumaMisbound]),
        "link" => is_any(&[
            R::AsExpected,
            R::LinkDegraded,
            R::CannotLoadLink,
            R::NotStated,
            R::Virtualized,
        ]),
        "link_transitions" => is_any(&[
            R::WithinLimit,
            R::LinkTransitions,
            R::MonitorLost,
            R::Virtualized,
        ]),
        "h2d_pinned" | "d2h_pinned" | "h2d_pageable" | "d2h_pageable" => {
            figure || is_any(&[R::BelowFloor, R::NumaMisbound])
        }
        "p2p" | "p2p_staged" | "concurrent" => figure || is_any(&[R::BelowFloor]),
        "bidirectional" => ratio || is_any(&[R::BelowFloor]),
        "peer_access" => is_any(&[
            R::AsExpected,
            R::PeerUnexpected,
            R::DataMismatch,
            R::Hang,
            R::NotStated,
        ]),
        "p2p_latency" => figure || is_any(&[R::AboveLimit]),
        "symmetry" => ratio || is_any(&[R::Asymmetric]),
        "spread" => ratio || is_any(&[R::Outlier]),
        "numa_penalty" => ratio || is_any(&[R::NumaPenalty, R::NumaMisbound, R::NumaInversion]),
        "allreduce" => figure || is_any(&[R::AboveLimit, R::BelowFloor]),
        "data" => is_any(&[R::AsExpected, R::DataMismatch]),
        "counters" => is_any(&[
            R::WithinLimit,
            R::CounterRate,
            R::CounterReset,
            R::Virtualized,
        ]),
        "kernel_log" => is_any(&[R::AsExpected, R::KernelEvents]),
        "throttle" => is_any(&[R::AsExpected, R::Throttled, R::MonitorLost]),
        "temperature" => is_any(&[
            R::WithinLimit,
            R::NearSlowdown,
            R::MonitorLost,
            R::Virtualized,
        ]),
        "memory_repairs" => is_any(&[
            R::AsExpected,
            R::RepairFailed,
            R::MemoryRepaired,
            R::ResetPending,
            R::CounterReset,
            R::MonitorLost,
            R::Virtualized,
        ]),
        "memory" | "arithmetic" => is_any(&[
            R::AsExpected,
            R::DataMismatch,
            R::DeviceLost,
            R::Hang,
            R::WorkerFailed,
            R::OutOfMemory,
            R::UnsupportedByDevice,
        ]),
        "drift" => ratio || is_any(&[R::Drift]),
        "serving" => figure || is_any(&[R::AboveLimit, R::RequestsFailed, R::ServerExited]),
        _ => false,
    }
}
