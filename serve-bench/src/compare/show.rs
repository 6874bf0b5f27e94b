//! `serve-bench show` of a result of another client: its figures as a table, and what is wrong with them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use measure::exit;
use measure::import::ImportError;
use measure::import::serve::{Finding, Latency, ServeFormat, ServeResult, ServeRun, read_all};
use measure::record::{Record, ResultFolder};
use program::compare::{columns, section, significant};
use program::{outputs, say};

use super::rows;

/// Shows a record of ours by `ours`, a result of another client as a table or CSV, and several results, of one file or of many, as
/// rows of tables; gives the exit code.
pub(crate) fn show(paths: &[PathBuf], csv: bool, ours: impl Fn(&Record) -> u8) -> u8 {
    let [path] = paths else {
        return match several(paths) {
            Ok(results) => shown(&results, csv),
            Err(reason) => {
                say!("error: {reason}");
                exit::USAGE
            }
        };
    };
    if let Some(reason) = of_several(path) {
        say!("error: {reason}");
        return exit::USAGE;
    }
    match read_all(path) {
        Ok(results)
            if results
                .iter()
                .all(|one| one.run.format != ServeFormat::Tplens) =>
        {
            shown(&results, csv)
        }
        // What is there of a record is shown also where it has no summary.
        Err(error) if !is_of_a_record(path, &error) => {
            say!("error: {error}");
            exit::USAGE
        }
        _ => outputs::opened(path).map_or_else(|code| code, |record| ours(&record)),
    }
}

/// Every result of several files, in their order.
fn several(paths: &[PathBuf]) -> Result<Vec<ServeResult>, String> {
    let mut results = Vec::new();
    for path in paths {
        if let Some(reason) = of_several(path) {
            return Err(reason);
        }
        results.extend(read_all(path).map_err(|error| error.to_string())?);
    }
    Ok(results)
}

/// Where to look instead, of a sweep's folder, which is that of several results.
pub(crate) fn of_several(path: &Path) -> Option<String> {
    let cells = path.join("cells");
    let is_sweep = cells.is_dir() && !ResultFolder::is_taken(path);
    is_sweep.then(|| {
        format!(
            "{0} is the folder of a sweep; its results are the folders in {1}: give one of them, or all to `serve-bench page {1} --html \
             FILE` or `serve-bench sweep-report {0}`",
            path.display(),
            cells.display()
        )
    })
}

fn shown(results: &[ServeResult], csv: bool) -> u8 {
    outputs::print(&match results {
        _ if csv => table_csv(results),
        [result] => one(result),
        results => rows::of(results),
    })
}

/// Whether an error is about a record of ours, or a file that cannot be read, about both of which the record's reader says more.
fn is_of_a_record(path: &Path, error: &ImportError) -> bool {
    matches!(error, ImportError::Folder(_) | ImportError::Record(_))
        || measure::record::load(path).is_ok()
}

/// Whose format, in words; some files in vLLM's form are ours.
pub(super) fn format_words(format: ServeFormat, ours: bool) -> &'static str {
    match format {
        ServeFormat::Tplens => "serve-bench",
        ServeFormat::Vllm if ours => "serve-bench, in vLLM's form",
        ServeFormat::Vllm => "vLLM's client",
        ServeFormat::Sglang => "SGLang's client",
        ServeFormat::Summary => "a summary",
    }
}

/// The words of findings.
pub(super) fn words(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|one| one.words.clone()).collect()
}

fn one(result: &ServeResult) -> String {
    let run = &result.run;
    let told = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), significant);
    let count =
        |value: Option<u64>| value.map_or_else(|| "—".to_owned(), |value| value.to_string());
    let mut lines = vec![format!(
        "{} ({}{})",
        run.origin,
        format_words(run.format, result.ours),
        if result.ours {
            ""
        } else {
            ", imported, not measured here"
        }
    )];
    if let Some(soft) = &run.simulated {
        lines.push(format!("SIMULATED on soft box {soft}"));
    }
    let facts = [
        ("model", run.model.clone().unwrap_or_else(|| "—".to_owned())),
        ("tensor parallel size", count(run.tp.map(u64::from))),
        (
            "replies",
            if run.streamed {
                "streamed"
            } else {
                "not streamed"
            }
            .to_owned(),
        ),
        ("load", arrivals(run)),
        ("completed", run.completed.to_string()),
        ("failed", count(run.failed)),
        ("duration (s)", significant(run.duration_s)),
        ("prompt tokens", count(run.input_tokens)),
        ("output tokens", count(run.output_tokens)),
        ("requests/s", significant(run.requests_per_s)),
        ("output tokens/s", told(result.output_tokens_per_s())),
        ("all tokens/s", told(result.total_tokens_per_s())),
        (
            "peak output tokens/s",
            told(result.said.peak_output_tokens_per_s),
        ),
        ("peak in flight, as said", told(result.said.peak_in_flight)),
        ("mean in flight (Little's law)", told(result.in_flight())),
    ];
    let facts: Vec<Vec<String>> = facts
        .into_iter()
        .map(|(name, value)| vec![name.to_owned(), value])
        .collect();
    lines.extend(columns(&facts, &[]));
    lines.push(String::new());
    lines.extend(latencies(result));
    section(&mut lines, "Found", &words(&result.findings));
    lines
        .iter()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// How requests came, in words.
pub(super) fn arrivals(run: &ServeRun) -> String {
    match (run.request_rate_asked, run.concurrency_asked) {
        (Some(rate), _) if rate.is_infinite() => "all at once".to_owned(),
        (Some(rate), None) => format!("{rate} requests/s"),
        (Some(rate), Some(limit)) => format!("{rate} requests/s, at most {limit} in flight"),
        (None, Some(limit)) => format!("closed loop, {limit} in flight"),
        (None, None) => "—".to_owned(),
    }
}

fn latencies(result: &ServeResult) -> Vec<String> {
    let told = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), significant);
    let heads = ["ms", "n", "mean", "95% interval", "median", "p90", "p99"];
    let mut cells = vec![heads.map(str::to_owned).to_vec()];
    cells.extend(Latency::ALL.into_iter().map(|latency| {
        let spread = result.spread(latency);
        let interval = spread.and_then(|spread| spread.mean_interval);
        let p90 = result.p90(latency).filter(|_| spread.is_some());
        vec![
            latency.name().to_owned(),
            spread
                .and_then(|spread| spread.n)
                .map_or_else(|| "—".to_owned(), |n| n.to_string()),
            told(spread.map(|spread| spread.mean)),
            interval.map_or_else(
                || "—".to_owned(),
                |interval| {
                    format!(
                        "{} .. {}",
                        significant(interval.low),
                        significant(interval.high)
                    )
                },
            ),
            told(spread.and_then(|spread| spread.median)),
            told(p90),
            told(spread.and_then(|spread| spread.p99)),
        ]
    }));
    columns(&cells, &[1, 2, 4, 5, 6])
}

/// One line a number; what is not told has no line.
fn table_csv(results: &[ServeResult]) -> String {
    let mut csv = String::from("file,metric,statistic,unit,value\n");
    for result in results {
        let file = result.run.origin.replace('"', "\"\"");
        let mut line = |metric: &str, statistic: &str, unit: &str, value: Option<f64>| {
            if let Some(value) = value {
                // Writing to a String cannot fail.
                let _ = writeln!(csv, "\"{file}\",{metric},{statistic},{unit},{value}");
            }
        };
        line("requests", "rate", "req/s", Some(result.run.requests_per_s));
        line(
            "output tokens",
            "rate",
            "tok/s",
            result.output_tokens_per_s(),
        );
        line("all tokens", "rate", "tok/s", result.total_tokens_per_s());
        line("in flight", "mean", "requests", result.in_flight());
        for latency in Latency::ALL {
            let Some(spread) = result.spread(latency) else {
                continue;
            };
            for (statistic, value) in [
                ("mean", Some(spread.mean)),
                ("median", spread.median),
                ("p90", result.p90(latency)),
                ("p99", spread.p99),
            ] {
                line(latency.name(), statistic, "ms", value);
            }
        }
    }
    csv
}
