//! What a check that passes or warns says that was seen or counted, against what it says was expected, and against limits on counts.
//!
//! Figures with an interval are held in `alone`. A text that was changed together with what was expected of it is not seen.

use super::read::shown;
use super::{Check, Evidence, Verdict};
use crate::judge::Rise;

/// Kinds that rest on what was seen, and pass only where something was expected of it.
const ON_WHAT_IS_SEEN: [&str; 12] = [
    "inventory",
    "idle",
    "numa_node",
    "link",
    "link_transitions",
    "peer_access",
    "data",
    "kernel_log",
    "throttle",
    "memory_repairs",
    "memory",
    "arithmetic",
];

/// Kinds that warn because of something that was seen other than expected.
const WARN_ON_WHAT_IS_SEEN: [&str; 3] = ["peer_access", "kernel_log", "throttle"];

/// The lines of a limit on a count.
pub(super) struct Lines {
    /// Beyond it the check fails.
    pub(super) fail: Option<f64>,
    /// Beyond it the check warns.
    pub(super) warn: Option<f64>,
    /// Whether they are of events an hour.
    pub(super) is_rate: bool,
}

/// What of it was seen other than expected.
pub(super) fn of_seen(check: &Check) -> Option<String> {
    let says = says(check)?;
    if check.verdict == Verdict::Warn && WARN_ON_WHAT_IS_SEEN.contains(&check.kind.as_str()) {
        return None;
    }
    let mut is_held = false;
    for evidence in &check.evidence {
        let Evidence::Seen {
            what,
            value,
            expected: Some(expected),
            ..
        } = evidence
        else {
            continue;
        };
        is_held = true;
        if !is_as(&check.kind, value, expected) {
            return Some(format!(
                "{says} and `{}` is `{}` where `{}` is expected",
                shown(what),
                shown(value),
                shown(expected)
            ));
        }
    }
    let must_be = check.verdict == Verdict::Pass && ON_WHAT_IS_SEEN.contains(&check.kind.as_str());
    (must_be && !is_held)
        .then(|| format!("{says} and nothing that was seen of it is held against what is expected"))
}

/// What of its counts lies beyond the limit that `lines` gives for a counter's key; of repairs of memory also what came in the run.
pub(super) fn of_counts(check: &Check, lines: impl Fn(&str) -> Option<Lines>) -> Option<String> {
    let says = says(check)?;
    let are_repairs = check.kind == "memory_repairs";
    if !are_repairs && check.kind != "counters" {
        return None;
    }
    check.evidence.iter().find_map(|evidence| {
        let Evidence::Counted {
            what,
            before: Some(before),
            after: Some(after),
            over_s,
            ..
        } = evidence
        else {
            return None;
        };
        let counted = || format!("`{}` went from {before} to {after}", shown(what));
        if are_repairs && before != after {
            return Some(format!("{says} and {}", counted()));
        }
        let key = what
            .split_once(" of ")
            .map_or(what.as_str(), |(key, _)| key);
        let lines = lines(key)?;
        let comes_to = match are_repairs {
            true => Rise::of_life(*after).against(lines.fail, lines.warn),
            false => match Rise::of(key, *before, *after, *over_s, lines.is_rate) {
                Some(rise) => rise.against(lines.fail, lines.warn),
                None => Verdict::Inconclusive,
            },
        };
        // What fails, what fell, and what warns where the check passes.
        (comes_to > check.verdict).then(|| {
            format!(
                "{says} and {} in {over_s:.0} s, beyond its limit",
                counted()
            )
        })
    })
}

/// The word of a check that passes or warns; what does neither finds nothing good.
pub(super) fn says(check: &Check) -> Option<&'static str> {
    match check.verdict {
        Verdict::Pass => Some("passes"),
        Verdict::Warn => Some("warns"),
        _ => None,
    }
}

/// Whether what was seen is what was expected, as the kind of check puts both in words.
fn is_as(kind: &str, value: &str, expected: &str) -> bool {
    if value == expected {
        return true;
    }
    match kind {
        "inventory" => expected
            .split(" or ")
            .any(|name| match name.strip_suffix('*') {
                Some(beginning) => value.starts_with(beginning),
                None => value
                    .strip_prefix(name)
                    // Without its memory where that was not told.
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(", ")),
            }),
        "link" => is_link(value, expected),
        "link_transitions" => {
            let changes = match value {
                "none" => 0,
                changes => changes.split(", ").count(),
            };
            let allowed = expected.strip_suffix(" at most");
            allowed
                .and_then(|allowed| allowed.parse::<usize>().ok())
                .is_some_and(|allowed| changes <= allowed)
        }
        "peer_access" => (value, expected) == ("denied", "forbidden"),
        "kernel_log" => value.starts_with("none of "),
        "serving" => value.ends_with(", 0 failed"),
        // A margin in words, as an earlier version of this program wrote it.
        "temperature" => true,
        _ => false,
    }
}

/// Whether a link is of the generation and width that are expected, or better.
fn is_link(value: &str, expected: &str) -> bool {
    let generation = |text: &str| -> Option<u8> {
        let rest = text.strip_prefix("Gen")?;
        rest.split(' ').next()?.parse().ok()
    };
    let width = |text: &str| -> Option<u8> { text.rsplit_once(" x")?.1.parse().ok() };
    let wanted = (generation(expected), width(expected));
    let is = generation(value).zip(width(value));
    wanted != (None, None)
        && is.is_some_and(|(generation, width)| {
            wanted.0.is_none_or(|least| generation >= least)
                && wanted.1.is_none_or(|least| width >= least)
        })
}
