//! A log's facts as a table: what is known, and by which line.

use comfy_table::{Table, presets};

use super::facts::{Counted, EngineLog, Graphs, Said};
use crate::engine::CustomAllReduce;

/// What a cell shows where there is nothing to show.
const ABSENT: &str = "—";

/// Aligned text of everything that the log says; a fact that no line said is shown as absent.
#[must_use]
pub fn log_table(log: &EngineLog) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["fact", "value", "line", "said"]);
    for (name, value, line, text) in rows(log) {
        let line = line.map_or_else(|| ABSENT.to_owned(), |line| line.to_string());
        table.add_row([name, value, line, text]);
    }
    let mut text: String = table
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect();
    for note in &log.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

type Row = (String, String, Option<u64>, String);

fn rows(log: &EngineLog) -> Vec<Row> {
    let flag = |set: &bool| if *set { "on" } else { "off" }.to_owned();
    let mut rows = vec![
        row("engine", &log.engine, |engine| engine.name().to_owned()),
        row("version", &log.version, String::clone),
        row("tensor parallel size", &log.tp, u32::to_string),
        row("pipeline parallel size", &log.pp, u32::to_string),
        row("data parallel size", &log.dp, u32::to_string),
        row("attention backend", &log.attention_backend, String::clone),
        row(
            "custom all-reduce",
            &log.custom_all_reduce,
            |state| match state {
                CustomAllReduce::Active => "on".to_owned(),
                CustomAllReduce::Off { reason, .. } => format!("off: {reason}"),
            },
        ),
        row("graphs", &log.graphs, graphs),
        row(
            "tokens a step, at most",
            &log.max_batched_tokens,
            u32::to_string,
        ),
        row("sequences, at most", &log.max_num_seqs, u32::to_string),
        row("prefix cache", &log.prefix_cache, flag),
        row("chunked prefill", &log.chunked_prefill, flag),
        row("activations", &log.dtype, String::clone),
        row("quantisation", &log.quantization, String::clone),
        row("key-value cache", &log.kv_cache_dtype, String::clone),
        row("tokens in the cache", &log.kv_cache_tokens, u64::to_string),
        row("collective library", &log.library, |library| {
            format!("{} {}", library.name, library.version)
        }),
        row("channels", &log.channels, u32::to_string),
        row(
            "registered buffers",
            &log.registered_addresses,
            |buffers| match log.all_reduces_per_graph() {
                Some(each) => format!("{buffers}: {each} all-reduces a graph"),
                None => buffers.to_string(),
            },
        ),
    ];
    let counted = |name: &str, unit: &str, entry: &Counted| {
        let value = format!("{} ({} {unit})", entry.name, entry.count);
        (name.to_owned(), value, Some(entry.line), entry.text.clone())
    };
    rows.extend(
        log.captured
            .iter()
            .map(|entry| counted("captured", "graphs", entry)),
    );
    rows.extend(
        log.transports
            .iter()
            .map(|entry| counted("transport", "lines", entry)),
    );
    rows.extend(log.environment.iter().map(|said| {
        (
            "environment".to_owned(),
            said.value.clone(),
            Some(said.line),
            said.text.clone(),
        )
    }));
    rows.extend(log.warnings.iter().map(|warned| {
        let value = format!("{} ({} lines)", warned.meaning, warned.count);
        (
            "warning".to_owned(),
            value,
            Some(warned.line),
            warned.text.clone(),
        )
    }));
    rows
}

fn row<T>(name: &str, said: &Option<Said<T>>, show: impl Fn(&T) -> String) -> Row {
    match said {
        Some(said) => (
            name.to_owned(),
            show(&said.value),
            Some(said.line),
            said.text.clone(),
        ),
        None => (name.to_owned(), ABSENT.to_owned(), None, String::new()),
    }
}

fn graphs(graphs: &Graphs) -> String {
    match graphs {
        Graphs::Eager { reason } => format!("none: {reason}"),
        Graphs::Captured { sizes: None } => "captured, sizes not said".to_owned(),
        Graphs::Captured { sizes: Some(sizes) } => match (sizes.first(), sizes.last()) {
            (Some(first), Some(last)) => format!("{} sizes, {first} to {last}", sizes.len()),
            _ => "no sizes".to_owned(),
        },
    }
}
