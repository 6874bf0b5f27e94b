//! Judges: what was found, compared with a profile. One file a group of kinds; nothing is measured here.
//!
//! What nobody looked at is never a pass: each kind of check gets at least one verdict, and where there is no evidence a reason.

mod collectives;
mod copies;
mod counters;
mod data;
mod inventory;
mod judging;
mod numa;
mod peers;
mod pool;
mod soak;
mod spread;
mod three_way;
mod trouble;
mod watch;

#[cfg(test)]
pub(crate) mod tests;

use crate::checks::{self, Group, KINDS, Kind};
use crate::cli::Level;
use crate::findings::Findings;
use crate::profile::Profile;
use crate::report::{Came, Check, ReasonCode};
pub(crate) use inventory::is_named;
use judging::Judging;
use pool::Pool;
pub(crate) use spread::is_open;
pub(crate) use trouble::{failed, has_fault};
pub(crate) use watch::has_ended;

/// Judges everything that was found; at least one check for each other kind.
pub(crate) fn judge(
    profile: &Profile,
    level: Level,
    findings: &Findings,
    excluded: &[String],
) -> Vec<Check> {
    let judging = Judging {
        profile,
        level,
        findings,
        pool: Pool::of(findings),
    };
    let of_kind = |kind: &Kind| {
        let key = kind.key;
        if excluded.iter().any(|excluded| excluded == key) {
            // A look for faults that the user left out is something to look at.
            let is_open = checks::sees_faults(key);
            let came = if is_open { Came::open } else { Came::skip };
            return vec![judging.check(key, &["box"], came(ReasonCode::LeftOut))];
        }
        let mut checks = of(&judging, key);
        // A group that is missing is told even where a part of its evidence is there; `data` has its evidence from all groups.
        let missing = findings.missing.get(&kind.group).filter(|_| key != "data");
        let is_untold = missing.is_some_and(|missing| {
            let came = (missing.verdict, missing.code);
            let tells = |check: &Check| (check.verdict, check.reason.code) == came;
            let tells = |check: &Check| tells(check) || check.about == ["box"];
            !checks.iter().any(tells)
        });
        // Of these there is a check only where there is something to look at.
        if checks.is_empty() && !["nvlink", "baseline"].contains(&key) {
            let needs_two = matches!(kind.group, Group::PeerLinks | Group::Concurrent);
            let needs_two = needs_two || key == "allreduce";
            let came = match needs_two && judging.pool.devices.len() == 1 {
                true => Came::skip(ReasonCode::NotApplicable),
                false => judging.lacking(key),
            };
            checks.push(judging.check(key, &["box"], came));
        } else if !checks.is_empty() && is_untold {
            // About the group: one check on the whole box may stand there already.
            checks.push(judging.check(key, &[kind.group.word()], judging.lacking(key)));
        }
        checks
    };
    KINDS.iter().flat_map(of_kind).collect()
}

/// Checks that may come to something else with more samples: their kinds and what they are about.
pub(crate) fn undecided(checks: &[Check]) -> Vec<(String, Vec<String>)> {
    let open = checks.iter().filter(|check| is_open(check));
    open.map(|check| (check.kind.clone(), check.about.clone()))
        .collect()
}

/// The checks of a kind, as far as there is evidence.
fn of(judging: &Judging<'_>, kind: &'static str) -> Vec<Check> {
    match kind {
        "inventory" => inventory::inventory(judging),
        "idle" => inventory::idle(judging),
        "numa_node" => inventory::numa_node(judging),
        "link" => inventory::link(judging),
        "nvlink" => peers::nvlink(judging),
        "link_transitions" => watch::transitions(judging),
        "h2d_pinned" | "d2h_pinned" | "h2d_pageable" | "d2h_pageable" => {
            copies::host_copies(judging, kind)
        }
        "bidirectional" => copies::bidirectional(judging),
        "peer_access" => peers::access(judging),
        "p2p" | "p2p_staged" => copies::pairs(judging, kind),
        "symmetry" => spread::symmetry(judging),
        "spread" => spread::spread(judging),
        "concurrent" => copies::concurrent(judging),
        "numa_penalty" => numa::penalty(judging),
        "allreduce" => collectives::allreduce(judging),
        "data" => data::data(judging),
        "counters" => counters::counters(judging),
        "kernel_log" => counters::kernel_log(judging),
        "throttle" => watch::throttle(judging),
        "temperature" => watch::temperature(judging),
        "memory_repairs" => watch::repairs(judging),
        "memory" => data::loaded(judging, "memory", record::LOAD_MEMORY),
        "arithmetic" => data::loaded(judging, "arithmetic", record::LOAD_ARITHMETIC),
        "drift" => soak::drift(judging),
        "serving" => collectives::serving(judging),
        "baseline" => judging.findings.baseline.clone(),
        _ => Vec::new(),
    }
}
