//! Numbers, limits and checks as a reader sees them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use crate::report::{Check, Evidence, Limit, Report, ReportDevice, Side, Verdict};

/// What a cell shows where there is nothing to show.
pub(super) const ABSENT: &str = "—";

/// Characters of a text of others that are shown.
const MOST: usize = 160;

/// A text of others, cut to what a reader reads.
pub(super) fn cut(text: &str) -> Cow<'_, str> {
    let end = text.char_indices().nth(MOST);
    end.map_or(text.into(), |(end, _)| format!("{}…", &text[..end]).into())
}

/// The evidence that a check is read by: the figure in the unit of its limit, else the first.
pub(super) fn main_evidence(check: &Check) -> Option<&Evidence> {
    let limit = check.limit.as_ref().map(|limit| &limit.unit);
    let in_unit = |evidence: &&Evidence| matches!(evidence, Evidence::Measured(one) if Some(&one.unit) == limit);
    let mut all = check.evidence.iter();
    all.find(in_unit).or_else(|| check.evidence.first())
}

/// A number with three digits or so that count, and its unit; a ratio has none.
pub(super) struct Quantity<'a>(pub(super) f64, pub(super) &'a str);

impl fmt::Display for Quantity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value, unit) = self;
        match value.abs() {
            0.0 => write!(f, "0"),
            v if v >= 100.0 => write!(f, "{value:.0}"),
            v if v >= 10.0 => write!(f, "{value:.1}"),
            v if v >= 0.1 => write!(f, "{value:.2}"),
            v if v >= 0.001 => write!(f, "{value:.4}"),
            _ => write!(f, "{value:.2e}"),
        }?;
        match *unit {
            "" | "1" => Ok(()),
            unit => write!(f, " {unit}"),
        }
    }
}

/// A figure without its interval: `24.9 GB/s`, `3 to 5 in 60 s`, `Gen5 x8`.
impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = match self {
            Self::Measured(one) => return Quantity(one.value, &one.unit).fmt(f),
            Self::Seen(one) => return f.write_str(&cut(&one.value)),
            Self::Counted(counted) => counted,
        };
        let shown = |count: Option<u64>| count.map_or("not read".to_owned(), |n| n.to_string());
        let (before, after) = (shown(counted.before), shown(counted.after));
        write!(f, "{before} to {after}")?;
        match counted.over_s > 0.0 {
            true => write!(f, " in {:.0} s", counted.over_s),
            false => Ok(()),
        }
    }
}

/// The lines of a limit: `fails below 23.1, warns below 25.4 GB/s`.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_least = self.good == Side::AtLeast;
        let beyond = if is_least { "below" } else { "above" };
        let lines = [("fails", self.fail), ("warns", self.warn)];
        let lines = lines.into_iter().filter_map(|(word, line)| {
            let line = Quantity(line?, &self.unit);
            Some(format!("{word} {beyond} {line}"))
        });
        f.write_str(&lines.collect::<Vec<String>>().join(", "))
    }
}

/// What a check was compared with.
pub(super) fn compared_with(check: &Check) -> String {
    let expected = match (&check.limit, main_evidence(check)) {
        (Some(limit), _) => return limit.to_string(),
        (_, Some(Evidence::Seen(seen))) => seen.expected.clone(),
        _ => None,
    };
    expected.unwrap_or_else(|| ABSENT.to_owned())
}

/// What a check came to, beside its limit, and the detail of what is no pass.
pub(super) struct CameTo<'a>(pub(super) &'a Check);

impl fmt::Display for CameTo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(check) = self;
        let is_bad = check.verdict != Verdict::Pass;
        let detail = Some(cut(&check.reason.detail).into_owned());
        let detail = detail.filter(|detail| !detail.is_empty() && is_bad);
        let parts = match main_evidence(check) {
            None => {
                let line = || view::codes::line(check.reason.code.code()).to_owned();
                let line = detail.unwrap_or_else(line);
                return f.write_str(line.trim_end_matches('.'));
            }
            // How far devices or directions are apart is a part of a hundred.
            Some(Evidence::Measured(one)) if ["spread", "symmetry"].contains(&&*check.kind) => {
                let allowed = check.limit.as_ref().and_then(|limit| limit.fail);
                let allowed = allowed.map(|fail| format!("{:.1}% allowed", fail * 100.0));
                let interval = one.low.zip(one.high).filter(|_| is_bad);
                let interval = interval.map_or_else(String::new, |(low, high)| {
                    format!(" ({:.1} to {:.1}%)", low * 100.0, high * 100.0)
                });
                let apart = format!("{:.1}% apart{interval}", one.value * 100.0);
                [detail, Some(apart), allowed]
            }
            // The detail of a counter says by how much it rose.
            Some(Evidence::Counted(_)) if detail.is_some() => [detail, None, None],
            Some(evidence) => [Some(evidence.to_string()), beside(check, evidence), detail],
        };
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

/// What a figure is a part of, its limit, or what was expected.
fn beside(check: &Check, evidence: &Evidence) -> Option<String> {
    let (one, limit) = match (evidence, &check.limit) {
        (Evidence::Measured(one), Some(limit)) => (one, limit),
        (Evidence::Seen(seen), _) => {
            let expected = seen.expected.as_ref();
            let expected = expected.filter(|expected| **expected != seen.value)?;
            return Some(format!("expected {}", cut(expected)));
        }
        (Evidence::Counted(counted), _) => return Some(counted.what.clone()),
        _ => return None,
    };
    let Some(ceiling) = limit.ceiling else {
        let shown = |(low, high)| format!("{} to {}, ", Quantity(low, ""), Quantity(high, ""));
        let interval = one.low.zip(one.high).map_or_else(String::new, shown);
        return (check.verdict != Verdict::Pass).then(|| format!("{interval}{limit}"));
    };
    let link = limit.link.as_deref().unwrap_or("the link");
    let mut words = format!("{:.0}% of {link}", one.value / ceiling * 100.0);
    let line = match check.verdict {
        Verdict::Pass => None,
        Verdict::Fail => limit.fail,
        _ => limit.warn.or(limit.fail),
    };
    if let Some(line) = line {
        words += &format!(" (limit {:.0}%)", line / ceiling * 100.0);
    }
    let ordered = limit.ordered.as_ref();
    if let Some(ordered) = ordered.filter(|ordered| ordered.link != link) {
        let part = one.value / ordered.ceiling * 100.0;
        words += &format!(", {part:.0}% of {}", ordered.link);
    }
    Some(words)
}

/// The labels of the devices that a check is about.
pub(super) fn devices(check: &Check) -> impl Iterator<Item = &str> {
    let about = check.about.iter();
    about.flat_map(|about| about.split("->").flat_map(|end| end.split([' ', ','])))
}

/// What the devices of a report are: GPUs, or memory of the host.
pub(super) fn kind_of_devices(report: &Report) -> &'static str {
    let is_host = report.node.fingerprint.backend == "host";
    if is_host { "device" } else { "GPU" }
}

/// How many devices of a report these checks are about; those of no device are about all.
pub(super) fn covered(report: &Report, checks: &[&Check]) -> usize {
    let named: BTreeSet<&str> = checks.iter().flat_map(|check| devices(check)).collect();
    let is_named = |device: &&ReportDevice| named.contains(device.label.as_str());
    match report.devices.iter().filter(is_named).count() {
        0 => report.devices.len(),
        some => some,
    }
}
