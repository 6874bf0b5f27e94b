//! What clients print, as an object with the labels for keys: the blocks of vLLM's and SGLang's clients, and the lines or tables of
//! evalscope. Other lines of a log are passed over.

use serde_json::{Map, Value};

use super::finding::Finding;
use super::keys::meaning;
use record::control;

/// How the blocks of vLLM's and SGLang's clients and of evalscope begin.
const TITLES: [&str; 2] = [" Serving Benchmark Result ", "Benchmarking summary"];

/// The title of what vLLM's Rust client prints below, with the same labels.
const STEADY: &str = " Steady-State Metrics ";

/// A benchmark that was printed.
#[derive(Debug, Default)]
pub(super) struct Printed {
    pub(super) map: Map<String, Value>,
    pub(super) findings: Vec<Finding>,
}

/// The benchmarks in a text, each with what its client printed before; none where it has no such block.
pub(super) fn all(text: &str) -> Vec<Printed> {
    let is_title = |line: &str| TITLES.iter().any(|title| line.contains(title));
    let is_end = |line: &str| line.len() > 40 && line.bytes().all(|b| b == b'=');
    let lines: Vec<&str> = text.lines().collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|at| is_title(lines[*at])).collect();
    let mut found = Vec::new();
    let mut before = 0;
    for (number, start) in starts.iter().enumerate() {
        let next = starts.get(number + 1).copied().unwrap_or(lines.len());
        let end = (start + 1..next).find(|at| is_end(lines[*at]));
        let block = &lines[start + 1..end.unwrap_or(next)];
        let mut printed = read(block);
        let is_boxed = lines[*start].contains(TITLES[0]);
        if is_boxed && end.is_none() {
            printed.findings.push(Finding::BlockCut);
        }
        preamble(&lines[before..*start], &mut printed.map);
        found.push(printed);
        before = end.map_or(next, |end| end + 1);
        // What is steady is a part of the same run.
        if lines.get(before).is_some_and(|line| line.contains(STEADY)) {
            before = (before + 1..next)
                .find(|at| is_end(lines[*at]))
                .unwrap_or(next);
        }
    }
    if starts.is_empty() {
        let printed = read(&lines);
        found.extend(Some(printed).filter(|one| {
            ["successful requests", "succeed requests"]
                .iter()
                .any(|key| one.map.contains_key(*key))
        }));
    }
    found
}

/// A block's lines `label: value`, and the rows of its tables.
fn read(lines: &[&str]) -> Printed {
    let mut printed = Printed::default();
    // evalscope prints percentiles of a metric below its name.
    let mut group: Option<String> = None;
    let mut heads: Vec<String> = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(['|', '│', '┃']).map(str::trim).collect();
        match cells.as_slice() {
            ["", percent, cells @ .., ""] if percent.ends_with('%') => {
                let percent = percent.trim_end_matches('%');
                for (head, cell) in heads.iter().zip(cells) {
                    let key = format!("p{percent} {head}");
                    match meaning(&key) {
                        Some(_) => printed.put(&key, cell),
                        None => drop(printed.map.entry(head).or_insert(Value::Bool(true))),
                    }
                }
            }
            ["", first, rest @ .., ""] if first.starts_with("Percentile") => {
                heads = rest.iter().map(|head| head.to_ascii_lowercase()).collect();
            }
            ["", key, value, ""] if *key != "Key" => printed.put(key, value),
            _ => {
                let Some((label, value)) = line.rsplit_once(':') else {
                    continue;
                };
                match (&group, label.strip_prefix("Percentile of ")) {
                    (_, Some(metric)) => group = Some(metric.to_owned()),
                    (Some(metric), _) if label.starts_with('p') => {
                        printed.put(&format!("{label} {metric} (s)"), value)
                    }
                    _ => printed.put(label, value),
                }
            }
        }
    }
    printed
}

impl Printed {
    /// Takes a value under its label in lower case; the first one where two differ.
    fn put(&mut self, label: &str, words: &str) {
        let key = label.trim().to_ascii_lowercase();
        let Some(value) = value(words).filter(|_| !key.is_empty()) else {
            return;
        };
        match self.map.get(&key) {
            None => drop(self.map.insert(key, value)),
            Some(known) if *known != value => {
                let number = |of: &Value| of.as_f64().unwrap_or_default();
                let (said, own) = (number(&value), number(known));
                self.findings.push(Finding::FiguresDiffer {
                    figure: control::shortened(&key),
                    said,
                    own,
                });
            }
            Some(_) => {}
        }
    }
}

/// The number or word that a text begins with; `not set` and `None` stand for no limit, `nan` for no value.
fn value(words: &str) -> Option<Value> {
    let word = words.split_whitespace().next()?;
    Some(match word.parse::<f64>() {
        _ if matches!(word, "None" | "not" | "nan") => Value::Null,
        Ok(number) if number.is_finite() => Value::from(number),
        _ => Value::from(word),
    })
}

/// What a client prints before its block: limits, and its command line as `Namespace(..., random_input_len=1024, ...)`.
fn preamble(lines: &[&str], map: &mut Map<String, Value>) {
    for (label, words) in lines.iter().filter_map(|line| line.rsplit_once(':')) {
        let label = label.trim().to_ascii_lowercase();
        if let Some(value) =
            value(words.trim_end_matches('.')).filter(|_| meaning(&label).is_some())
        {
            map.entry(label).or_insert(value);
        }
    }
    let Some(line) = lines.iter().rfind(|line| line.contains("Namespace(")) else {
        return;
    };
    for key in [
        "num_prompts",
        "random_input_len",
        "random_output_len",
        "random_range_ratio",
        "seed",
        "dataset_name",
        "model",
        "backend",
        "host",
    ] {
        let said = line.split_once(&format!("{key}="));
        let said = said
            .and_then(|(_, rest)| value(rest.split([',', ')']).next()?.trim().trim_matches('\'')));
        if let Some(value) = said.filter(|value| !value.is_null()) {
            map.insert(key.to_owned(), value);
        }
    }
}
