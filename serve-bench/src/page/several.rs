//! The page of several results: throughput against latency, TTFT and TPOT by concurrency and by rate, with their intervals.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use measure::import::serve::{Latency, ServeResult, Spread, read_all};
use program::compare::significant;
use report::{Axis, Block, Page, Plot, PlotPoint, PlotSeries, Section, Shape, Table};

use super::labels::labels;
use super::run::heads;
use super::shapes::axis;
use crate::compare::of_several;

/// Findings of one result that are told.
const FINDINGS: usize = 3;

/// Folders below a folder that are looked into.
const DEPTH: usize = 3;

/// Files that make a folder a result.
const RESULT: [&str; 2] = ["record.json", "journal.jsonl"];

/// What a cell shows where there is nothing to show.
const ABSENT: &str = "—";

/// Reads results, also those in folders below; gives with them why others were left out.
pub(super) fn read(paths: &[PathBuf]) -> (Vec<ServeResult>, Vec<String>) {
    let (mut results, mut refused) = (Vec::new(), Vec::new());
    let mut found = Vec::new();
    for path in paths {
        let before = found.len();
        find(path, DEPTH, &mut found);
        if found.len() == before
            && let Some(reason) = of_several(path)
        {
            refused.push(reason);
        } else if found.len() == before {
            // A name that is not there, too: its reader says so.
            found.push(path.clone());
        }
    }
    for path in found {
        match read_all(&path) {
            Ok(read) => results.extend(read),
            Err(error) => refused.push(error.to_string()),
        }
    }
    (results, refused)
}

/// A file, a result folder, or the result folders below a folder, in the order of their names.
fn find(path: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let is_result = RESULT.iter().any(|name| path.join(name).is_file());
    if is_result || path.is_file() {
        found.push(path.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else {
        return;
    };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    if depth > 0 {
        folders
            .iter()
            .for_each(|folder| find(folder, depth - 1, found));
    }
}

/// How much was asked of a server.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Load {
    /// So many in flight.
    Concurrency(f64),
    /// So many requests a second.
    Rate(f64),
    /// All at once, or not told: so many in flight in the mean.
    Seen(f64),
}

/// Where a load stands on an axis; nowhere on that of another kind of load.
type Place = fn(&Load) -> Option<f64>;

impl Load {
    fn of(result: &ServeResult) -> Option<Self> {
        let run = &result.run;
        let rate = run.request_rate_asked.filter(|rate| rate.is_finite());
        rate.map(Self::Rate)
            .or(run.concurrency_asked.map(Self::Concurrency))
            .or_else(|| result.in_flight().map(Self::Seen))
    }

    fn words(self) -> String {
        match self {
            Self::Concurrency(places) => format!("{places}"),
            Self::Rate(rate) => format!("{rate}/s"),
            Self::Seen(mean) => format!("≈{mean:.1}"),
        }
    }
}

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

struct Pictures<'a> {
    groups: BTreeMap<String, Vec<&'a ServeResult>>,
    simulated: bool,
}

impl Pictures<'_> {
    /// A picture over all groups; `of` gives a result's point.
    fn plot(
        &self,
        title: String,
        labels: (&str, &str),
        of: impl Fn(&ServeResult) -> Option<PlotPoint>,
    ) -> Plot {
        let series = self.groups.iter().filter_map(|(name, results)| {
            let mut points: Vec<PlotPoint> =
                results.iter().filter_map(|result| of(result)).collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            (!points.is_empty()).then(|| PlotSeries {
                name: name.clone(),
                shape: Shape::Dotted,
                points,
            })
        });
        let series: Vec<PlotSeries> = series.collect();
        let all = || series.iter().flat_map(|series| &series.points);
        let across = axis(labels.0, all().map(|point| point.x));
        let up = axis(labels.1, all().map(|point| point.y));
        Plot {
            title,
            across,
            up,
            series,
            simulated: self.simulated,
        }
    }

    /// Tokens a second over the time that a request takes; each point has its load beside it.
    fn throughput(&self) -> Plot {
        let mut plot = self.plot(
            "output tokens a second over mean end-to-end latency; beside each point its load"
                .to_owned(),
            ("mean E2EL (ms)", "output tokens/s"),
            |result| {
                Some(PlotPoint {
                    x: result.latency_ms()?,
                    y: result.output_tokens_per_s()?,
                    interval: None,
                    label: Load::of(result).map(Load::words),
                })
            },
        );
        // By load and not by latency, which may fall again.
        for series in &mut plot.series {
            series.shape = Shape::Dots;
        }
        plot.up.logarithmic = false;
        plot
    }

    fn latency(&self, latency: Latency, label: &str, load: Place) -> Plot {
        let up = format!("mean {} (ms)", latency.name());
        let title = format!("{up} by load, with 95% intervals where raw values are there");
        self.plot(title, (label, &up), |result| {
            let spread = result.spread(latency)?;
            let interval = spread.mean_interval;
            Some(PlotPoint {
                x: load(&Load::of(result)?)?,
                y: spread.mean,
                interval: interval.map(|interval| (interval.low, interval.high)),
                label: None,
            })
        })
    }

    fn tokens(&self, label: &str, load: Place) -> Plot {
        let mut plot = self.plot(
            "output tokens a second by load".to_owned(),
            (label, "output tokens/s"),
            |result| {
                Some(PlotPoint {
                    x: load(&Load::of(result)?)?,
                    y: result.output_tokens_per_s()?,
                    interval: None,
                    label: None,
                })
            },
        );
        plot.up = Axis {
            logarithmic: false,
            ..plot.up
        };
        plot
    }
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
