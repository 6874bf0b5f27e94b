//! The document of a report: the verdict with its cause, what follows from that, and what to do.

use std::collections::BTreeMap;
use std::fmt;

use view::{Document, Item, Next, Tone};

use super::tables::sections;
use super::words::{CameTo, Quantity, covered, cut, devices, kind_of_devices, main_evidence};
use crate::checks::{plural, title};
use crate::profile::{Profile, shipped};
use crate::report::{BoxVerdict, Check, Evidence, ReasonCode, Report, RunStatus, Side, Verdict};

/// Causes on a screen, and what follows from each.
const CAUSES: usize = 4;
const FOLLOW: usize = 3;
/// Devices or pairs that a cause names.
const SHOWN: usize = 4;

/// Checks whose figures are no better than the link of their devices.
const OVER_LINK: &str = "h2d_pinned d2h_pinned bidirectional p2p p2p_staged symmetry h2d_pageable";

/// Checks of all devices together, which one slow link slows down.
const OF_ALL: &str = "spread concurrent allreduce";

/// Checks that came to the same, and what follows from them.
struct Cause<'a> {
    first: &'a Check,
    /// All of them, the first among them.
    checks: Vec<&'a Check>,
    follow: Vec<&'a Check>,
    report: &'a Report,
}

/// The document.
pub(crate) fn document(report: &Report) -> Document {
    let causes = match report.status {
        RunStatus::Failed { .. } => Vec::new(),
        _ => causes(report),
    };
    let headline = headline(report, &causes);
    let ended = match &report.status {
        RunStatus::Complete => None,
        RunStatus::Interrupted { signal } => Some(format!("The run was interrupted by {signal}.")),
        RunStatus::Broken => Some("The run has not ended: resume it with --resume.".to_owned()),
        RunStatus::Failed { .. } => Some("Nothing was measured.".to_owned()),
    };
    let answer = [headline.clone(), machine(report)].into_iter().chain(ended);
    Document {
        title: headline,
        simulated: report.simulated().map(str::to_owned),
        tone: match report.verdict {
            BoxVerdict::Accepted => Tone::Good,
            BoxVerdict::AcceptedWithWarnings | BoxVerdict::Inconclusive => Tone::Warning,
            BoxVerdict::Rejected => Tone::Bad,
        },
        answer: answer.collect(),
        findings: findings(&causes),
        next: next(report, &causes),
        sections: sections(report),
        made_by: format!(
            "accept {} on {}, {}, level {}, {}; profile {} ({:.12}); exit code {}",
            report.version,
            report.node.called(),
            report.started,
            report.level,
            Quantity(report.took_s, "s"),
            report.profile.name,
            report.profile.sha256,
            report.exit_code
        ),
    }
}

/// `REJECTED rack3-node7: GPU2 runs at Gen5 x8, Gen5 x16 ordered.`
fn headline(report: &Report, causes: &[Cause<'_>]) -> String {
    let because = match (report.verdict, causes.first(), &report.status) {
        (_, _, RunStatus::Failed { reason }) => cut(reason).into_owned(),
        (BoxVerdict::Rejected, Some(first), _) => first.to_string(),
        (BoxVerdict::Inconclusive, Some(first), _) => format!("open: {first}"),
        (BoxVerdict::Accepted | BoxVerdict::AcceptedWithWarnings, ..) => links(report),
        (_, None, _) => "not measured to the end".to_owned(),
    };
    let because = because.trim_end_matches('.');
    let (name, words) = (report.node.called(), report.verdict.words());
    let (verdict, with) = words.split_at(words.find(',').unwrap_or(words.len()));
    format!("{verdict} {name}{with}: {because}.")
}

/// `2x AMD Radeon AI PRO R9700, profile r9700-x16, quick: 9 of 17 required checks passed, 6 warn, 2 failed.`
fn machine(report: &Report) -> String {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for device in &report.devices {
        *names.entry(&device.name).or_default() += 1;
    }
    let names = names.iter().map(|(name, count)| format!("{count}x {name}"));
    let names: Vec<String> = names.collect();
    let on = match (report.node.fingerprint.backend.as_str(), names.is_empty()) {
        ("host", _) => "host memory, no GPU",
        (_, true) => "no device",
        (_, false) => &names.join(", "),
    };
    let own = if report.profile.shipped { "" } else { "own " };
    let required = || report.checks.iter().filter(|check| check.required);
    let all = required().filter(|check| check.reason.code != ReasonCode::NotApplicable);
    let all = all.count();
    let came = |verdict| required().filter(|check| check.verdict == verdict).count();
    let others = [
        (came(Verdict::Warn), "warn"),
        (came(Verdict::Fail), "failed"),
        (required().filter(|check| check.is_open()).count(), "open"),
    ];
    let bad: usize = others.iter().map(|(count, _)| count).sum();
    let good = all.saturating_sub(bad);
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    let others = others.map(|(count, what)| format!(", {count} {what}"));
    let (profile, level) = (&report.profile.name, &report.level);
    let passed = format!("{good} of {all} required checks passed");
    let others: String = others.collect();
    format!("{on}, {own}profile {profile}, {level}: {passed}{others}.")
}

/// The slowest figures of an accepted machine's links.
fn links(report: &Report) -> String {
    let of = |kind: &&str| {
        let checks = report.checks.iter().filter(|check| check.kind == **kind);
        let values =
            checks.filter_map(|check| Some((main_evidence(check)?.measured()?.value, check)));
        let (least, check) = values.min_by(|one, other| one.0.total_cmp(&other.0))?;
        let part = check.limit.as_ref().and_then(|limit| limit.ceiling);
        let part = part.map_or_else(String::new, |ceiling| {
            format!(" ({:.0}%)", least / ceiling * 100.0)
        });
        Some(format!("{} {}{part}", title(kind), Quantity(least, "GB/s")))
    };
    let all: Vec<String> = ["h2d_pinned", "p2p"].iter().filter_map(of).collect();
    match all.is_empty() {
        true => "all required checks passed".to_owned(),
        false => all.join(", "),
    }
}

/// The worst first; what a degraded link explains stands below it.
fn causes(report: &Report) -> Vec<Cause<'_>> {
    let rank = |check: &Check| match check.verdict {
        Verdict::Fail if check.required => Some(0),
        Verdict::Inconclusive | Verdict::Skip if check.required && check.is_open() => Some(1),
        Verdict::Fail | Verdict::Warn => Some(2),
        Verdict::Inconclusive => Some(3),
        Verdict::Pass | Verdict::Skip => None,
    };
    let ranked = |check| Some((origin(report, check).is_some(), rank(check)?, check));
    let mut bad: Vec<(bool, u8, &Check)> = report.checks.iter().filter_map(ranked).collect();
    // Those that stand by themselves first, so that what follows finds its cause.
    bad.sort_by_key(|(follows, rank, _)| (*follows, *rank));
    let mut causes: Vec<Cause<'_>> = Vec::new();
    for (_, _, check) in bad {
        let origin = origin(report, check);
        let has_origin = |cause: &Cause<'_>| origin.is_some_and(|one| cause.checks.contains(&one));
        // What was not looked at for one reason is one finding.
        let is_like = |cause: &Cause<'_>| {
            let came = |check: &Check| (check.verdict, check.reason.code);
            let first = cause.first;
            let are_empty = first.evidence.is_empty() && check.evidence.is_empty();
            let is_like = first.kind == check.kind || are_empty && first.reason == check.reason;
            came(first) == came(check) && is_like
        };
        if let Some(cause) = causes.iter_mut().find(|cause| has_origin(cause)) {
            cause.follow.push(check);
        } else if let Some(cause) = causes.iter_mut().find(|cause| is_like(cause)) {
            cause.checks.push(check);
        } else {
            causes.push(Cause {
                first: check,
                checks: vec![check],
                follow: Vec::new(),
                report,
            });
        }
    }
    causes
}

/// The failed check of a link that explains a check.
fn origin<'a>(report: &'a Report, check: &Check) -> Option<&'a Check> {
    let is_in = |kinds: &str| kinds.split(' ').any(|kind| kind == check.kind);
    let is_of_all = is_in(OF_ALL);
    if !is_of_all && !is_in(OVER_LINK) {
        return None;
    }
    let is_of =
        |link: &Check| devices(check).any(|device| link.about.iter().any(|one| one == device));
    let mut links = report.checks.iter().filter(|check| check.kind == "link");
    links.find(|link| link.verdict == Verdict::Fail && (is_of_all || is_of(link)))
}

/// The link that was found and the one that was ordered, of a link that is too slow.
fn degraded(check: &Check) -> Option<(&str, &str)> {
    match check.evidence.first()? {
        Evidence::Seen(seen) if check.kind == "link" && check.verdict == Verdict::Fail => {
            Some((&seen.value, seen.expected.as_deref()?))
        }
        _ => None,
    }
}

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((found, ordered)) = degraded(self.first) {
            let cards = self.checks.iter().flat_map(|check| devices(check));
            let cards = cards.collect::<Vec<_>>().join(", ");
            let verb = if cards.contains(", ") { "run" } else { "runs" };
            return write!(f, "{cards} {verb} at {found}, {ordered} ordered");
        }
        let mut kinds: Vec<&str> = self.checks.iter().map(|check| title(&check.kind)).collect();
        kinds.dedup();
        f.write_str(&kinds.join(", "))?;
        if kinds.len() == 1 {
            let about = self.checks.iter().map(|check| about(check));
            let about: Vec<String> = about.filter(|about| about != "box").collect();
            let shown = &about[..about.len().min(SHOWN)];
            if !shown.is_empty() {
                write!(f, " {}", shown.join(", "))?;
            }
            if let more @ 1.. = about.len() - shown.len() {
                write!(f, " and {more} more")?;
            }
        }
        let checks = self.checks.iter();
        let worst = checks.filter_map(|check| Some((beyond(check)?, check)));
        match worst.max_by(|one, other| one.0.total_cmp(&other.0)) {
            Some((_, worst)) if self.checks.len() > 1 => {
                if kinds.len() > 1 || self.checks.len() > SHOWN {
                    let count = covered(self.report, &self.checks);
                    write!(f, ", {}", plural(count, kind_of_devices(self.report)))?;
                }
                write!(f, ": worst {}: {}", about(worst), CameTo(worst))
            }
            _ => write!(f, ": {}", CameTo(self.first)),
        }
    }
}

/// The devices, or the kind of figure, that a check is about: `GPU1`, `host->device`.
fn about(check: &Check) -> String {
    let about: Vec<&str> = check.about.iter().map(|about| title(about)).collect();
    about.join(" ")
}

/// By how many times a figure is beyond its limit.
fn beyond(check: &Check) -> Option<f64> {
    let limit = check.limit.as_ref()?;
    let line = limit.fail.or(limit.warn)?;
    let value = main_evidence(check)?.measured()?.value;
    let is_least = limit.good == Side::AtLeast;
    Some(if is_least { line / value } else { value / line })
}

/// What was found; the first of a machine that is not accepted stands in the answer.
fn findings(causes: &[Cause<'_>]) -> Vec<Item> {
    let mut items = Vec::new();
    for cause in causes.iter().take(CAUSES) {
        let first = cause.first;
        let is_bad = first.verdict == Verdict::Fail;
        let tone = if is_bad { Tone::Bad } else { Tone::Warning };
        let can = &first.reason.detail;
        let can = degraded(first).and((!can.is_empty()).then(|| format!("; {}", cut(can))));
        let line = cause.to_string() + &can.unwrap_or_default();
        items.push(Item::of(tone, line).coded(code(first)));
        let follow = cause.follow.iter().take(FOLLOW).map(|check| {
            let (kind, about) = (title(&check.kind), about(check));
            format!("follows: {kind} {about}: {}", CameTo(check))
        });
        items.extend(follow.map(Item::plain));
        if let more @ 1.. = cause.follow.len().saturating_sub(FOLLOW) {
            items.push(Item::plain(format!("follow: {more} more")));
        }
    }
    if let more @ 1.. = causes.len().saturating_sub(CAUSES) {
        items.push(Item::plain(format!("{more} more: -v shows all.")));
    }
    items
}

/// The code that a page explains: that of the finding itself, else that of the verdict.
fn code(check: &Check) -> &'static str {
    let found = check.evidence.first().map(Evidence::what);
    let mut pages = view::codes::all().map(|(code, _)| code);
    let known = pages.find(|code| found == Some(code));
    known.unwrap_or(check.reason.code.code())
}

fn next(report: &Report, causes: &[Cause<'_>]) -> Vec<Next> {
    let mut next: Vec<Next> = Vec::new();
    // One card has a fault of its own; all together have one in common.
    let of_all = causes.first().is_some_and(|cause| {
        let all = report.devices.len();
        degraded(cause.first).is_some() && cause.checks.len() == all && all > 1
    });
    if of_all {
        let text = "All cards are slow alike: check bifurcation, shared lanes and link speed in the BIOS, and the slots; then risers.";
        next.push(Next::plain(text));
    }
    for first in causes.iter().map(|cause| cause.first) {
        let is_told = of_all && degraded(first).is_some();
        if let Some(text) = first.advice.as_ref().filter(|_| next.len() < 3 && !is_told)
            && next.iter().all(|one| one.text != *text)
        {
            next.push(Next::plain(text.as_str()));
        }
    }
    let Some(Cause { first, .. }) = causes.first() else {
        if matches!(report.status, RunStatus::Failed { .. }) {
            let what = "What this machine shows:";
            next.push(Next::on(what, "tplens doctor", report.simulated()));
        } else if report.verdict == BoxVerdict::Accepted && report.simulated.is_none() {
            let text = "Compare a later run with this one:";
            next.push(Next::by(text, "tplens accept run --baseline RUN ..."));
        }
        return next;
    };
    if let Some((found, _)) = degraded(first)
        && let Some(name) = profile_of(report, found)
    {
        let text = format!("Or accept it as {found}: --profile {name}.");
        next.push(Next::plain(text));
    }
    let code = code(first);
    let (text, command) = (format!("More on {code}:"), format!("tplens help {code}"));
    next.push(Next::by(text, command));
    next
}

/// The shipped profile of such devices with this link.
fn profile_of(report: &Report, found: &str) -> Option<&'static str> {
    let fits = |profile: &&Profile| {
        let link = profile.link.generation.zip(profile.link.width);
        let link = link.map(|(generation, width)| format!("Gen{generation} x{width}"));
        let matches = profile.matches.as_ref();
        let are_named = matches.is_some_and(|matches| {
            let mut devices = report.devices.iter();
            matches.count == devices.len() && devices.all(|one| matches.names.contains(&one.name))
        });
        are_named && link.as_deref() == Some(found)
    };
    let mut profiles = shipped().map(|loaded| &loaded.profile);
    profiles.find(fits).map(|profile| profile.name.as_str())
}
