//! The document of one run of ours.

use record::metric;
use record::{Arrivals, Distribution, Goals, Record, Serve, ServeLoad, ServeSummary, Status};

use super::numbers::{summary, telling};
use super::{findings, plots, server};
use crate::caveats;
use crate::cell::{maybe, ms, or_absent, range, shown, significant};
use crate::document::{Block, Document, Item, Next, Section, Table, Tone};
use crate::lines::or_empty;

/// The document of a record of a serving benchmark.
pub(crate) fn run(record: &Record, serve: &Serve) -> Document {
    let summary = summary(serve);
    let found = found(record, serve);
    let mut sections = Vec::new();
    if let Some(summary) = &summary {
        sections.push(latency(serve, summary));
        sections.push(rates(serve, summary));
        sections.push(definitions(summary));
    }
    sections.push(asked(serve));
    sections.extend(server::sections(serve, summary.as_ref()));
    let host = record.header.provenance.host.iter();
    let host = host.map(|host| format!(", {host}"));
    Document {
        title: format!("{} under load", model(serve)),
        simulated: record.soft_box(),
        tone: tone(record, &found, summary.is_some()),
        answer: answer(record, serve, summary.as_ref(), &found),
        next: next(serve, summary.is_some(), &found),
        findings: found,
        sections,
        made_by: crate::run::made_by(record) + &host.collect::<String>(),
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
    let client = serve.client.as_ref();
    if client.is_some_and(|client| !client.invalid.is_empty()) {
        let text = "Give the load generator a CPU of its own or another machine, and run again.";
        return vec![Next::plain(text)];
    }
    if failed || !has_numbers {
        return vec![Next::plain("Fix what made requests fail, and run again.")];
    }
    let warnings = found.iter().filter(|item| item.tone != Tone::Open);
    let code = warnings.filter_map(|item| item.code).take(1);
    code.map(|code| {
        let text = "See what the first warning means and what to do:";
        Next::by(text, format!("tplens help {code}"))
    })
    .collect()
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
fn latency(serve: &Serve, summary: &ServeSummary) -> Section {
    let mut table = Table::under(["", "mean", "95% interval", "median", "p90", "p99", "n"]);
    for (metric, of) in telling(summary) {
        table.row([
            format!("{} ({})", metric.name, metric.unit),
            significant(of.mean),
            range(of.mean_interval),
            significant(of.median),
            maybe(of.p90),
            maybe(of.p99),
            of.n.to_string(),
        ]);
    }
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(plots::distributions(serve));
    Section::new("Latency", blocks)
}

fn rates(serve: &Serve, summary: &ServeSummary) -> Section {
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
    blocks.extend(plots::tokens_over_time(serve, summary));
    Section::new("Throughput", blocks)
}

fn definitions(summary: &ServeSummary) -> Section {
    let metrics = telling(summary).into_iter().map(|(metric, _)| metric);
    let metrics = metrics.chain([metric::IN_FLIGHT]);
    let metrics = metrics.map(|metric| format!("{}: {}", metric.name, metric.formula));
    let intervals = "95% intervals of means: bootstrap over requests; p90 needs 20 values, p99 200";
    let counts = [
        intervals.to_owned(),
        format!("input tokens: {}", shown(summary.input_tokens)),
        format!("output tokens: {}", shown(summary.output_tokens)),
    ];
    let failed = summary.failures.iter();
    let failed = failed.map(|(kind, count)| format!("failed, {kind}: {count}"));
    let lines = metrics.chain(counts).chain(failed);
    Section::detail("What the numbers are", vec![Block::list(lines)])
}

/// The server and the load.
fn asked(serve: &Serve) -> Section {
    let mut table = Table::under(["", ""]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    if let Some(target) = &serve.target {
        row("server", format!("{}{}", target.base_url, target.endpoint));
        row("engine", or_absent(target.server.clone()));
        let replies = match target.streamed {
            true => "streamed",
            false => "not streamed",
        };
        row("replies", replies.to_owned());
    }
    if let Some(load) = &serve.load {
        let tokens = |count: Option<u32>| {
            let count = count.map(|count| count.to_string());
            count.unwrap_or_else(|| "by the data".to_owned())
        };
        let warmups = load.warmups;
        let end = match load.ignore_eos {
            true => "ignored",
            false => "honoured",
        };
        row("arrivals", arrivals(load));
        row(
            "requests",
            format!("{} after {warmups} to warm up", load.requests),
        );
        if let Some(seconds) = load.duration_s {
            row("seconds at most", seconds.to_string());
        }
        row("data", or_absent(load.data.clone()));
        row("input tokens", tokens(load.input_tokens));
        row("output tokens", tokens(load.output_tokens));
        row("range ratio", load.range_ratio.to_string());
        row("shared prefix tokens", load.prefix_tokens.to_string());
        row("end of sequence", end.to_owned());
        row("seed", load.seed.to_string());
        if let Some(of) = &load.goals {
            row("goals (ms)", goals(of));
        }
    }
    Section::detail("What was asked", vec![Block::Table(table)])
}

/// `closed loop, 16 in flight`, `Poisson, 4 requests/s, at most 64 in flight`.
fn arrivals(load: &ServeLoad) -> String {
    let limit = load.concurrency.map(|limit| format!("{limit} in flight"));
    let of = match &load.arrivals {
        Arrivals::ClosedLoop => "closed loop".to_owned(),
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
            let shape = match exponential {
                true => "exponential",
                false => "linear",
            };
            format!("{shape} ramp, {from}-{to} requests/s")
        }
    };
    match (limit, &load.arrivals) {
        (None, _) => of,
        (Some(limit), Arrivals::ClosedLoop) => format!("{of}, {limit}"),
        (Some(limit), _) => format!("{of}, at most {limit}"),
    }
}
