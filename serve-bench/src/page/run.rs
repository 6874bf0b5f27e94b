//! The page of one run: a headline, what speaks against its numbers, figures, distributions, and what went on over time.

use measure::caveat::Caveat;
use measure::metric::{e2el, tpot, ttft};
use measure::record::{
    Payload, Record, Serve, ServeRequest, ServeServer, ServeSummary, Status, summarise,
};
use measure::render::text::{serve_beside, serve_counts, serve_heads, serve_latencies};
use measure::stats::Interval;
use program::compare::significant;
use report::{Block, Page, Section, Table};

use super::{shapes, timeline};

/// What a cell shows where there is nothing to show.
const ABSENT: &str = "—";

/// A metric's value of a request.
type Of = fn(&ServeRequest) -> Option<f64>;

/// The page of a run; `None` of another kind of record.
pub(super) fn page(record: &Record) -> Option<Page> {
    let Payload::Serve(serve) = &record.payload else {
        return None;
    };
    let simulated = record.soft_box();
    let summary = serve.summary.clone().or_else(|| {
        let streamed = serve.target.as_ref().is_some_and(|target| target.streamed);
        let goals = serve.load.as_ref().and_then(|load| load.goals.as_ref());
        summarise(&serve.requests, streamed, goals)
    });
    let mut sections = vec![warnings(record, serve)];
    if let Some(summary) = &summary {
        sections.push(figures(serve, summary));
        sections.push(distributions(serve, simulated.is_some()));
        sections.push(timeline::section(serve, summary, simulated.is_some()));
    }
    if let Some(server) = &serve.server {
        sections.push(counters(server, summary.as_ref()));
    }
    sections.retain(|section| !section.blocks.is_empty());
    let model = serve
        .target
        .as_ref()
        .map_or("a server", |target| target.model.as_str());
    let head = &record.header;
    Some(Page {
        title: format!("{model} under load"),
        simulated,
        answer: vec![headline(serve, summary.as_ref())],
        sections,
        made_by: format!(
            "{} {}, measured {}{}",
            head.program,
            head.version,
            head.provenance.started,
            head.provenance
                .host
                .as_ref()
                .map_or_else(String::new, |host| format!(" on {host}"))
        ),
    })
}

/// One sentence: who, how much, how fast.
fn headline(serve: &Serve, summary: Option<&ServeSummary>) -> String {
    let target = serve.target.clone().unwrap_or_default();
    let mut who = vec![target.server.clone().unwrap_or_default()];
    who.extend(target.tp.map(|tp| format!("TP{tp}")));
    who.retain(|word| !word.is_empty());
    let who = match &who[..] {
        [] => String::new(),
        words => format!(" ({})", words.join(", ")),
    };
    let Some(summary) = summary else {
        return format!(
            "{}{who} completed no request of {}.",
            target.model,
            serve.requests.len()
        );
    };
    let all = summary.completed + summary.failed;
    let mut parts = vec![
        format!(
            "{}{who} answered {} of {all} requests",
            target.model, summary.completed
        ),
        format!("{} a second", significant(summary.requests_per_s)),
    ];
    parts.extend(
        summary
            .output_tokens_per_s
            .map(|rate| format!("{} output tokens a second", significant(rate))),
    );
    let with = |of: &measure::record::Distribution| {
        let interval = of.mean_interval.map_or_else(String::new, |interval| {
            format!(
                " (95% interval {} to {})",
                significant(interval.low),
                significant(interval.high)
            )
        });
        format!("{} ms{interval}", significant(of.mean))
    };
    let mut sentence = parts.join(", ");
    if let Some(first) = &summary.ttft_ms {
        sentence.push_str(&format!("; mean TTFT {}", with(first)));
    }
    if let Some(each) = &summary.tpot_ms {
        sentence.push_str(&format!("; mean TPOT {}", with(each)));
    }
    sentence.push_str(&format!(
        "; {} in flight in the mean.",
        significant(summary.mean_in_flight)
    ));
    sentence
}

/// What speaks against the numbers, first of all.
fn warnings(record: &Record, serve: &Serve) -> Section {
    let mut first: Vec<String> = match &record.status {
        Status::Complete => Vec::new(),
        Status::Interrupted { signal } => vec![format!(
            "INTERRUPTED by {signal}: these are the requests that ended until then, so latencies lean to short replies"
        )],
        Status::Broken => {
            vec!["BROKEN OFF: these are the requests that were on the disk".to_owned()]
        }
        Status::Failed { reason } | Status::Refused { reason } => {
            vec![format!("BROKEN OFF: {reason}")]
        }
    };
    let invalid = serve.client.iter().flat_map(|client| &client.invalid);
    first.extend(
        invalid.map(|reason| format!("INVALID, the load generator was the limit: {reason}")),
    );
    let server = serve.server.iter().flat_map(|server| &server.cautions);
    first.extend(server.cloned());
    let notes: Vec<String> = serve.caveats.iter().map(Caveat::to_string).collect();
    let mut blocks = Vec::new();
    if !first.is_empty() {
        blocks.push(Block::Warnings(first));
    }
    if !notes.is_empty() {
        blocks.push(Block::List(notes));
    }
    Section {
        heading: "Before believing these numbers".to_owned(),
        blocks,
    }
}

fn figures(serve: &Serve, summary: &ServeSummary) -> Section {
    let mut blocks: Vec<Block> = serve_heads(serve)
        .into_iter()
        .map(Block::Paragraph)
        .collect();
    blocks.push(Block::Table(Table {
        heads: heads(&[
            "latency",
            "mean",
            "95% interval",
            "median",
            "95% interval",
            "p90",
            "p99",
            "n",
        ]),
        rows: serve_latencies(summary)
            .into_iter()
            .map(|(metric, of)| {
                let told =
                    |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), significant);
                vec![
                    format!("{} ({})", metric.name, metric.unit),
                    significant(of.mean),
                    interval(of.mean_interval),
                    significant(of.median),
                    interval(of.median_interval),
                    told(of.p90),
                    told(of.p99),
                    of.n.to_string(),
                ]
            })
            .collect(),
    }));
    let counts = serve_counts(summary, serve.load.as_ref()).into_iter();
    blocks.push(Block::Table(Table {
        heads: heads(&["counts and rates", ""]),
        rows: counts
            .map(|(label, value)| vec![label.trim_end_matches(':').to_owned(), value])
            .collect(),
    }));
    let definitions = serve_latencies(summary)
        .into_iter()
        .map(|(metric, _)| format!("{}: {}", metric.name, metric.formula));
    blocks.push(Block::List(definitions.collect()));
    Section {
        heading: "Figures".to_owned(),
        blocks,
    }
}

fn interval(interval: Option<Interval>) -> String {
    interval.map_or_else(
        || ABSENT.to_owned(),
        |i| format!("{} .. {}", significant(i.low), significant(i.high)),
    )
}

fn distributions(serve: &Serve, simulated: bool) -> Section {
    let streamed = serve.target.as_ref().is_some_and(|target| target.streamed);
    let metrics: [(&str, Of, bool); 3] = [
        ("TTFT", ttft::of, true),
        ("TPOT", tpot::of, true),
        ("E2EL", |request| Some(e2el::of(request)), false),
    ];
    let completed = || {
        serve
            .requests
            .iter()
            .filter(|request| request.error.is_none())
    };
    let plots = metrics.into_iter().filter_map(|(name, of, of_streams)| {
        if of_streams && !streamed {
            return None;
        }
        let values: Vec<f64> = completed().filter_map(of).collect();
        let title = format!("part of the requests with {name} up to a value");
        shapes::ecdf(&title, name, values, simulated)
    });
    Section {
        heading: "Distributions over requests".to_owned(),
        blocks: plots.map(Block::Plot).collect(),
    }
}

/// The server's own counters beside ours.
fn counters(server: &ServeServer, summary: Option<&ServeSummary>) -> Section {
    let mut blocks = Vec::new();
    if let Some(counters) = &server.counters {
        blocks.push(Block::Paragraph(format!(
            "{} readings of {}, which has {} names; from the reading before the first request to the one after the last.",
            counters.readings.len(),
            counters.url,
            counters.engine
        )));
        if let Some(change) = &counters.change {
            let rows = serve_beside(change, summary);
            blocks.push(Block::Table(Table {
                heads: heads(&["", "by the server", "here"]),
                rows: rows.into_iter().map(Vec::from).collect(),
            }));
        }
    }
    let missing = [
        (
            "Server's own counters: none, or no more: ",
            &server.no_counters,
        ),
        ("The server's machine was not seen: ", &server.no_machine),
    ];
    let missing = missing
        .into_iter()
        .filter_map(|(what, why)| Some(Block::Paragraph(format!("{what}{}.", why.as_ref()?))));
    blocks.extend(missing);
    Section {
        heading: "The server's side".to_owned(),
        blocks,
    }
}

pub(super) fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
