//! What a report that was handed on without its journal can be held against: itself, and the profile that it names where that came with
//! this program.
//!
//! What agrees with itself is not thereby what a run did: a check that was taken out, or figures that were made up whole, are not seen.

use measure::stats::median_interval;

use super::expected::{self, Lines, says};
use super::read::{EQUAL, shown};
use super::{BoxVerdict, Check, Evidence, Limit, ReasonCode, Report, RunStatus, Side, Verdict};
use crate::checks;
use crate::judge::OF_PAIR;
use crate::profile::{self, LimitRow, LimitUnit, Profile};

/// The deepest level, at which losing the watch over a kind of check makes it required.
const SOAK: &str = "soak";

/// What contradicts, the first of it; `None` where all agrees.
pub(crate) fn contradiction(report: &Report) -> Option<String> {
    of_ending(report)
        .or_else(|| of_profile(report))
        .or_else(|| {
            report.checks.iter().find_map(|check| {
                let what = of_figures(check)?;
                Some(format!("check `{}` {what}", shown(&check.id)))
            })
        })
}

/// Verdict and exit code against the checks and how the run ended.
fn of_ending(report: &Report) -> Option<String> {
    let comes_to = BoxVerdict::of(&report.checks);
    if report.status == RunStatus::Complete && report.verdict != comes_to {
        return Some(format!(
            "its verdict is {} and its checks come to {}",
            report.verdict.words(),
            comes_to.words()
        ));
    }
    let code = report.exit_code;
    let is_of_signal = code > 128;
    let is_right = match &report.status {
        RunStatus::Interrupted { .. } => is_of_signal,
        _ => code == report.verdict.exit_code(),
    };
    (!is_right).then(|| {
        format!(
            "its verdict is {} and its exit code {code}",
            report.verdict.words()
        )
    })
}

/// Checks against the profile that is named, where it came with this program.
fn of_profile(report: &Report) -> Option<String> {
    let used = &report.profile;
    let loaded = profile::shipped().find(|loaded| loaded.profile.name == used.name)?;
    // One of the user's own, or of another version of this program, is not known here.
    if loaded.sha256 != used.sha256 {
        return None;
    }
    let profile = &loaded.profile;
    let level = shown(&report.level);
    let Some(demanded) = profile.required.get(&report.level) else {
        return Some(format!(
            "its level `{level}` is none of profile {}",
            used.name
        ));
    };
    let is_there = |kind: &&String| report.checks.iter().any(|check| check.kind == **kind);
    if report.status == RunStatus::Complete
        && let Some(kind) = demanded.iter().find(|kind| !is_there(kind))
    {
        return Some(format!(
            "it has no check `{kind}`, which profile {} demands at level {level}",
            used.name
        ));
    }
    let has_baseline = used.baseline_sha256.is_some();
    report.checks.iter().find_map(|check| {
        let id = shown(&check.id);
        if checks::kind(&check.kind).is_none() {
            return Some(format!("check `{id}` is of no kind that there is"));
        }
        let is_demanded = demanded.contains(&check.kind);
        // A fault is required wherever it is seen, and of a soak what it lost sight of.
        let may_be = check.verdict == Verdict::Fail || report.level == SOAK;
        if is_demanded != check.required && (is_demanded || !may_be) && !is_untold(check) {
            let [says, demands] = if is_demanded {
                ["not required", "demands it"]
            } else {
                ["required", "does not demand it"]
            };
            return Some(format!(
                "check `{id}` is {says}, and profile {} {demands} at level {level}",
                used.name
            ));
        }
        let Some(limit) = &check.limit else {
            let says = says(check).filter(|_| must_be_held(profile, check))?;
            return Some(format!(
                "check `{id}` {says} without a limit, and profile {} has one for it",
                used.name
            ));
        };
        if !is_of(profile, check, limit, has_baseline) {
            return Some(format!(
                "check `{id}` is held against a limit that profile {} does not have",
                used.name
            ));
        }
        let says = says(check)?;
        if let Some(lacks) = lacks(check, limit) {
            return Some(format!("check `{id}` {says} {lacks}"));
        }
        let what = expected::of_counts(check, |key| {
            let is_it = |row: &&LimitRow| {
                (row.check.as_str(), row.of.as_deref()) == (check.kind.as_str(), Some(key))
            };
            profile.limit.iter().find(is_it).map(|row| Lines {
                fail: row.fail,
                warn: row.warn,
                is_rate: row.unit == LimitUnit::EventsPerHour,
            })
        })?;
        Some(format!("check `{id}` {what}"))
    })
}

/// Whether a check stands aside because the driver tells nothing of what it looks at, so that it is not required.
fn is_untold(check: &Check) -> bool {
    !check.required
        && checks::only_where_told(&check.kind)
        && check.evidence.is_empty()
        && matches!(
            check.reason.code,
            ReasonCode::Virtualized | ReasonCode::UnsupportedByDevice | ReasonCode::Permission
        )
}

/// Whether a check that passes or warns is of what the profile has a limit for, whatever its evidence. On host memory there is no link of
/// whose part a limit could be.
fn must_be_held(profile: &Profile, check: &Check) -> bool {
    let is_host = profile
        .matches
        .as_ref()
        .is_some_and(|matches| matches.backend == "host");
    let is_about = |of: &String| {
        let words = check.about.iter().flat_map(|about| about.split(' '));
        words.into_iter().any(|word| word == of)
    };
    let has_row = profile.limit.iter().any(|row| {
        row.check == check.kind
            && (check.kind == "counters" || row.of.as_ref().is_none_or(is_about))
            && !(is_host && row.unit == LimitUnit::OfCeiling)
    });
    // Of repairs only those that warn are held against the life of the device.
    let is_repair = check.kind == "memory_repairs" && check.verdict == Verdict::Warn;
    has_row || is_repair
}

/// What a check that passes or warns on a rate, a time or a ratio does not have of what every such check has: its figure first, with an interval,
/// and samples behind it; `None` where it has all.
fn lacks(check: &Check, limit: &Limit) -> Option<&'static str> {
    if !WITH_SAMPLES.contains(&limit.unit.as_str()) {
        return None;
    }
    let Some(Evidence::Measured {
        unit,
        low,
        high,
        samples,
        ..
    }) = check.evidence.first()
    else {
        return Some("without the figure that its limit is for");
    };
    if *unit != limit.unit {
        return Some("on a figure in another unit than its limit");
    }
    if low.is_none() || high.is_none() {
        return Some("on a figure without an interval");
    }
    // A ratio is worked out of others, which may stand in other checks with their samples.
    let is_sampled = RATIOS.contains(&unit.as_str()) || !samples.is_empty();
    (!is_sampled).then_some("on an interval without samples")
}

/// The units of a ratio of two figures.
const RATIOS: [&str; 2] = ["1", OF_PAIR];

/// Units of what is sampled, or worked out of that.
const WITH_SAMPLES: [&str; 5] = ["GB/s", "us", "ms", "1", OF_PAIR];

/// Required checks that stand aside because there is no such thing on the box, by their ids: nothing in a report shows that it is so.
pub(crate) fn set_aside(report: &Report) -> Vec<&str> {
    let is_aside = |check: &&Check| {
        check.required
            && check.verdict == Verdict::Skip
            && check.reason.code == ReasonCode::NotApplicable
    };
    let checks = report.checks.iter().filter(is_aside);
    checks.map(|check| check.id.as_str()).collect()
}

/// Checks that are required only where the driver tells what they look at, and that say that it does not: nothing in a report shows that
/// it is so.
pub(crate) fn untold(report: &Report) -> Vec<&str> {
    let checks = report.checks.iter().filter(|check| is_untold(check));
    checks.map(|check| check.id.as_str()).collect()
}

/// Whether a limit is one of the profile's.
fn is_of(profile: &Profile, check: &Check, limit: &Limit, has_baseline: bool) -> bool {
    // Changes of a link have their limit in the profile's [link].
    if check.kind == "link_transitions" {
        return limit.fail == Some(f64::from(profile.link.transitions_at_most));
    }
    let rows = || profile.limit.iter().filter(|row| row.check == check.kind);
    // A baseline's own limits are not known here.
    if has_baseline && !rows().any(|row| row.source == limit.source) {
        return true;
    }
    rows().any(|row| is_row(row, limit))
}

fn is_row(row: &LimitRow, limit: &Limit) -> bool {
    let is_in_unit = match row.unit {
        LimitUnit::OfCeiling => limit.unit == "GB/s",
        LimitUnit::Ratio => RATIOS.contains(&limit.unit.as_str()),
        other => limit.unit == other.word(),
    };
    let is_alike = row.good == limit.good && row.source == limit.source && is_in_unit;
    let lines = [(row.fail, limit.fail), (row.warn, limit.warn)];
    let factor = match row.unit {
        LimitUnit::OfCeiling => {
            let first = lines.iter().find_map(|(part, line)| part.zip(*line));
            let Some((part, line)) = first else {
                return false;
            };
            let ceiling = line / part;
            if !limit.basis.contains(&format!(" of {ceiling:.2} GB/s")) {
                return false;
            }
            ceiling
        }
        _ => 1.0,
    };
    is_alike
        && lines.iter().all(|pair| match *pair {
            (Some(part), Some(line)) => !apart(part * factor, line),
            (None, None) => true,
            _ => false,
        })
}

/// The interval against the samples, and the verdict against the interval.
fn of_figures(check: &Check) -> Option<String> {
    let of_samples = check.evidence.iter().find_map(|evidence| {
        let Evidence::Measured {
            what,
            low: Some(low),
            high: Some(high),
            samples,
            ..
        } = evidence
        else {
            return None;
        };
        if samples.is_empty() {
            return None;
        }
        let is_so = median_interval(samples)
            .is_some_and(|found| !apart(found.low, *low) && !apart(found.high, *high));
        (!is_so).then(|| {
            format!(
                "has an interval of `{}` that its samples do not give",
                shown(what)
            )
        })
    });
    of_samples
        .or_else(|| of_limit(check))
        .or_else(|| expected::of_seen(check))
        .or_else(|| of_own_counts(check))
}

/// Counts against the limit that the check shows, which is that of the counter that its basis names.
fn of_own_counts(check: &Check) -> Option<String> {
    expected::of_counts(check, |key| {
        let limit = check.limit.as_ref().filter(|limit| limit.basis == key)?;
        Some(Lines {
            fail: limit.fail,
            warn: limit.warn,
            is_rate: limit.unit == LimitUnit::EventsPerHour.word(),
        })
    })
}

/// Reasons of a verdict that a limit gives.
const BY_LIMIT: [ReasonCode; 7] = [
    ReasonCode::WithinLimit,
    ReasonCode::BelowFloor,
    ReasonCode::AboveLimit,
    ReasonCode::BelowBaseline,
    ReasonCode::Asymmetric,
    ReasonCode::CounterRate,
    ReasonCode::NearSlowdown,
];

fn of_limit(check: &Check) -> Option<String> {
    let Some(limit) = &check.limit else {
        let says = says(check).filter(|_| BY_LIMIT.contains(&check.reason.code))?;
        return Some(format!(
            "{says} for `{}` and shows no limit",
            check.reason.code.word()
        ));
    };
    // A check is read by its first figure.
    let Evidence::Measured {
        value,
        unit,
        low,
        high,
        ..
    } = check.evidence.first()?
    else {
        return None;
    };
    if *unit != limit.unit {
        return None;
    }
    // The least or most of all readings has no interval.
    let has_interval = low.is_some() && high.is_some();
    let (low, high) = low.zip(*high).unwrap_or((*value, *value));
    let is_good = |line: Option<f64>| {
        line.is_none_or(|line| match limit.good {
            Side::AtLeast => low >= line,
            Side::AtMost => high <= line,
        })
    };
    let is_within = is_good(limit.fail) && is_good(limit.warn);
    let of_limit = [
        ReasonCode::BelowFloor,
        ReasonCode::AboveLimit,
        ReasonCode::Outlier,
        ReasonCode::Asymmetric,
    ];
    match check.verdict {
        Verdict::Pass if !is_within => {
            Some("passes and its interval does not lie within its limit".to_owned())
        }
        Verdict::Warn if !is_good(limit.fail) => {
            Some("warns and its interval does not lie within the limit that fails".to_owned())
        }
        Verdict::Fail | Verdict::Warn
            if has_interval && is_within && of_limit.contains(&check.reason.code) =>
        {
            Some("does not pass and its interval lies within its limit".to_owned())
        }
        _ => None,
    }
}

/// Whether two numbers are not equal but for rounding.
fn apart(one: f64, other: f64) -> bool {
    (one - other).abs() > EQUAL * one.abs().max(other.abs())
}
