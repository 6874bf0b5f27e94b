//! The command line of `tplens serve sweep`.

use std::path::PathBuf;

use clap::Args;

use super::plan::{LoadPlan, Matrix, Numbers, Plan, SCHEMA, ServerPlan};

/// Runs every cell of a matrix of loads, each into a folder of its own: on a server that runs (--base-url), or on those that a
/// plan starts. Started again with the same flags and folder it resumes: a cell whose record is complete is not done again, and
/// what was broken off is set aside.
///
/// Exit code 0 where every cell is done, 3 where one is not or its requests failed.
#[derive(Debug, Clone, Args)]
pub(crate) struct SweepArgs {
    /// A plan, a TOML file, instead of the flags of a matrix; see serve-bench/examples/r9700.toml.
    #[arg(value_name = "PLAN", conflicts_with_all = ["base_url", "concurrency", "request_rate", "input_len", "output_len", "num_prompts", "load"], required_unless_present = "base_url")]
    pub(super) plan: Option<PathBuf>,

    /// The server that all cells load.
    #[arg(long, value_name = "URL")]
    pub(super) base_url: Option<String>,

    /// Requests in flight, such as 1,2,4 or 1..8 [default: 1,2,4,8,16,32 where there is no --request-rate].
    #[arg(long, value_name = "LIST")]
    pub(super) concurrency: Option<Numbers>,

    /// Requests per second, such as 0.5,1,2.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = rate)]
    pub(super) request_rate: Vec<f64>,

    /// Prompt tokens.
    #[arg(long, value_name = "LIST", default_value = "1024")]
    pub(super) input_len: Numbers,

    /// Output tokens.
    #[arg(long, value_name = "LIST", default_value = "128")]
    pub(super) output_len: Numbers,

    /// Requests of each cell [default: 4 for each in flight, 30 s of a rate, 16 at least].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) num_prompts: Option<u32>,

    /// Only cells with one of these values, such as `model=8B,14B` or `n=1..20`; several are all kept. Keys: config, model,
    /// tp, input, output, n, concurrency, rate.
    #[arg(long, value_name = "KEY=VALUES")]
    pub(super) only: Vec<String>,

    /// Measure again the cells whose requests failed or that were limited by the client; what was there is kept beside, as
    /// NAME.broken-1. To measure another one again, delete its folder.
    #[arg(long, conflicts_with = "list")]
    pub(super) redo: bool,

    /// List the cells and the server commands, and whether each is done; run nothing.
    #[arg(long)]
    pub(super) list: bool,

    /// Folder of the sweep. Default: of a plan its name under tplens-results, so that the same plan resumes there; else a new one.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// Further flags of `tplens serve run` after `--`, such as --model NAME.
    #[arg(last = true, value_name = "RUN FLAGS")]
    pub(super) load: Vec<String>,
}

/// A load: requests per second or in flight.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    text.trim()
        .parse()
        .ok()
        .filter(|rate| (1e-6..=1e6).contains(rate))
        .ok_or_else(|| format!("`{text}` is not a number from 0.000001 to 1000000"))
}

/// Requests in flight where no load is named.
const IN_FLIGHT: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Configuration and model of cells that have none.
pub(super) const LABEL: &str = "server";

impl SweepArgs {
    /// The plan of a matrix that stands on the command line.
    pub(super) fn matrix(&self) -> Plan {
        let usual = || {
            self.request_rate
                .is_empty()
                .then(|| Numbers(IN_FLIGHT.to_vec()))
        };
        let matrix = |concurrency: Option<Numbers>, rates: &[f64]| Matrix {
            configs: vec![LABEL.to_owned()],
            models: vec![LABEL.to_owned()],
            // Not known.
            tp: vec![0],
            inputs: self.input_len.0.clone(),
            outputs: self.output_len.0.clone(),
            num_prompts: self.num_prompts.map(|requests| Numbers(vec![requests])),
            concurrency,
            rates: rates.to_vec(),
        };
        let closed = self.concurrency.clone().or_else(usual);
        let closed = closed.map(|numbers| matrix(Some(numbers), &[]));
        let open = Some(&self.request_rate[..]).filter(|rates| !rates.is_empty());
        let open = open.map(|rates| matrix(None, rates));
        Plan {
            schema: SCHEMA,
            name: "in{input}_out{output}_c{concurrency}_r{rate}".to_owned(),
            server: ServerPlan {
                base_url: self.base_url.clone(),
                ..ServerPlan::default()
            },
            load: LoadPlan {
                flags: self.load.clone(),
                seed: None,
            },
            matrix: closed.into_iter().chain(open).collect(),
            ..Plan::default()
        }
    }
}
