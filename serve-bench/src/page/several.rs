//! The page of several results: throughput against latency, TTFT and TPOT by concurrency and by rate, with their intervals.

use std::collections::BTreeMap;

use measure::import::serve::{Latency, ServeResult, Spread};
use program::compare::significant;
use report::{Block, Page, Section, Table};

use super::by_load::{Load, Pictures, Place};
use super::labels::labels;
use super::run::heads;

/// Findings of one result that are told.
const FINDINGS: usize = 3;

/// What a cell shows where there is nothing to show.
const ABSENT: &str = "—";

/// The page.
pub(super) fn page(results: &[ServeResult], refused: &[String]) -> Page {
    let boxes: Vec<String> = {
        let mut names: Vec<String> = results
            .iter()
            .filter_map(|r| r.run.simulated.clone())
            .collect();
        names.sort();
        names.dedup();
        names
    };
    let simulated = (!boxes.is_empty()).then(|| boxes.join(" and "));
    let labels = labels(results);
    let pictures = Pictures {
        groups: groups(results, &labels),
        simulated: simulated.is_some(),
    };
    let mut sections = vec![
        warnings(results, refused),
        Section {
            heading: "Throughput against latency".to_owned(),
            blocks: vec![Block::Plot(pictures.throughput())],
        },
    ];
    let by: [(&str, &str, Place); 2] = [
        ("By concurrency", "requests in flight", |load| match load {
            Load::Concurrency(x) | Load::Seen(x) => Some(*x),
            Load::Rate(_) => None,
        }),
        ("By rate", "requests/s asked for", |load| match load {
            Load::Rate(x) => Some(*x),
            _ => None,
        }),
    ];
    for (heading, label, load) in by {
        let plots = [
            pictures.latency(Latency::Ttft, label, load),
            pictures.latency(Latency::Tpot, label, load),
            pictures.tokens(label, load),
        ];
        let drawn = plots.into_iter().filter(|plot| !plot.series.is_empty());
        sections.push(Section {
            heading: heading.to_owned(),
            blocks: drawn.map(Block::Plot).collect(),
        });
    }
    sections.push(table(results, &labels));
    sections.retain(|section| !section.blocks.is_empty());
    Page {
        title: format!("{} serving results", results.len()),
        simulated,
        answer: vec![answer(results, &labels)],
        sections,
        made_by: format!("serve-bench page {}", env!("CARGO_PKG_VERSION")),
    }
}

/// The most tokens a second, and at which latency.
fn answer(results: &[ServeResult], labels: &[Option<String>]) -> String {
    let best = results
        .iter()
        .zip(labels)
        .filter_map(|(result, label)| Some((result, label, result.output_tokens_per_s()?)))
        .max_by(|one, other| one.2.total_cmp(&other.2));
    let Some((result, label, rate)) = best else {
        return "None of these results counts output tokens.".to_owned();
    };
    let unit = |load: &Load| match load {
        Load::Rate(_) => "",
        Load::Concurrency(_) | Load::Seen(_) => " in flight",
    };
    let at = Load::of(result).map_or_else(String::new, |load| {
        format!(" at {}{}", load.words(), unit(&load))
    });
    let mut sentence = format!(
        "Most output tokens a second: {} by {}{at}",
        significant(rate),
        curve(result, label.as_deref())
    );
    for latency in [Latency::Ttft, Latency::Tpot] {
        if let Some(spread) = result.spread(latency) {
            sentence.push_str(&format!(
                ", mean {} {} ms",
                latency.name(),
                significant(spread.mean)
            ));
        }
    }
    sentence + "."
}

fn warnings(results: &[ServeResult], refused: &[String]) -> Section {
    let mut points: Vec<String> = refused
        .iter()
        .map(|reason| format!("left out: {reason}"))
        .collect();
    for result in results {
        let failed = result.run.failed.filter(|failed| *failed > 0);
        points.extend(failed.map(|failed| {
            format!(
                "{}: {failed} requests failed and are in no latency",
                result.run.origin
            )
        }));
        let findings = result.findings.iter().take(FINDINGS);
        points.extend(findings.map(|finding| format!("{}: {}", result.run.origin, finding.words)));
    }
    Section {
        heading: "Before believing these curves".to_owned(),
        blocks: if points.is_empty() {
            Vec::new()
        } else {
            vec![Block::Warnings(points)]
        },
    }
}

/// What results of one curve share: model, devices, lengths; and whether they are simulated.
fn name(result: &ServeResult) -> String {
    let run = &result.run;
    let mut words = vec![run.model.clone().unwrap_or_else(|| "a model".to_owned())];
    words.extend(run.tp.map(|tp| format!("TP{tp}")));
    let lengths = (result.asked.input_tokens, result.asked.output_tokens);
    words.extend(match lengths {
        (Some(input), Some(output)) => Some(format!("{input} in, {output} out")),
        (None, Some(output)) => Some(format!("{output} out")),
        (Some(input), None) => Some(format!("{input} in")),
        (None, None) => None,
    });
    if run.simulated.is_some() {
        words.push("simulated".to_owned());
    }
    words.join(", ")
}

/// The name of a result's curve.
fn curve(result: &ServeResult, label: Option<&str>) -> String {
    label.map_or_else(
        || name(result),
        |label| format!("{label}: {}", name(result)),
    )
}

fn groups<'a>(
    results: &'a [ServeResult],
    labels: &[Option<String>],
) -> BTreeMap<String, Vec<&'a ServeResult>> {
    let mut groups: BTreeMap<String, Vec<&ServeResult>> = BTreeMap::new();
    for (result, label) in results.iter().zip(labels) {
        let name = curve(result, label.as_deref());
        groups.entry(name).or_default().push(result);
    }
    groups
}

/// Every result as a row.
fn table(results: &[ServeResult], labels: &[Option<String>]) -> Section {
    let told = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), significant);
    let mean = |spread: Option<&Spread>| match spread {
        Some(spread) => match spread.mean_interval {
            Some(interval) => format!(
                "{} [{}, {}]",
                significant(spread.mean),
                significant(interval.low),
                significant(interval.high)
            ),
            None => significant(spread.mean),
        },
        None => ABSENT.to_owned(),
    };
    let rows = results.iter().zip(labels).map(|(result, label)| {
        let run = &result.run;
        vec![
            label.clone().unwrap_or_else(|| ABSENT.to_owned()),
            name(result),
            Load::of(result).map_or_else(|| ABSENT.to_owned(), Load::words),
            run.completed.to_string(),
            run.failed
                .map_or_else(|| ABSENT.to_owned(), |failed| failed.to_string()),
            significant(run.requests_per_s),
            told(result.output_tokens_per_s()),
            mean(result.spread(Latency::Ttft)),
            mean(result.spread(Latency::Tpot)),
            mean(result.spread(Latency::E2el)),
            run.origin.clone(),
        ]
    });
    Section {
        heading: "All results".to_owned(),
        blocks: vec![Block::Table(Table {
            heads: heads(&[
                "label",
                "asked of",
                "load",
                "completed",
                "failed",
                "req/s",
                "output tok/s",
                "mean TTFT (ms)",
                "mean TPOT (ms)",
                "mean E2EL (ms)",
                "file",
            ]),
            rows: rows.collect(),
        })],
    }
}
