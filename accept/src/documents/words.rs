//! Numbers, limits and checks as a reader sees them.

pub(super) use crate::checks::title;
use crate::report::{Check, Evidence, Limit, Side, Verdict};

/// What a cell shows where there is nothing to show.
pub(super) const ABSENT: &str = "—";

/// Characters of a text of others that are shown.
const MOST: usize = 160;

/// A text of others, cut to what a reader reads.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The evidence that a check is read by: the figure in the unit of its limit, else the first.
pub(super) fn main_evidence(check: &Check) -> Option<&Evidence> {
    let unit = check.limit.as_ref().map(|limit| limit.unit.as_str());
    let in_unit = |evidence: &&Evidence| match evidence {
        Evidence::Measured { unit: own, .. } => Some(own.as_str()) == unit,
        _ => false,
    };
    let mut all = check.evidence.iter();
    all.find(in_unit).or_else(|| check.evidence.first())
}

/// A number with three digits or so that count.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        v if v >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

/// A number with its unit; a ratio has none.
pub(super) fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "" | "1" => number(value),
        _ => format!("{} {unit}", number(value)),
    }
}

/// A figure without its interval: `24.9 GB/s`, `3 to 5 in 60 s`, `Gen5 x8`.
pub(super) fn figure(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Measured { value, unit, .. } => quantity(*value, unit),
        Evidence::Counted {
            before,
            after,
            over_s,
            ..
        } => {
            let count = |count: &Option<u64>| {
                count.map_or_else(|| "not read".to_owned(), |count| count.to_string())
            };
            let over = Some(over_s).filter(|over_s| **over_s > 0.0);
            let over = over.map_or_else(String::new, |over_s| format!(" in {over_s:.0} s"));
            format!("{} to {}{over}", count(before), count(after))
        }
        Evidence::Seen { value, .. } => cut(value),
    }
}

/// What was looked at.
pub(super) fn what(evidence: &Evidence) -> &str {
    let (Evidence::Measured { what, .. }
    | Evidence::Counted { what, .. }
    | Evidence::Seen { what, .. }) = evidence;
    what
}

/// The 95% interval and how many samples or readings.
pub(super) fn interval(evidence: &Evidence) -> [String; 2] {
    match evidence {
        Evidence::Measured { n, low, high, .. } => {
            let interval = low.zip(*high);
            let words = interval.map(|(low, high)| format!("{}-{}", number(low), number(high)));
            [words.unwrap_or_else(|| ABSENT.to_owned()), n.to_string()]
        }
        Evidence::Counted { .. } => [ABSENT, ABSENT].map(str::to_owned),
        Evidence::Seen { n, .. } => [ABSENT.to_owned(), n.to_string()],
    }
}

/// The lines of a limit: `fails below 23.1, warns below 25.4 GB/s`.
pub(super) fn limit(limit: &Limit) -> String {
    let beyond = match limit.good {
        Side::AtLeast => "below",
        Side::AtMost => "above",
    };
    let line = |word: &str, line: Option<f64>| {
        line.map(|line| format!("{word} {beyond} {}", quantity(line, &limit.unit)))
    };
    let lines: Vec<String> = [line("fails", limit.fail), line("warns", limit.warn)]
        .into_iter()
        .flatten()
        .collect();
    match lines.is_empty() {
        true => ABSENT.to_owned(),
        false => lines.join(", "),
    }
}

/// What a check was compared with.
pub(super) fn compared_with(check: &Check) -> String {
    match (&check.limit, main_evidence(check)) {
        (Some(own), _) => limit(own),
        (
            None,
            Some(Evidence::Seen {
                expected: Some(expected),
                ..
            }),
        ) => expected.clone(),
        _ => ABSENT.to_owned(),
    }
}

/// What a check came to, beside its limit, and the detail of what is no pass.
pub(super) fn came_to(check: &Check) -> String {
    let detail = Some(cut(&check.reason.detail));
    let detail = detail.filter(|detail| !detail.is_empty() && check.verdict != Verdict::Pass);
    let Some(evidence) = main_evidence(check) else {
        let line = view::codes::line(check.reason.code.code());
        return detail.unwrap_or_else(|| line.trim_end_matches('.').to_owned());
    };
    // How far devices or directions are apart is a part of a hundred.
    if let (Evidence::Measured { value, .. }, "spread" | "symmetry") = (evidence, &*check.kind) {
        let apart = format!("{:.1}% apart", value * 100.0);
        let allowed = check.limit.as_ref().and_then(|limit| limit.fail);
        let allowed = allowed.map(|fail| format!("{:.1}% allowed", fail * 100.0));
        let parts = [detail, Some(apart), allowed];
        return parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    }
    let of_limit = match (evidence, &check.limit) {
        (Evidence::Measured { value, .. }, Some(limit)) => match (limit.ceiling, &limit.link) {
            (Some(ceiling), link) => {
                let link = link.as_deref().unwrap_or("the link");
                let part = |of: f64| format!("{:.0}%", value / of * 100.0);
                let ordered = limit.ordered.as_ref();
                let ordered = ordered.filter(|ordered| ordered.link != link);
                let ordered = ordered.map_or_else(String::new, |ordered| {
                    format!(", {} of {}", part(ordered.ceiling), ordered.link)
                });
                let line = match check.verdict {
                    Verdict::Pass => None,
                    Verdict::Fail => limit.fail,
                    _ => limit.warn.or(limit.fail),
                };
                let line = line.map(|line| line / ceiling * 100.0);
                let line = line.map_or_else(String::new, |line| format!(" ({line:.0}% expected)"));
                Some(format!("{} of {link}{line}{ordered}", part(ceiling)))
            }
            (None, _) if check.verdict != Verdict::Pass => Some(self::limit(limit)),
            (None, _) => None,
        },
        (
            Evidence::Seen {
                expected: Some(expected),
                value,
                ..
            },
            _,
        ) if expected != value => Some(format!("expected {}", cut(expected))),
        (Evidence::Counted { what, .. }, _) => Some(what.clone()),
        _ => None,
    };
    // The detail of a counter says by how much it rose.
    let own = Some([Some(figure(evidence)), of_limit]);
    let own = own.filter(|_| detail.is_none() || !matches!(evidence, Evidence::Counted { .. }));
    let parts = own.into_iter().flatten().chain([detail]);
    parts.flatten().collect::<Vec<_>>().join(", ")
}

/// The labels of the devices that a check is about.
pub(super) fn devices(check: &Check) -> impl Iterator<Item = &str> {
    let about = check.about.iter();
    about.flat_map(|about| about.split("->").flat_map(|end| end.split([' ', ','])))
}

/// `1 check`, `2 checks`, `3 boxes`, `4 copies`.
pub(super) use crate::plural::plural;
