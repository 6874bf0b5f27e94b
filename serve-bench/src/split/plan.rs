//! `tplens serve split`: how many prefill and decode engines, who limits them, and whether to split at all.

use std::path::PathBuf;

use disagg::{Aggregated, Capacity, KvShape, Limits, Verdict, solve};
use program::outputs;
use program::say;
use program::show::Show;
use record::exit;
use tp_plan::ModelFacts;
use view::serve::significant;
use view::{Block, Document, Section, Table, Tone};

use super::check::positive;

/// How many prefill and decode engines these GPUs should run, from what one of each does alone.
///
/// The rates are those at the limits of latency: a prefill engine's with max_tokens 1, a decode engine's with keys and values that
/// are there (vLLM's DecodeBenchConnector, SGLang's fake backend). A tenth of the prefill rate and 8% of the decode rate are kept back for
/// uneven arrivals.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SplitArgs {
    /// GPUs that there are.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1024))]
    gpus: u32,
    /// Requests a second of one prefill engine at the limit of TTFT.
    #[arg(long, value_name = "RATE", value_parser = positive)]
    prefill_rate: f64,
    /// Requests a second of one decode engine at the limit of TPOT.
    #[arg(long, value_name = "RATE", value_parser = positive)]
    decode_rate: f64,
    /// GPUs of a prefill engine.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    prefill_gpus: u32,
    /// GPUs of a decode engine.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    decode_gpus: u32,
    /// Requests a second of one aggregated engine with chunked prefill at the same limits.
    #[arg(long, value_name = "RATE", value_parser = positive)]
    aggregated_rate: Option<f64>,
    /// GPUs of an aggregated engine.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    aggregated_gpus: u32,
    /// With --input-tokens and --link: the model whose keys and values are sent.
    #[arg(long, value_name = "NAME|FILE", requires_all = ["input_tokens", "link"])]
    model: Option<String>,
    /// Tokens of a prompt.
    #[arg(long, value_name = "N", requires = "model", value_parser = clap::value_parser!(u32).range(1..))]
    input_tokens: Option<u32>,
    /// Bandwidth of one engine's link, GB/s.
    #[arg(long, value_name = "GB/s", requires = "model", value_parser = positive)]
    link: Option<f64>,
    /// Print JSON to this file, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Prints the plan, and gives the exit code.
pub(crate) fn split(args: &SplitArgs, show: Show) -> u8 {
    let link_per_s = match link_rate(args) {
        Ok(rate) => rate,
        Err(error) => {
            say!("error: {error}");
            return exit::USAGE;
        }
    };
    let capacity = Capacity {
        prefill_per_s: args.prefill_rate,
        decode_per_s: args.decode_rate,
        slots_per_s: None,
        kv_per_s: None,
        link_per_s,
        prefill_gpus: args.prefill_gpus,
        decode_gpus: args.decode_gpus,
    };
    let limits = Limits {
        gpus: args.gpus,
        is_exact: false,
    };
    let Some(plan) = solve(&capacity, &limits) else {
        say!("error: --gpus: there is no room for one engine of each kind");
        return exit::USAGE;
    };
    let aggregated = args.aggregated_rate.map(|per_s| Aggregated {
        per_s,
        gpus: args.aggregated_gpus,
    });
    let verdict = aggregated.map(|aggregated| plan.verdict(&aggregated, args.gpus));
    let name = format!("{}P{}D", plan.prefill, plan.decode);
    let per_gpu = plan.per_s / f64::from(plan.gpus);
    let (code, gain) = match verdict {
        Some(Verdict::Split { gain }) => ("split", gain),
        Some(Verdict::DoNotSplit { gain }) => ("do-not-split", gain),
        Some(Verdict::Neither) | None => ("not-compared", None),
    };
    let json = serde_json::json!({
        "schema": 1, "prefill": plan.prefill, "decode": plan.decode, "gpus": plan.gpus, "requests_per_s": plan.per_s,
        "requests_per_s_and_gpu": per_gpu, "limit": plan.limit.code(), "verdict": code, "over_aggregated": gain,
    });
    let first = match code {
        "do-not-split" => {
            "Do not split: aggregated engines serve as much or more on these GPUs.".to_owned()
        }
        _ => format!(
            "{name} serves {} req/s; {} limits it.",
            significant(plan.per_s),
            plan.limit.code()
        ),
    };
    let mut answer = vec![first];
    answer.extend(gain.map(|gain| {
        format!(
            "{name} serves {}x what aggregated engines do.",
            significant(gain)
        )
    }));
    let mut table = Table::under(["engines", "GPUs", "req/s", "req/s and GPU", "limited by"]);
    table.row([
        name,
        plan.gpus.to_string(),
        significant(plan.per_s),
        significant(per_gpu),
        plan.limit.code().to_owned(),
    ]);
    let document = Document {
        title: "Prefill and decode engines".to_owned(),
        tone: if code == "split" {
            Tone::Good
        } else {
            Tone::Open
        },
        answer,
        sections: vec![Section::new("Plan", vec![Block::Table(table)])],
        made_by: format!("tplens serve split {}", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    };
    outputs::with_json(show, &document, &json, args.json.as_deref())
}

/// Prompts a second whose keys and values one engine's link carries.
fn link_rate(args: &SplitArgs) -> Result<Option<f64>, String> {
    let (Some(name), Some(tokens), Some(link)) = (&args.model, args.input_tokens, args.link) else {
        return Ok(None);
    };
    let model = ModelFacts::resolve(name).map_err(|error| format!("--model: {error}"))?;
    let bytes = KvShape::of(&model, 16).sent_bytes(tokens, args.prefill_gpus);
    Ok(Some(link * 1e9 / bytes))
}
