//! Several serving results as rows: what was asked and done, each latency, and what contradicts what, row by row and over all.

use std::path::Path;

use measure::import::serve::{Latency, ServeResult, across};
use program::compare::{columns, section, significant};

use super::show;

/// The whole text.
pub(super) fn of(results: &[ServeResult]) -> String {
    let theirs = results.iter().filter(|one| !one.ours).count();
    let whose = match theirs {
        0 => " of serve-bench".to_owned(),
        all if all == results.len() => ", imported and not measured here".to_owned(),
        some => format!(", {some} of them imported and not measured here"),
    };
    let mut lines = vec![format!("{} results{whose}", results.len())];
    for (number, result) in (1..).zip(results) {
        let run = &result.run;
        let soft = run.simulated.as_ref();
        let soft = soft.map_or_else(String::new, |soft| {
            format!(", SIMULATED on soft box {soft}")
        });
        let model = run.model.as_deref().unwrap_or("model not told");
        let tp = run.tp.map_or_else(String::new, |tp| format!(", TP{tp}"));
        lines.push(format!(
            "{number:>3}  {} ({}; {model}{tp}; {}{soft})",
            file(&run.origin),
            show::format_words(run.format, result.ours),
            show::arrivals(run)
        ));
    }
    lines.push(String::new());
    lines.extend(loads(results));
    for latency in Latency::ALL {
        if results.iter().any(|one| one.spread(latency).is_some()) {
            lines.push(String::new());
            lines.extend(latencies(results, latency));
        }
    }
    let found: Vec<String> = (1..)
        .zip(results)
        .flat_map(|(number, result)| {
            let words = show::words(&result.findings);
            words
                .into_iter()
                .map(move |words| format!("{number}: {words}"))
        })
        .collect();
    section(&mut lines, "Found, by row", &found);
    section(
        &mut lines,
        "Found over all rows",
        &show::words(&across(results)),
    );
    lines
        .iter()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// The end of an origin, with the number of the result in its file.
fn file(origin: &str) -> &str {
    let name = Path::new(origin).file_name();
    name.and_then(|name| name.to_str()).unwrap_or(origin)
}

fn told(value: Option<f64>) -> String {
    value.map_or_else(|| "—".to_owned(), significant)
}

/// Rates and totals; those that the file does not state are worked out from its others.
fn loads(results: &[ServeResult]) -> Vec<String> {
    let heads = [
        "",
        "asked",
        "completed",
        "failed",
        "s",
        "prompt each",
        "output each",
        "req/s",
        "output tok/s",
        "peak tok/s",
        "in flight",
    ];
    let mut cells = vec![heads.map(str::to_owned).to_vec()];
    cells.extend((1..).zip(results).map(|(number, result): (u32, _)| {
        let run = &result.run;
        let asked = run
            .concurrency_asked
            .or(run.request_rate_asked.filter(|rate| rate.is_finite()));
        vec![
            number.to_string(),
            asked.map_or_else(|| "—".to_owned(), |asked| asked.to_string()),
            run.completed.to_string(),
            run.failed
                .map_or_else(|| "—".to_owned(), |failed| failed.to_string()),
            significant(run.duration_s),
            told(result.input_each()),
            told(result.output_each()),
            significant(run.requests_per_s),
            told(result.output_tokens_per_s()),
            told(result.said.peak_output_tokens_per_s),
            told(result.in_flight()),
        ]
    }));
    let numbers: Vec<usize> = (1..heads.len()).collect();
    columns(&cells, &numbers)
}

fn latencies(results: &[ServeResult], latency: Latency) -> Vec<String> {
    let name = format!("{} (ms)", latency.name());
    let heads = [name.as_str(), "n", "mean", "median", "p90", "p99"];
    let mut cells = vec![heads.map(str::to_owned).to_vec()];
    cells.extend((1..).zip(results).map(|(number, result): (u32, _)| {
        let spread = result.spread(latency);
        let n = spread.and_then(|spread| spread.n);
        vec![
            number.to_string(),
            n.map_or_else(|| "—".to_owned(), |n| n.to_string()),
            told(spread.map(|spread| spread.mean)),
            told(spread.and_then(|spread| spread.median)),
            told(result.p90(latency).filter(|_| spread.is_some())),
            told(spread.and_then(|spread| spread.p99)),
        ]
    }));
    columns(&cells, &[1, 2, 3, 4, 5])
}
