//! `tplens serve check`: a rate that was not kept up, requests that waited for a slot, a limit that the mean alone keeps, and
//! prompts that were not computed.

use std::path::PathBuf;

use disagg::{Claim, Finding, prompt_flops};
use import::serve::{ServeResult, read_all};
use program::show::Show;
use program::{Stop, outputs};
use record::exit;
use serde::Serialize;
use serde_json::json;
use tp_plan::ModelFacts;
use view::serve::{maybe, significant};
use view::{Document, Item, Section, Tone};

use crate::planner::{table, usage};

/// Check what serving results claim against their own figures.
///
/// Exit code 1 where a finding is, 0 where none is.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CheckArgs {
    /// Results of `tplens serve run` or of other clients.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Sequences that the engine runs at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_num_seqs: Option<u32>,
    /// Limit of the time to first token that was claimed.
    #[arg(long, value_name = "TIME", value_parser = program::command_line::time)]
    ttft: Option<std::time::Duration>,
    /// Model: a shipped name, a config.json or a folder that holds one.
    #[arg(long, value_name = "NAME|FILE", requires = "peak_tflops")]
    model: Option<String>,
    /// Tflop/s of all GPUs that prefill at their peak, such as 15832 of eight H200 in FP8.
    #[arg(long, value_name = "TFLOPS", requires = "model", value_parser = crate::sweep::rate)]
    peak_tflops: Option<f64>,
    /// Write the findings to this file as JSON, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// One result and what was found.
#[derive(Serialize)]
struct Checked {
    origin: String,
    requests: u64,
    served_per_s: f64,
    offered_per_s: Option<f64>,
    waited: Option<f64>,
    ttft_mean_ms: Option<f64>,
    ttft_p99_ms: Option<f64>,
    prefill_pflops: Option<f64>,
    codes: Vec<&'static str>,
}

/// Prints what was found, and gives the exit code.
///
/// # Errors
/// A model or a file that cannot be read.
pub(crate) fn check(args: &CheckArgs, show: Show) -> Result<u8, Stop> {
    let model = args.model.as_deref().map(ModelFacts::resolve).transpose();
    let model = model.map_err(usage("--model"))?;
    let mut checked = Vec::new();
    for file in &args.files {
        let results = read_all(file).map_err(|error| Stop::Usage(error.to_string()))?;
        checked.extend(results.iter().map(|one| of(one, args, model.as_ref())));
    }
    let json = json!({"schema": 1, "results": checked});
    let shown = outputs::with_json(show, &document(&checked), &json, args.json.as_deref());
    let is_clean = checked.iter().all(|one| one.codes.is_empty());
    let found = if is_clean { exit::DONE } else { exit::REJECTED };
    Ok(exit::fold([shown, found]))
}

fn of(result: &ServeResult, args: &CheckArgs, model: Option<&ModelFacts>) -> Checked {
    let run = &result.run;
    let requests = run.completed as f64;
    let offered_per_s = run.request_rate_asked.filter(|rate| rate.is_finite());
    let ttft = run.ttft_ms.as_ref();
    let ttft_mean_ms = ttft.map(|ttft| ttft.mean);
    let ttft_p99_ms = ttft.and_then(|ttft| ttft.p99);
    let tokens = result.asked.input_tokens.map(|tokens| tokens as f64);
    let tokens = tokens.or_else(|| run.input_tokens.map(|tokens| tokens as f64 / requests));
    let flops = model.zip(tokens);
    let flops = flops.map(|(model, tokens)| prompt_flops(model, tokens));
    let decoded = run.tpot_ms.zip(run.output_tokens);
    let limit_ms = args.ttft.map(|limit| limit.as_secs_f64() * 1e3);
    let findings = disagg::check(&Claim {
        requests,
        duration_s: run.duration_s,
        offered_per_s,
        in_flight: run.concurrency_asked,
        decode_s: decoded.map(|(tpot, tokens)| tpot.mean * 1e-3 * (tokens as f64 / requests - 1.0)),
        slots: args.max_num_seqs.map(f64::from),
        ttft_mean_ms: ttft_mean_ms.unwrap_or(0.0),
        ttft_tail_ms: ttft_p99_ms,
        limit_ms: limit_ms.filter(|_| ttft.is_some()),
        prompt_flops: flops.filter(|_| ttft.is_some()),
        peak_flops: args.peak_tflops.map(|peak| peak * 1e12),
    });
    let (mut waited, mut prefill_pflops) = (None, None);
    for finding in &findings {
        match finding {
            Finding::WaitedForSlots { waited: some, of } => waited = Some(some / of),
            Finding::PrefillBeyondPeak { needed, .. } => prefill_pflops = Some(needed * 1e-15),
            Finding::RateNotSustained { .. } | Finding::LimitByMean { .. } => {}
        }
    }
    Checked {
        origin: run.origin.clone(),
        requests: run.completed,
        served_per_s: run.requests_per_s,
        offered_per_s,
        waited,
        ttft_mean_ms,
        ttft_p99_ms,
        prefill_pflops,
        codes: findings.iter().map(Finding::code).collect(),
    }
}

fn document(checked: &[Checked]) -> Document {
    const CODES: &str = "rate-not-sustained waited-for-slots slo-by-mean prefill-beyond-peak";
    let all = checked.len();
    let finding = |code: &'static str| {
        let count = checked.iter().filter(|one| one.codes.contains(&code));
        let count = count.count();
        let text = format!("{count} of {all}: {}", view::codes::line(code));
        (count > 0).then(|| Item::of(Tone::Bad, text).coded(code))
    };
    let heads = "result, n, offered req/s, served req/s, waited %, TTFT ms, p99 ms, PF/s";
    let row = |one: &Checked| {
        [
            one.origin.clone(),
            one.requests.to_string(),
            maybe(one.offered_per_s),
            significant(one.served_per_s),
            maybe(one.waited.map(|share| share * 100.0)),
            maybe(one.ttft_mean_ms),
            maybe(one.ttft_p99_ms),
            maybe(one.prefill_pflops),
        ]
    };
    let rows = table(heads, checked.iter().map(row));
    let some = checked.iter().filter(|one| !one.codes.is_empty()).count();
    let answer = match some {
        0 => format!("Nothing in {all} results contradicts their figures."),
        _ => format!("{some} of {all} results do not show what they claim."),
    };
    Document {
        title: "Serving results against their own figures".to_owned(),
        tone: if some == 0 { Tone::Good } else { Tone::Bad },
        answer: vec![answer],
        findings: CODES.split(' ').filter_map(finding).collect(),
        sections: vec![Section::new("Results", rows)],
        made_by: format!("tplens serve check {}", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    }
}
