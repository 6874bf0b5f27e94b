//! The block that `vllm bench serve` (0.33) prints at its end, in its labels, order and widths.

use std::fmt::Write as _;

use super::ExportError;
use super::form::{Statistics, VllmForm, begun};
use record::metric;
use record::{Arrivals, Record};

/// Width of the block.
const WIDTH: usize = 50;

/// The record as vLLM prints it; what a record does not have is `nan`, as Python writes and reads it.
///
/// A record of a simulated machine has one line more, first.
///
/// # Errors
/// The record is no serving benchmark, or has no summary.
pub fn vllm_text(record: &Record, form: &VllmForm) -> Result<String, ExportError> {
    let (serve, _, load) = begun(record)?;
    let summary = serve.summary.as_ref().ok_or(ExportError::NoSummary)?;
    let mut block = Block::default();
    if let Some(soft) = record.soft_box() {
        let _ = writeln!(block.0, "SIMULATED on {soft}");
    }
    block.title(" Serving Benchmark Result ", '=');
    block.count("Successful requests:", Some(summary.completed.into()));
    block.count("Failed requests:", Some(summary.failed.into()));
    if let Some(limit) = load.concurrency {
        block.count("Maximum request concurrency:", Some(limit.into()));
    }
    let ramps = matches!(load.arrivals, Arrivals::Ramp { .. });
    if let Some(rate) = load.arrivals.rate().filter(|_| !ramps) {
        block.number("Request rate configured (RPS):", Some(rate));
    }
    block.number("Benchmark duration (s):", Some(summary.duration_s));
    block.count("Total input tokens:", summary.input_tokens);
    block.count("Total generated tokens:", summary.output_tokens);
    block.number("Request throughput (req/s):", Some(summary.requests_per_s));
    if load.goals.is_some() {
        block.number("Request goodput (req/s):", summary.goodput_per_s);
    }
    let output = summary.output_tokens_per_s;
    block.number("Output token throughput (tok/s):", output);
    let peak = metric::peak_output(&serve.requests);
    block.number("Peak output token throughput (tok/s):", peak);
    let peak = summary.peak_in_flight.map(f64::from);
    block.number("Peak concurrent requests:", peak);
    block.number("Total token throughput (tok/s):", summary.total());
    for metric in form.shown(load) {
        let (_, name, title) = metric.names();
        let of = Statistics::of(metric, serve, summary, &form.percentiles);
        block.title(title, '-');
        block.number(&format!("Mean {name} (ms):"), of.mean);
        block.number(&format!("Median {name} (ms):"), of.median);
        for (percentile, value) in of.percentiles {
            block.number(&format!("P{percentile} {name} (ms):"), value);
        }
    }
    block.title("", '=');
    Ok(block.0)
}

/// The lines so far. Writing to a String cannot fail.
#[derive(Default)]
struct Block(String);

impl Block {
    fn title(&mut self, title: &str, fill: char) {
        let _ = match fill {
            '=' => writeln!(self.0, "{title:=^WIDTH$}"),
            _ => writeln!(self.0, "{title:-^WIDTH$}"),
        };
    }

    fn count(&mut self, label: &str, count: Option<u64>) {
        let count = count.map_or_else(|| "nan".to_owned(), |count| count.to_string());
        let _ = writeln!(self.0, "{label:<40} {count:<10}");
    }

    fn number(&mut self, label: &str, value: Option<f64>) {
        let value = value.map_or_else(|| "nan".to_owned(), |value| format!("{value:.2}"));
        let _ = writeln!(self.0, "{label:<40} {value:<10}");
    }
}
