//! `tplens serve selftest`: this program's own error as a client, on this machine: what it reports beside what the embedded engine
//! counted of the same requests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use program::Stop;
use program::outputs::{self, check_file};
use record::{Payload, Serve, exit};
use runner::run::{Needs, URL, complete};
use serde::Serialize;
use serde_json::json;
use view::serve::{maybe, significant};
use view::{Block, Document, Item, Next, Section, Table, Tone};

use crate::planner::{self, Asker};
use crate::study::engines::embedded;

/// Measure this client's own error on this machine.
///
/// `tplens serve run` loads the embedded engine, and its times and tokens are compared with those that the engine counted. What the
/// engine's HTTP takes counts as the client's error, so the true one is smaller. Takes about 20 s. Exit code 0 where the error is
/// within the stated bounds, 3 where it is not.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Streams at once, one line of the table each.
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', default_values_t = [4, 64, 256], value_parser = clap::value_parser!(u32).range(1..=1024))]
    streams: Vec<u32>,
    /// Write the figures to this file as JSON, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The engine's machine and model, and how many sequences it runs.
const ENGINE: (&str, &str) = ("rtxpro6000-mig", "llama-3.1-8b");
const SEQUENCES: [&str; 2] = ["--max-num-seqs", "1024"];

/// How long it may take to answer.
const READY: Duration = Duration::from_secs(60);

/// A line has no fewer requests than this; each goes on in rounds of its streams until it has.
const FEWEST: u32 = 20;

/// Requests per second of the line in an open loop, its requests, and the streams that it counts as.
const OPEN: (u32, u32, u32) = (20, 100, 64);

/// The flag of the other lines.
const CLOSED: &str = "--max-concurrency";

/// Output tokens of each request.
const TOKENS: &str = "64";

/// Bounds of the error of the mean TTFT up to so many streams, ms.
const TTFT_MS: [(u32, f64); 3] = [(4, 3.0), (64, 5.0), (1024, 20.0)];

/// Bound of the error of the mean time between tokens, as a part of it.
const ITL: f64 = 0.01;

/// Bound of how late requests leave at a rate, ms, at the 99th percentile or, of few, the latest.
const SEND_LAG_MS: f64 = 10.0;

/// A load and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Line {
    load: String,
    requests: usize,
    /// The engine's means, ms.
    ttft_true_ms: Option<f64>,
    itl_true_ms: Option<f64>,
    /// The client's mean less the engine's, ms.
    ttft_off_ms: Option<f64>,
    /// The client's less the engine's, as a part of that.
    itl_off: Option<f64>,
    /// Output tokens that the engine counted and the client.
    tokens: (Option<f64>, Option<u64>),
    /// How late requests left; of a rate alone.
    send_lag_ms: Option<f64>,
    /// What is beyond its bound: `tokens`, `ttft`, `itl`, `send-lag`.
    beyond: Vec<&'static str>,
}

/// Measures, prints, and gives the exit code.
///
/// # Errors
/// The engine or a load could not be started, or a signal came.
pub(crate) fn run(args: &Args, asker: &Asker<'_>) -> Result<u8, Stop> {
    if let Some(path) = &args.json {
        check_file("--json", path).map_err(Stop::Usage)?;
    }
    let folder = std::env::temp_dir().join(format!("tplens-selftest-{}", std::process::id()));
    let lines = measured(args, &folder, asker)?;
    // What is left of it is in nobody's way; a failure names it.
    drop(std::fs::remove_dir_all(&folder));
    let exit_code = match lines.iter().all(|line| line.beyond.is_empty()) {
        true => exit::DONE,
        false => exit::INCONCLUSIVE,
    };
    let json = json!({"schema": 3, "lines": lines, "exit_code": exit_code});
    let printed = outputs::with_json(asker.show, &document(&lines), &json, args.json.as_deref());
    Ok(exit::fold([printed, exit_code]))
}

fn measured(args: &Args, folder: &Path, asker: &Asker<'_>) -> Result<Vec<Line>, Stop> {
    let mut run = asker.open(folder, ("a selftest", "settings.json"), &json!({}))?;
    let mut words = embedded(ENGINE.0, ENGINE.1, "1")?;
    words.extend(SEQUENCES.map(str::to_owned));
    let engine = planner::server("engine", words, vec![], folder.join("engine.log"), READY);
    let closed = args.streams.iter().map(|n| {
        let requests = n * FEWEST.div_ceil(*n);
        (format!("{n} streams"), CLOSED, *n, requests, *n)
    });
    let (rate, requests, like) = OPEN;
    let load = format!("{rate} req/s");
    let open = (load, "--request-rate", rate, requests, like);
    let mut lines = Vec::new();
    for (load, flag, value, requests, streams) in closed.chain([open]) {
        let arguments = planner::words([
            (flag, value.to_string()),
            ("--base-url", URL.to_owned()),
            ("--num-prompts", requests.to_string()),
            ("--random-input-len", "16".to_owned()),
            ("--random-output-len", TOKENS.to_owned()),
        ]);
        let named = (
            load.replace([' ', '/'], "-"),
            format!("{requests} requests"),
        );
        let server = Some(Needs::Started(engine.clone()));
        let step = planner::load(named, arguments, server, 0.0);
        let end = run.step(&step)?;
        match complete(&end.folder).map(|record| record.payload) {
            Some(Payload::Serve(serve)) => lines.push(Line::of(load, streams, &serve)),
            // A line that is missing must not pass.
            _ => {
                let folder = end.folder.display();
                let reason = format!("{folder} has no whole run: the load broke off");
                return Err(Stop::Refused(reason.into()));
            }
        }
    }
    Ok(lines)
}

impl Line {
    /// The line of a run that went to its end.
    fn of(load: String, streams: u32, serve: &Serve) -> Self {
        let counters = serve.server.as_ref().and_then(|it| it.counters.as_ref());
        let change = counters.and_then(|counters| counters.change.as_ref());
        let summary = serve.summary.as_ref();
        let ttft_true_ms = change.and_then(|it| Some(it.ttft?.mean_ms));
        let itl_true_ms = change.and_then(|it| Some(it.itl?.mean_ms));
        let ttft = summary.and_then(|it| Some(it.ttft_ms.as_ref()?.mean));
        let itl = summary.and_then(record::ServeSummary::token_gap_ms);
        let ttft_off_ms = ttft.zip(ttft_true_ms).map(|(of, truth)| of - truth);
        let itl_off = itl.zip(itl_true_ms).map(|(of, truth)| of / truth - 1.0);
        let engine = change.and_then(|it| it.generated_tokens);
        let client = summary.and_then(|it| it.output_tokens);
        let arrivals = serve.load.as_ref().map(|load| &load.arrivals);
        let is_open = arrivals.is_some_and(record::Arrivals::is_open_loop);
        let lags = serve.client.as_ref().and_then(|it| it.send_lag_ms.as_ref());
        let lag_ms = lags.map(|lags| lags.p99.unwrap_or(lags.max));
        let is_off = |of: Option<f64>, limit: f64| of.is_none_or(|of| of.abs() > limit);
        let bound = TTFT_MS.iter().find(|(most, _)| streams <= *most);
        let is_counted = engine.is_some() && engine == client.map(|tokens| tokens as f64);
        let beyond = [
            ("tokens", !is_counted),
            ("ttft", is_off(ttft_off_ms, bound.map_or(0.0, |of| of.1))),
            ("itl", is_off(itl_off, ITL)),
            ("send-lag", is_open && is_off(lag_ms, SEND_LAG_MS)),
        ];
        let beyond = beyond.into_iter().filter(|(_, is)| *is);
        Self {
            load,
            requests: serve.requests.len(),
            ttft_true_ms,
            itl_true_ms,
            ttft_off_ms,
            itl_off,
            tokens: (engine, client),
            send_lag_ms: lag_ms.filter(|_| is_open),
            beyond: beyond.map(|(name, _)| name).collect(),
        }
    }
}

fn document(lines: &[Line]) -> Document {
    let all = lines.len();
    let percent = |line: &Line| line.itl_off.map(|off| off * 100.0);
    let worst = |of: &dyn Fn(&Line) -> Option<f64>| {
        let values = lines.iter().filter_map(of).map(f64::abs);
        significant(values.fold(0.0, f64::max))
    };
    let beyond = lines.iter().filter(|line| !line.beyond.is_empty());
    let findings = beyond.map(|line| {
        let text = format!("{}: {} beyond the bound", line.load, line.beyond.join(", "));
        Item::of(Tone::Bad, text).coded("client-late")
    });
    let findings: Vec<Item> = findings.collect();
    let some = findings.len();
    let first = match some {
        0 => format!("This client's times are right: all {all} loads within their bounds."),
        _ => format!("{some} of {all} loads beyond their bounds: the client lags on this machine."),
    };
    let mut table = Table::under([
        "load", "n", "TTFT ms", "off ms", "ITL ms", "off %", "lag ms", "beyond",
    ]);
    for line in lines {
        table.row([
            line.load.clone(),
            line.requests.to_string(),
            maybe(line.ttft_true_ms),
            maybe(line.ttft_off_ms),
            maybe(line.itl_true_ms),
            maybe(percent(line)),
            maybe(line.send_lag_ms),
            line.beyond.join(" "),
        ]);
    }
    let next = Next::by(
        "stop what else runs on this machine, and repeat.",
        "tplens serve selftest",
    );
    let errors = format!(
        "Largest mean errors: TTFT {} ms, time between tokens {}%.",
        worst(&|line| line.ttft_off_ms),
        worst(&percent)
    );
    let title = "Client against the embedded engine's own counts";
    Document {
        title: "Selftest of the load generator".to_owned(),
        tone: if some == 0 { Tone::Good } else { Tone::Bad },
        answer: vec![first, errors],
        next: (some > 0).then_some(next).into_iter().collect(),
        findings,
        sections: vec![Section::new(title, vec![Block::Table(table)])],
        made_by: format!("tplens serve selftest {}", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    }
}

#[cfg(test)]
mod tests {
    use record::{
        Arrivals, ServeClient, ServeLoad, ServeServer, ServeSummary, ServerChange, ServerCounters,
        ServerMean,
    };
    use stats::distribution;

    use super::*;

    /// The engine's TTFT is 40 ms, its time between tokens 20 ms and its tokens 1000; requests are due at a rate.
    fn serve(ttft_ms: f64, itl_ms: f64, tokens: u64, lag_ms: f64) -> Serve {
        let mean = |mean_ms| {
            Some(ServerMean {
                mean_ms,
                count: 100.0,
            })
        };
        Serve {
            load: Some(ServeLoad {
                arrivals: Arrivals::Poisson { rate: 20.0 },
                ..ServeLoad::default()
            }),
            summary: Some(ServeSummary {
                output_tokens: Some(tokens),
                ttft_ms: distribution(&[ttft_ms; 10]),
                itl_ms: distribution(&[itl_ms; 10]),
                ..ServeSummary::default()
            }),
            server: Some(ServeServer {
                counters: Some(ServerCounters {
                    change: Some(ServerChange {
                        generated_tokens: Some(1000.0),
                        ttft: mean(40.0),
                        itl: mean(20.0),
                        ..ServerChange::default()
                    }),
                    ..ServerCounters::default()
                }),
                ..ServeServer::default()
            }),
            client: Some(ServeClient {
                send_lag_ms: distribution(&[lag_ms; 10]),
                ..ServeClient::default()
            }),
            ..Serve::default()
        }
    }

    #[test]
    fn each_error_has_its_bound() {
        let beyond = |streams, serve: &Serve| Line::of(String::new(), streams, serve).beyond;
        // 42 - 40 = 2 ms of 3; 20.1 / 20 is 0.5% of 1%; 5 ms of 10.
        assert_eq!(beyond(4, &serve(42.0, 20.1, 1000, 5.0)), [""; 0]);
        assert_eq!(beyond(4, &serve(44.0, 20.0, 1000, 5.0)), ["ttft"]);
        assert_eq!(beyond(64, &serve(44.0, 20.0, 1000, 5.0)), [""; 0]);
        assert_eq!(beyond(4, &serve(40.0, 21.0, 1000, 5.0)), ["itl"]);
        assert_eq!(
            beyond(4, &serve(40.0, 20.0, 999, 11.0)),
            ["tokens", "send-lag"]
        );
        // Without counters of the engine nothing is known, which is no pass.
        let mut blind = serve(40.0, 20.0, 1000, 5.0);
        blind.server = None;
        assert_eq!(beyond(4, &blind), ["tokens", "ttft", "itl"]);
    }
}
