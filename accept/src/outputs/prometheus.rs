//! A report as a text file for Prometheus's node_exporter: the verdict, how many checks came to what, and every figure.
//!
//! Figures stand in base units (bytes, seconds), the unit in the name. Those of a soft box have names of their own, so that no query for a
//! real figure finds one. There are no time stamps, which node_exporter refuses; when the run began is a figure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::answer;
use crate::report::{BoxVerdict, Check, Evidence, Report, Verdict};

/// Names and values of labels.
type Labels<'a> = Vec<(&'static str, &'a str)>;

/// Metrics by name, so that each has its samples together, as the format wants it.
struct Metrics {
    prefix: &'static str,
    by_name: BTreeMap<String, Metric>,
}

struct Metric {
    help: String,
    lines: Vec<String>,
    /// Label sets that stand already, and how often.
    known: BTreeMap<String, usize>,
}

/// The whole file.
pub(crate) fn prometheus(report: &Report) -> String {
    let report = &super::texts::cleaned(report);
    let prefix = if report.simulated.is_some() {
        "accept_simulated"
    } else {
        "accept"
    };
    let mut metrics = Metrics {
        prefix,
        by_name: BTreeMap::new(),
    };
    let soft = report
        .simulated
        .iter()
        .map(|soft| ("soft_box", soft.box_name.as_str()));
    let profile = super::words::profile_label(report);
    let of_run: Labels<'_> = [
        ("node", report.node.name.as_str()),
        ("profile", profile.as_str()),
        ("level", report.level.as_str()),
    ]
    .into_iter()
    .chain(soft)
    .collect();
    of_box(&mut metrics, report, &of_run);
    for check in &report.checks {
        of_check(&mut metrics, check, &of_run);
    }
    // A comment, which readers of the format pass over.
    let mut text = format!("# {}\n", answer::opening(report));
    for (name, metric) in metrics.by_name {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# HELP {name} {}", escaped(&metric.help, false));
        let _ = writeln!(text, "# TYPE {name} gauge");
        for line in metric.lines {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

fn of_box(metrics: &mut Metrics, report: &Report, of_run: &Labels<'_>) {
    for verdict in [
        BoxVerdict::Accepted,
        BoxVerdict::AcceptedWithWarnings,
        BoxVerdict::Rejected,
        BoxVerdict::Inconclusive,
    ] {
        let labels = with(of_run, &[("verdict", verdict.key())]);
        let is_so = f64::from(u8::from(report.verdict == verdict));
        metrics.add(
            "verdict",
            "1 for the verdict on the box, 0 for the others.",
            &labels,
            is_so,
        );
    }
    let code = f64::from(report.exit_code);
    metrics.add("exit_code", "Exit code of the run.", of_run, code);
    metrics.add(
        "duration_seconds",
        "Time that the run took.",
        of_run,
        report.took_s,
    );
    if let Ok(started) = humantime::parse_rfc3339(&report.started)
        && let Ok(since) = started.duration_since(std::time::UNIX_EPOCH)
    {
        let help = "When the run began, Unix time.";
        metrics.add("start_timestamp_seconds", help, of_run, since.as_secs_f64());
    }
    for verdict in [
        Verdict::Pass,
        Verdict::Warn,
        Verdict::Fail,
        Verdict::Inconclusive,
        Verdict::Skip,
    ] {
        for (required, word) in [(true, "true"), (false, "false")] {
            let is_one = |check: &&Check| check.verdict == verdict && check.required == required;
            let count = report.checks.iter().filter(is_one).count();
            let labels = with(of_run, &[("verdict", verdict.word()), ("required", word)]);
            metrics.add("checks", "Checks by verdict.", &labels, whole(count));
        }
    }
}

fn of_check(metrics: &mut Metrics, check: &Check, of_run: &Labels<'_>) {
    let about = check.about.join(" ");
    let of_check = with(of_run, &[("check", &check.kind), ("about", &about)]);
    let verdict = [
        ("verdict", check.verdict.word()),
        ("reason", check.reason.code.word()),
    ];
    metrics.add(
        "check_verdict",
        "1, with the verdict of the check and its reason.",
        &with(&of_check, &verdict),
        1.0,
    );
    for evidence in &check.evidence {
        match evidence {
            Evidence::Measured {
                what,
                value,
                unit,
                n,
                low,
                high,
                ..
            } => {
                let labels = with(&of_check, &[("figure", what)]);
                let (name, factor, words) = base(unit);
                for (part, help, value) in [
                    ("", "The value", Some(*value)),
                    ("_low", "Lower end of the 95% interval of the median", *low),
                    (
                        "_high",
                        "Upper end of the 95% interval of the median",
                        *high,
                    ),
                ] {
                    if let Some(value) = value {
                        let help = format!("{help} of a check's figure, {words}.");
                        metrics.add(
                            &format!("check{part}_{name}"),
                            &help,
                            &labels,
                            value * factor,
                        );
                    }
                }
                metrics.add(
                    "check_samples",
                    "Samples behind a check's figure.",
                    &labels,
                    whole(*n),
                );
            }
            Evidence::Counted {
                what,
                before: Some(before),
                after: Some(after),
                ..
            } if after >= before => {
                let labels = with(&of_check, &[("figure", what)]);
                let help = "Events that a counter rose by during the run.";
                metrics.add("check_events", help, &labels, whole(after - before));
            }
            // A rise that is not known is absent, not zero; states stand in the verdict.
            Evidence::Counted { .. } | Evidence::Seen { .. } => {}
        }
        if let Evidence::Counted {
            what,
            after: Some(after),
            ..
        } = evidence
        {
            let labels = with(&of_check, &[("figure", what)]);
            let help = "What a counter stood at at the end of the run.";
            metrics.add("check_counter", help, &labels, whole(*after));
        }
    }
}

/// The base unit's name, what to multiply by, and its words.
fn base(unit: &str) -> (String, f64, String) {
    let known = match unit {
        "GB/s" => Some(("bytes_per_second", 1e9, "bytes a second")),
        "ms" => Some(("seconds", 1e-3, "seconds")),
        "us" => Some(("seconds", 1e-6, "seconds")),
        "s" => Some(("seconds", 1.0, "seconds")),
        "1" | "" | "x the slowest pair" => Some(("ratio", 1.0, "a ratio")),
        "degC" => Some(("celsius", 1.0, "degrees Celsius")),
        "%" => Some(("ratio", 1e-2, "a ratio")),
        _ => None,
    };
    if let Some((name, factor, words)) = known {
        return (name.to_owned(), factor, words.to_owned());
    }
    let lower = unit.to_ascii_lowercase().replace('/', "_per_");
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    (
        format!("in_{}", lower.chars().map(plain).collect::<String>()),
        1.0,
        format!("in {unit}"),
    )
}

impl Metrics {
    /// Adds a sample. One whose labels stand already gets a further label: two samples of one name are an error to every reader.
    fn add(&mut self, name: &str, help: &str, labels: &Labels<'_>, value: f64) {
        if !value.is_finite() {
            return;
        }
        let name = format!("{}_{name}", self.prefix);
        let metric = self.by_name.entry(name.clone()).or_insert_with(|| Metric {
            help: help.to_owned(),
            lines: Vec::new(),
            known: BTreeMap::new(),
        });
        let pairs = labels
            .iter()
            .map(|(key, value)| format!("{key}=\"{}\"", escaped(value, true)));
        let mut own = pairs.collect::<Vec<_>>().join(",");
        let count = metric.known.entry(own.clone()).or_default();
        *count += 1;
        if *count > 1 {
            let _ = write!(own, ",part=\"{count}\"");
        }
        metric.lines.push(format!("{name}{{{own}}} {value}"));
    }
}

fn with<'a>(labels: &Labels<'a>, more: &[(&'static str, &'a str)]) -> Labels<'a> {
    labels.iter().chain(more).copied().collect()
}

/// A text as the format has it in help and in labels; control characters are out already.
fn escaped(text: &str, in_quotes: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if in_quotes {
        text.replace('"', "\\\"")
    } else {
        text
    }
}

/// A count as a sample; above 2^53 its last digits are lost.
#[expect(
    clippy::cast_precision_loss,
    reason = "the format has floating point numbers only"
)]
fn whole(count: impl TryInto<u64>) -> f64 {
    count.try_into().unwrap_or(u64::MAX) as f64
}
