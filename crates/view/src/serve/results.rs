//! The document of results of anybody's clients, one or several side by side.

use std::path::Path;

use import::serve::{Finding, Latency, ServeFormat, ServeResult, ServeRun, Spread, across};

use super::plots::axis;
use crate::cell::{maybe, range, shown, significant};
use crate::document::{Block, Document, Item, Next, Section, Table, Tone};
use crate::page::{Plot, PlotPoint, PlotSeries, Shape};

/// Findings that stand beside the answer; all are in the details.
const FINDINGS: usize = 4;

/// The document of results; each has the name of its configuration where that is known, and what could not be read its reason.
#[must_use]
pub fn results(results: &[(Option<String>, ServeResult)], refused: &[String]) -> Document {
    let mut machines: Vec<&str> = results
        .iter()
        .filter_map(|(_, one)| one.run.simulated.as_deref())
        .collect();
    machines.sort_unstable();
    machines.dedup();
    let simulated = (!machines.is_empty()).then(|| machines.join(" and "));
    let mut findings: Vec<Item> = refused
        .iter()
        .map(|reason| Item::of(Tone::Bad, format!("Left out: {reason}")).coded("result-left-out"))
        .collect();
    let own = (1..).zip(results).flat_map(|(number, (_, one)): (u32, _)| {
        let failed = one.run.failed.filter(|failed| *failed > 0);
        let failed = failed.map(|failed| {
            let text = format!("{number}: {failed} requests failed and are in no latency");
            Item::of(Tone::Warning, text).coded("requests-failed")
        });
        let found = one
            .findings
            .iter()
            .map(move |found| item(Some(number), found));
        found.chain(failed)
    });
    findings.extend(own);
    let all: Vec<ServeResult> = results.iter().map(|(_, one)| one.clone()).collect();
    findings.extend(across(&all).map(|found| item(None, &found)));
    let is_small = |code| code == "value-not-taken";
    findings.sort_by_key(|item| (item.tone != Tone::Bad, item.code.is_some_and(is_small)));
    let tone = match findings.iter().map(|item| item.tone).next() {
        None => Tone::Good,
        Some(Tone::Bad) => Tone::Bad,
        Some(_) => Tone::Warning,
    };
    let answer = answer(results, findings.len());
    let mut sections = vec![table(results), spreads(results), asked(results)];
    sections[0].blocks.extend(plots(results));
    if findings.len() > FINDINGS {
        sections.push(Section::detail(
            "Findings",
            vec![Block::List(findings.clone())],
        ));
        findings.truncate(FINDINGS);
    }
    Document {
        title: match results {
            [(label, one)] => name(label.as_ref(), one),
            several => format!("{} serving results", several.len()),
        },
        simulated,
        tone,
        answer,
        findings,
        next: match results {
            [(_, a), (_, b)] => {
                let files = [a, b].map(|one| word(&one.run.origin));
                let command = format!("tplens serve compare {} {}", files[0], files[1]);
                vec![Next::by("compare them.", command)]
            }
            _ => Vec::new(),
        },
        sections,
        made_by: format!("tplens serve show {}", env!("CARGO_PKG_VERSION")),
    }
}

fn item(number: Option<u32>, found: &Finding) -> Item {
    let item = crate::imported::item(found);
    match number {
        Some(number) => Item {
            text: format!("{number}: {}", item.text),
            ..item
        },
        None => item,
    }
}

fn answer(results: &[(Option<String>, ServeResult)], found: usize) -> Vec<String> {
    let rate = |one: &ServeResult| one.output_tokens_per_s();
    let rated = results
        .iter()
        .filter_map(|(label, one)| Some((label, one, rate(one)?)));
    let best = rated.max_by(|one, other| one.2.total_cmp(&other.2));
    let mut answer = Vec::new();
    if let Some((label, one, rate)) = best {
        let mean = |latency: Latency| {
            let spread = one.spread(latency)?;
            Some(format!(
                ", {} {} ms",
                latency.name(),
                significant(spread.mean)
            ))
        };
        let means = Latency::ALL.into_iter().filter_map(mean);
        let most = if results.len() > 1 { "Most: " } else { "" };
        answer.push(format!(
            "{most}{} at {}.",
            name(label.as_ref(), one),
            arrivals(&one.run)
        ));
        answer.push(format!(
            "{} output tokens/s{}.",
            significant(rate),
            means.collect::<String>()
        ));
    }
    answer.push(match found {
        0 => "Nothing in the files contradicts these numbers.".to_owned(),
        FINDINGS.. => format!("{found} findings; the first {FINDINGS} (all with -v):"),
        _ => "What speaks against these numbers:".to_owned(),
    });
    answer
}

/// Configuration, model, devices and lengths: what results of one curve share.
fn name(label: Option<&String>, result: &ServeResult) -> String {
    let run = &result.run;
    let model = run.model.clone().unwrap_or_else(|| "a model".to_owned());
    let mut words: Vec<String> = label.cloned().into_iter().chain([model]).collect();
    words.extend(run.tp.map(|tp| format!("TP{tp}")));
    let (input, output) = (result.asked.input_tokens, result.asked.output_tokens);
    words.extend(input.map(|tokens| format!("{tokens} in")));
    words.extend(output.map(|tokens| format!("{tokens} out")));
    words.join(" ")
}

/// How requests came.
#[must_use]
pub fn arrivals(run: &ServeRun) -> String {
    match (run.request_rate_asked, run.concurrency_asked) {
        (Some(rate), _) if rate.is_infinite() => "all at once".to_owned(),
        (Some(rate), None) => format!("{rate} req/s"),
        (Some(rate), Some(limit)) => format!("{rate} req/s, at most {limit}"),
        (None, Some(limit)) => format!("up to {limit} in flight"),
        (None, None) => "an unknown load".to_owned(),
    }
}

/// A file's name as a word of a shell.
fn word(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-#".contains(c);
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}

/// The end of an origin, with the number of the result in its file.
fn file(origin: &str) -> &str {
    let name = Path::new(origin).file_name();
    name.and_then(|name| name.to_str()).unwrap_or(origin)
}

fn table(results: &[(Option<String>, ServeResult)]) -> Section {
    let mut table = Table::under([
        "",
        "result",
        "load",
        "failed",
        "req/s",
        "output tok/s",
        "TTFT ms",
        "TPOT ms",
        "E2EL ms",
    ]);
    let mean = |spread: Option<&Spread>| maybe(spread.map(|spread| spread.mean));
    for (number, (_, one)) in (1u32..).zip(results) {
        table.row([
            number.to_string(),
            file(&one.run.origin).chars().take(28).collect(),
            arrivals(&one.run),
            shown(one.run.failed),
            significant(one.run.requests_per_s),
            maybe(one.output_tokens_per_s()),
            mean(one.spread(Latency::Ttft)),
            mean(one.spread(Latency::Tpot)),
            mean(one.spread(Latency::E2el)),
        ]);
    }
    Section::new("Means", vec![Block::Table(table)])
}

fn spreads(results: &[(Option<String>, ServeResult)]) -> Section {
    let mut table = Table::under([
        "",
        "ms",
        "n",
        "mean",
        "95% interval",
        "median",
        "p90",
        "p99",
    ]);
    for (number, (_, one)) in (1u32..).zip(results) {
        for latency in Latency::ALL {
            let Some(spread) = one.spread(latency) else {
                continue;
            };
            table.row([
                number.to_string(),
                latency.name().to_owned(),
                shown(spread.n),
                significant(spread.mean),
                range(spread.mean_interval),
                maybe(spread.median),
                maybe(spread.p90),
                maybe(spread.p99),
            ]);
        }
    }
    Section::detail("Latencies", vec![Block::Table(table)])
}

fn asked(results: &[(Option<String>, ServeResult)]) -> Section {
    let mut table = Table::under([
        "",
        "file",
        "of",
        "configuration",
        "replies",
        "completed",
        "s",
        "prompt each",
        "output each",
        "all tok/s",
        "in flight",
    ]);
    for (number, (label, one)) in (1..).zip(results) {
        let (number, run): (u32, _) = (number, &one.run);
        table.row([
            number.to_string(),
            run.origin.clone(),
            format(run.format, one.ours).to_owned(),
            name(label.as_ref(), one),
            if run.streamed { "streamed" } else { "whole" }.to_owned(),
            run.completed.to_string(),
            significant(run.duration_s),
            maybe(one.input_each()),
            maybe(one.output_each()),
            maybe(one.total_tokens_per_s()),
            maybe(one.in_flight()),
        ]);
    }
    Section::detail("Files", vec![Block::Table(table)])
}

/// Whose format it is; some files in vLLM's form are ours.
fn format(format: ServeFormat, ours: bool) -> &'static str {
    match format {
        ServeFormat::Tplens => "tplens",
        ServeFormat::Vllm if ours => "tplens serve (vLLM's form)",
        ServeFormat::Vllm => "vLLM",
        ServeFormat::Sglang => "SGLang",
        ServeFormat::Summary => "summary",
    }
}

/// Throughput over latency, and TTFT and TPOT by load; none of a single result.
fn plots(results: &[(Option<String>, ServeResult)]) -> Vec<Block> {
    if results.len() < 2 {
        return Vec::new();
    }
    // In the order in which they were asked for.
    let mut groups: Vec<(String, Vec<&ServeResult>)> = Vec::new();
    for (label, one) in results {
        let name = name(label.as_ref(), one);
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, group)) => group.push(one),
            None => groups.push((name, vec![one])),
        }
    }
    let plot = |title: &str, x: &str, y: &str, of: &dyn Fn(&ServeResult) -> Option<PlotPoint>| {
        let series = groups.iter().map(|(name, results)| {
            let mut points: Vec<PlotPoint> = results.iter().filter_map(|one| of(one)).collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            PlotSeries {
                name: name.clone(),
                shape: Shape::Dotted,
                points,
            }
        });
        let series: Vec<PlotSeries> = series.filter(|one| !one.points.is_empty()).collect();
        let points = || series.iter().flat_map(|series| &series.points);
        let (across, up) = (
            axis(x, points().map(|point| point.x)),
            axis(y, points().map(|point| point.y)),
        );
        Block::Plot(Plot {
            title: title.to_owned(),
            across,
            up,
            series,
        })
    };
    let title = "output tokens a second over mean end-to-end latency";
    let throughput = plot(title, "mean E2EL (ms)", "output tokens/s", &|one| {
        Some(PlotPoint {
            x: one.latency_ms()?,
            y: one.output_tokens_per_s()?,
            label: Some(arrivals(&one.run)),
            ..PlotPoint::default()
        })
    });
    let rate = |run: &ServeRun| run.request_rate_asked.filter(|rate| rate.is_finite());
    // Results of a sweep have loads of one kind; what has another is in the table.
    let (by_rate, load) = match results.iter().any(|(_, one)| rate(&one.run).is_some()) {
        true => (true, "requests/s asked for"),
        false => (false, "requests in flight"),
    };
    let by_load = [Latency::Ttft, Latency::Tpot].map(|latency| {
        let up = format!("mean {} (ms)", latency.name());
        plot(&format!("{up} by load"), load, &up, &|one| {
            let (run, spread) = (&one.run, one.spread(latency)?);
            let interval = spread.mean_interval;
            Some(PlotPoint {
                x: match by_rate {
                    true => rate(run)?,
                    false => run
                        .concurrency_asked
                        .filter(|_| run.request_rate_asked.is_none())?,
                },
                y: spread.mean,
                interval: interval.map(|interval| (interval.low, interval.high)),
                ..PlotPoint::default()
            })
        })
    });
    [throughput].into_iter().chain(by_load).collect()
}
