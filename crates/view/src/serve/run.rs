//! The document of one run of ours.

use record::metric::{self, Metric};
use record::{
    Arrivals, Distribution, Goals, Record, Serve, ServeLoad, ServeSummary, Status, summarise,
};

use super::cells::{ABSENT, count, maybe, ms, significant, within};
use super::{findings, plots, server};
use crate::caveats;
use crate::document::{Block, Document, Item, Next, Section, Table, Tone};
use crate::lines::or_empty;

/// The document of a record of a serving benchmark.
pub(crate) fn run(record: &Record, serve: &Serve) -> Document {
    let load = serve.load.clone().unwrap_or_default();
    let target = serve.target.clone().unwrap_or_default();
    let summary = serve
        .summary
        .clone()
        .or_else(|| summarise(&serve.requests, target.streamed, load.goals.as_ref()));
    let found = found(record, serve);
    let simulated = record.soft_box();
    let is_simulated = simulated.is_some();
    let mut sections = Vec::new();
    if let Some(summary) = &summary {
        sections.push(latency(serve, summary, is_simulated));
        sections.push(rates(serve, summary, is_simulated));
        sections.push(definitions(summary));
    }
    sections.push(asked(serve));
    sections.extend(server::sections(serve, summary.as_ref()));
    let head = &record.header;
    let host = head.provenance.host.as_ref();
    Document {
        title: format!("{} under load", model(serve)),
        simulated,
        tone: tone(record, &found, summary.is_some()),
        answer: answer(record, serve, summary.as_ref(), &found),
        next: next(serve, summary.is_some(), &found),
        findings: found,
        sections,
        made_by: format!(
            "{} {}, {}{}",
            head.command(),
            head.version,
            head.provenance.started,
            host.map_or_else(String::new, |host| format!(", {host}"))
        ),
    }
}

/// What must be known before the numbers are believed, the worst first.
fn found(record: &Record, serve: &Serve) -> Vec<Item> {
    let invalid = serve.client.iter().flat_map(|client| &client.invalid);
    let mut found: Vec<Item> = invalid.map(|reason| findings::invalid(reason)).collect();
    if let Status::Failed { reason } = &record.status {
        found.push(Item::of(Tone::Bad, format!("The run broke off: {reason}")));
    }
    found.extend(serve.caveats.iter().map(caveats::line));
    found.sort_by_key(|item| item.tone != Tone::Bad);
    found
}

fn tone(record: &Record, found: &[Item], has_numbers: bool) -> Tone {
    let has = |tone| found.iter().any(|item| item.tone == tone);
    if !has_numbers || has(Tone::Bad) {
        Tone::Bad
    } else if record.status != Status::Complete || has(Tone::Warning) {
        Tone::Warning
    } else {
        Tone::Good
    }
}

fn model(serve: &Serve) -> String {
    let target = serve.target.as_ref();
    let Some(target) = target.filter(|target| !target.model.is_empty()) else {
        return "A server".to_owned();
    };
    match target.tp {
        Some(tp) => format!("{} TP{tp}", target.model),
        None => target.model.clone(),
    }
}

fn answer(
    record: &Record,
    serve: &Serve,
    summary: Option<&ServeSummary>,
    found: &[Item],
) -> Vec<String> {
    let who = model(serve);
    if let Status::Refused { reason } = &record.status {
        return vec![format!("Nothing was measured: {reason}")];
    }
    let Some(summary) = summary else {
        let all = serve.requests.len();
        return vec![format!("{who}: none of {all} requests completed.")];
    };
    let all = summary.completed + summary.failed;
    let mut answer = vec![match summary.failed {
        0 => format!(
            "{who}: {all} requests{}, none failed, {} in flight on average.",
            or_empty(lengths_asked(serve)),
            significant(summary.mean_in_flight)
        ),
        failed => format!("{who}: {failed} of {all} requests failed."),
    }];
    let mean = |name: &str, of: &Option<Distribution>| {
        let of = of.as_ref()?;
        Some(format!("{name} {}", ms(of.mean)))
    };
    let mut parts: Vec<String> = [
        mean("TTFT", &summary.ttft_ms),
        mean("TPOT", &summary.tpot_ms),
        mean("E2EL", &summary.e2el_ms),
    ]
    .into_iter()
    .flatten()
    .collect();
    let rate = summary.output_tokens_per_s;
    parts.extend(rate.map(|rate| format!("{} output tokens/s", significant(rate))));
    answer.push(format!("Means: {}.", parts.join(", ")));
    let goals = serve.load.as_ref().and_then(|load| load.goals.as_ref());
    answer.extend(goals.map(|goals| {
        let good = maybe(summary.goodput_per_s);
        format!("Goodput within {}: {good} requests/s.", self::goals(goals))
    }));
    answer.push(match &record.status {
        Status::Complete if found.iter().all(|item| item.tone == Tone::Open) => {
            "The measurement is valid, without warnings. Whether it is fast, only a comparison says.".to_owned()
        }
        Status::Complete => "The measurement has warnings:".to_owned(),
        _ => format!(
            "Not the whole run: {all} of {} requests ended; the slowest are not in it.",
            serve.load.as_ref().map_or(0, |load| load.requests)
        ),
    });
    answer
}

/// ` of 1024 tokens in, 128 out`.
fn lengths_asked(serve: &Serve) -> Option<String> {
    let load = serve.load.as_ref()?;
    let (input, output) = (load.input_tokens?, load.output_tokens?);
    Some(format!(" of {input} tokens in, {output} out"))
}

fn next(serve: &Serve, has_numbers: bool, found: &[Item]) -> Vec<Next> {
    let failed = serve.requests.iter().any(|one| one.error.is_some());
    let is_invalid = serve
        .client
        .as_ref()
        .is_some_and(|it| !it.invalid.is_empty());
    if is_invalid {
        vec![Next::plain(
            "Give the load generator a CPU of its own or another machine, and run again.",
        )]
    } else if failed || !has_numbers {
        vec![Next::plain("Fix what made requests fail, and run again.")]
    } else if let Some(code) = found
        .iter()
        .filter(|item| item.tone != Tone::Open)
        .find_map(|item| item.code)
    {
        vec![Next::by(
            "See what the first warning means and what to do:",
            format!("tplens help {code}"),
        )]
    } else {
        Vec::new()
    }
}

/// `ttft:500 tpot:50`, ms, as `--goodput` takes them.
fn goals(goals: &Goals) -> String {
    let named = [
        ("ttft", goals.ttft_ms),
        ("tpot", goals.tpot_ms),
        ("e2el", goals.e2el_ms),
    ];
    let named = named
        .into_iter()
        .filter_map(|(name, goal)| Some(format!("{name}:{}", goal?)));
    named.collect::<Vec<_>>().join(" ")
}

/// A row per metric.
fn latency(serve: &Serve, summary: &ServeSummary, simulated: bool) -> Section {
    let mut table = Table::under(["", "mean", "95% interval", "median", "p90", "p99", "n"]);
    for (metric, of) in latencies(summary) {
        table.row([
            format!("{} ({})", metric.name, metric.unit),
            significant(of.mean),
            within(of.mean_interval),
            significant(of.median),
            maybe(of.p90),
            maybe(of.p99),
            of.n.to_string(),
        ]);
    }
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(plots::distributions(serve, simulated));
    Section::new("Latency", blocks)
}

/// The latencies: vLLM's metrics in its order, then ours where they say something that the others do not.
fn latencies(summary: &ServeSummary) -> Vec<(Metric, &Distribution)> {
    let varies = |of: &&Distribution| of.min < of.max;
    // Where every first chunk holds a token, this is TTFT again.
    let before_token = summary.ttfc_ms.as_ref().filter(|any| {
        let first = summary.ttft_ms.as_ref();
        first.is_none_or(|first| any.mean < first.mean)
    });
    // Chunks of one token each have the same values twice.
    let merged = summary.itl_per_token_ms.as_ref();
    let merged = merged.filter(|of| summary.itl_ms.as_ref().is_none_or(|gaps| gaps.n != of.n));
    let mixed = summary.mixed_part.is_some_and(|part| part > 0.0);
    let decode = summary.tpot_decode_ms.as_ref().filter(|_| mixed);
    [
        (metric::TTFT, summary.ttft_ms.as_ref()),
        (metric::TPOT, summary.tpot_ms.as_ref()),
        (metric::ITL, summary.itl_ms.as_ref()),
        (metric::E2EL, summary.e2el_ms.as_ref()),
        (metric::TTFC, before_token),
        (metric::ITL_PER_TOKEN, merged),
        (metric::TPOT_DECODE, decode),
        (metric::TPOT_MIXED, summary.tpot_mixed_ms.as_ref()),
        (metric::QUEUE_TIME, summary.queue_ms.as_ref()),
        (metric::E2EL_INTENDED, summary.e2el_intended_ms.as_ref()),
        (
            metric::INPUT_LENGTH,
            summary.input_lengths.as_ref().filter(varies),
        ),
        (
            metric::OUTPUT_LENGTH,
            summary.output_lengths.as_ref().filter(varies),
        ),
    ]
    .into_iter()
    .filter_map(|(metric, of)| Some((metric, of?)))
    .collect()
}

fn rates(serve: &Serve, summary: &ServeSummary, simulated: bool) -> Section {
    let mut table = Table::under([
        "completed",
        "failed",
        "seconds",
        "req/s",
        "goodput/s",
        "output tok/s",
        "peak tok/s",
        "all tok/s",
        "in flight",
    ]);
    table.row([
        summary.completed.to_string(),
        summary.failed.to_string(),
        significant(summary.duration_s),
        significant(summary.requests_per_s),
        maybe(summary.goodput_per_s),
        maybe(summary.output_tokens_per_s),
        maybe(summary.peak_output_tokens_per_s),
        maybe(summary.total()),
        significant(summary.mean_in_flight),
    ]);
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(plots::over_time(serve, summary, simulated));
    Section::new("Throughput", blocks)
}

fn definitions(summary: &ServeSummary) -> Section {
    let metrics = latencies(summary).into_iter().map(|(metric, _)| metric);
    let lines = metrics.chain([metric::IN_FLIGHT]);
    let lines = lines.map(|metric| format!("{}: {}", metric.name, metric.formula));
    let failed = summary.failures.iter();
    let failed = failed.map(|(kind, count)| format!("failed, {kind}: {count}"));
    let intervals = "95% intervals of means: bootstrap over requests; p90 needs 20 values, p99 200";
    let tokens = [
        ("input", summary.input_tokens),
        ("output", summary.output_tokens),
    ];
    let tokens = tokens.map(|(what, tokens)| format!("{what} tokens: {}", count(tokens)));
    let lines = lines
        .chain([intervals.to_owned()])
        .chain(tokens)
        .chain(failed);
    Section::detail("What the numbers are", vec![Block::list(lines)])
}

/// The server and the load.
fn asked(serve: &Serve) -> Section {
    let mut table = Table::under(["", ""]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    if let Some(target) = &serve.target {
        row("server", format!("{}{}", target.base_url, target.endpoint));
        row(
            "engine",
            target.server.clone().unwrap_or_else(|| ABSENT.to_owned()),
        );
        row(
            "replies",
            if target.streamed {
                "streamed"
            } else {
                "not streamed"
            }
            .to_owned(),
        );
    }
    if let Some(load) = &serve.load {
        let tokens =
            |count: Option<u32>| count.map_or("by the data".to_owned(), |it| it.to_string());
        row("arrivals", arrivals(load));
        row(
            "requests",
            format!("{} after {} to warm up", load.requests, load.warmups),
        );
        if let Some(seconds) = load.duration_s {
            row("seconds at most", seconds.to_string());
        }
        row(
            "data",
            load.data.clone().unwrap_or_else(|| ABSENT.to_owned()),
        );
        row("input tokens", tokens(load.input_tokens));
        row("output tokens", tokens(load.output_tokens));
        row("range ratio", load.range_ratio.to_string());
        row("shared prefix tokens", load.prefix_tokens.to_string());
        row(
            "end of sequence",
            if load.ignore_eos {
                "ignored"
            } else {
                "honoured"
            }
            .to_owned(),
        );
        row("seed", load.seed.to_string());
        if let Some(of) = &load.goals {
            row("goals (ms)", goals(of));
        }
    }
    Section::detail("What was asked", vec![Block::Table(table)])
}

/// `closed loop, 16 in flight`, `Poisson, 4 requests/s, at most 64 in flight`.
fn arrivals(load: &ServeLoad) -> String {
    let limit = load
        .concurrency
        .map_or_else(String::new, |limit| format!(", at most {limit} in flight"));
    let of = match &load.arrivals {
        Arrivals::ClosedLoop => return format!("closed loop{}", limit.replace("at most ", "")),
        Arrivals::AllAtOnce => "all at once".to_owned(),
        Arrivals::Constant { rate } => format!("constant, {rate} requests/s"),
        Arrivals::Poisson { rate } => format!("Poisson, {rate} requests/s"),
        Arrivals::Trace { rate } => format!("a trace, {rate:.3} requests/s"),
        Arrivals::Gamma { rate, burstiness } => {
            format!("gamma, {rate} requests/s, burstiness {burstiness}")
        }
        Arrivals::Ramp {
            from,
            to,
            exponential,
        } => {
            let shape = if *exponential {
                "exponential"
            } else {
                "linear"
            };
            format!("{shape} ramp, {from}-{to} requests/s")
        }
    };
    of + &limit
}
