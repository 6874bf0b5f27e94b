//! The command line of `explain`.

use std::path::PathBuf;

use ::explain::Priors;
use clap::{Args, ValueEnum};
use measure::import::serve::accepted_keys;

use super::sources::{EngineFlags, EvidenceFiles, Sources};

/// Explains from result files why several GPUs give what they give against one: ours, vLLM's, and those of other clients.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = formats())]
pub(crate) struct ExplainArgs {
    /// Result of the run on one GPU.
    #[arg(long, value_name = "FILE")]
    tp1: Option<PathBuf>,

    /// Result of the run with tensor parallel size 2.
    #[arg(long, value_name = "FILE")]
    tp2: Option<PathBuf>,

    /// Result of the run with tensor parallel size 4.
    #[arg(long, value_name = "FILE")]
    tp4: Option<PathBuf>,

    /// Result of the run with tensor parallel size 8.
    #[arg(long, value_name = "FILE")]
    tp8: Option<PathBuf>,

    /// Model that was served: a shipped name, a config.json, or a folder that holds one.
    #[arg(long, value_name = "MODEL")]
    model: String,

    /// Collective times of this box: of allreduce-bench, nccl-tests (text or JSON), or CSV with the columns op,ranks,bytes,us.
    /// May be given several times.
    #[arg(long, value_name = "FILE")]
    allreduce: Vec<PathBuf>,

    /// Result of the model at a rank's width on one GPU, at the same batch and lengths; may be given several times, once a launch.
    #[arg(long, value_name = "FILE")]
    half: Vec<PathBuf>,

    /// Kernel sums of some traced decode steps on several GPUs: the CSV of nsys stats --report cuda_gpu_kern_sum, or rocprofv3's
    /// *_kernel_stats.csv.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// GEMM times of this GPU: CSV with the columns m,n,k and us, or latency in ms, and perhaps dtype.
    #[arg(long, value_name = "FILE")]
    gemm: Option<PathBuf>,

    /// Links of this box, of p2p-bw.
    #[arg(long, value_name = "FILE")]
    links: Option<PathBuf>,

    /// What the box is, where no links were measured: a built-in box or a box file.
    #[arg(long = "box", value_name = "BOX")]
    box_name: Option<String>,

    /// Engine that served.
    #[arg(long, value_enum, default_value_t = EngineArg::Vllm)]
    engine: EngineArg,

    /// The engine ran without graphs.
    #[arg(long)]
    eager: bool,

    /// The engine's limit of sequences, where it was set.
    #[arg(long, value_name = "N")]
    max_num_seqs: Option<u32>,

    /// The engine's limit of tokens a step, where it was set.
    #[arg(long, value_name = "N")]
    max_num_batched_tokens: Option<u32>,

    /// Replaces something that is taken as known, such as gemm_speedup=1.8..1.9; may be given several times. --help lists the
    /// names.
    #[arg(long, value_name = "NAME=LOW..HIGH")]
    pub(super) prior: Vec<String>,

    /// Write explanation.json and report.html into this folder.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// Write the explanation to this file as JSON; `-` for standard output instead of the text.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,

    /// Write the page to this file; `-` for standard output instead of the text.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineArg {
    Vllm,
    Sglang,
}

/// What files are read and which names are known, for the long help.
fn formats() -> String {
    let mut text = String::from(
        "Results of runs (--tp1, --tp2, --tp4, --tp8) are\n\
         \x20 a folder, journal or record of serve-bench run,\n\
         \x20 the JSON of vllm bench serve --save-result, or the block that it prints,\n\
         \x20 or one flat JSON object of any client. A time says its unit in its key (_s, _ms); upper case, blanks and dashes do\n\
         \x20 not matter. Its keys are\n",
    );
    for (meaning, names) in accepted_keys() {
        text.push_str(&format!("    {meaning}: {}\n", names.join(", ")));
    }
    // The file was read by the tests of its crate; without it the names are missing here and nothing else.
    if let Ok(priors) = Priors::builtin() {
        let names = priors.names().join(", ");
        text.push_str(&format!("\nNames for --prior: {names}\n"));
    }
    text
}

impl ExplainArgs {
    /// The files and what was said of the engine.
    ///
    /// # Errors
    /// No result was named.
    pub(super) fn sources(&self) -> Result<Sources, String> {
        let serving: Vec<(u32, PathBuf)> = [
            (1, &self.tp1),
            (2, &self.tp2),
            (4, &self.tp4),
            (8, &self.tp8),
        ]
        .into_iter()
        .filter_map(|(tp, file)| Some((tp, file.clone()?)))
        .collect();
        if serving.is_empty() {
            return Err(
                "no result to explain: give --tp1 FILE and --tp2 FILE (or --tp4, --tp8)".to_owned(),
            );
        }
        Ok(Sources {
            model: self.model.clone(),
            serving,
            collectives: self.allreduce.clone(),
            links: self.links.clone(),
            evidence: EvidenceFiles {
                half: self.half.clone(),
                trace: self.trace.clone(),
                gemm: self.gemm.clone(),
            },
            box_name: self.box_name.clone(),
            engine: EngineFlags {
                sglang: self.engine == EngineArg::Sglang,
                eager: self.eager,
                max_num_seqs: self.max_num_seqs,
                max_batched_tokens: self.max_num_batched_tokens,
            },
            note: None,
        })
    }
}
