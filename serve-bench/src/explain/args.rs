//! The command line of `explain`.

use std::path::PathBuf;

use ::explain::Priors;
use boxfile::BoxFile;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use import::serve::accepted_keys;
use tp_plan::{Engine, EngineFacts, ModelFacts, Surroundings};

use super::logs::EngineLogFile;
use super::sources::Sources;

/// Explains from result files why several GPUs give what they give against one or against fewer: ours,
/// vLLM's, and those of other clients.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = formats())]
pub(crate) struct ExplainArgs {
    /// Results that say their tensor parallel size themselves, as those of tplens do; of others --tp1, --tp2, --tp4 and --tp8 say it.
    #[arg(value_name = "RESULT")]
    results: Vec<PathBuf>,

    /// Result of the run on one GPU; as the others, may be given several times: repeats of the same load. Of several loads of one size, such
    /// as a sweep of the concurrency, only bounds are reported.
    #[arg(long, value_name = "FILE")]
    tp1: Vec<PathBuf>,

    /// Result of the run with tensor parallel size 2.
    #[arg(long, value_name = "FILE")]
    tp2: Vec<PathBuf>,

    /// Result of the run with tensor parallel size 4.
    #[arg(long, value_name = "FILE")]
    tp4: Vec<PathBuf>,

    /// Result of the run with tensor parallel size 8.
    #[arg(long, value_name = "FILE")]
    tp8: Vec<PathBuf>,

    /// Model that was served: a shipped name, a config.json, or a folder that holds one [default: the one that the first result names].
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,

    /// Arms of an ablation (ablation.json, or the folder that holds it): whether the step follows the link. Alone, or beside results
    /// of runs.
    #[arg(long, value_name = "FILE")]
    pub(super) ablation: Option<PathBuf>,

    /// Result of the model at a rank's width on one GPU, at the same batch and lengths; may be given several times, once a launch.
    #[arg(long, value_name = "FILE")]
    half: Vec<PathBuf>,

    /// Kernel sums of some traced decode steps on several GPUs: the CSV of nsys stats --report cuda_gpu_kern_sum, or rocprofv3's
    /// *_kernel_stats.csv.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Log of a server that was measured, of vLLM or SGLang: its limits, graphs and all-reduce replace what is assumed. May be
    /// given once for each size; the log says which.
    #[arg(long, value_name = "FILE")]
    engine_log: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) case: CaseArgs,

    /// What the step would take with something else in place of its collectives: curve=FILE (times of another box),
    /// link=gen4x8, link=nvlink4 or link=OLD:NEW, p2p=on; may be given several times.
    #[arg(long = "what-if", value_name = "WHAT=IT")]
    pub(super) what_if: Vec<String>,

    /// Write explanation.json and report.html into this folder.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// Write the page to this file; `-` for standard output instead of the text.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
}

/// The machine and its engine, what is assumed of them, and where the answer goes: alike in `explain` and `predict`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CaseArgs {
    /// Collective times of this box: of tplens allreduce, nccl-tests (text or JSON), or CSV with the columns op,ranks,bytes,us and
    /// mode, which says how calls were timed and decides how good the evidence is: graph (in a captured graph), interleaved (with work
    /// between the calls), back_to_back or host_synced. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) allreduce: Vec<PathBuf>,

    /// Links of this box, of tplens p2p.
    #[arg(long, value_name = "FILE")]
    pub(crate) links: Option<PathBuf>,

    /// What the box is, where no links were measured: a built-in box or a box file.
    #[arg(long = "box", value_name = "BOX")]
    pub(crate) box_name: Option<String>,

    /// The GPUs' name, such as "H100", where nothing else says what the machine is: over NVLink where their board has it.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["box_name", "links"])]
    pub(crate) gpu: Option<String>,

    #[command(flatten)]
    pub(crate) engine: EngineFlags,

    /// Replaces something that is assumed, such as gemm_speedup=1.8..1.9; may be given several times. The long help of explain lists
    /// the names.
    #[arg(long, value_name = "NAME=LOW..HIGH")]
    pub(crate) prior: Vec<String>,

    /// Write the answer to this file as JSON; `-` for standard output instead of the text.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

impl CaseArgs {
    /// What is assumed, with what was given in its place.
    ///
    /// # Errors
    /// There is no such prior, or its range has no sense; in words.
    pub(crate) fn priors(&self) -> Result<Priors, String> {
        let usage = |error: ::explain::PriorError| format!("--prior: {error}");
        let mut known = Priors::builtin().map_err(usage)?;
        for text in &self.prior {
            known.set(text.parse().map_err(usage)?).map_err(usage)?;
        }
        Ok(known)
    }

    /// The box file that was named.
    ///
    /// # Errors
    /// There is none of that name, or it cannot be read; in words.
    pub(crate) fn described(&self) -> Result<Option<BoxFile>, String> {
        let described = self.box_name.as_deref().map(BoxFile::resolve);
        described
            .transpose()
            .map_err(|error| format!("--box: {error}"))
    }
}

/// The flag by which an engine leaves all-reduces to the library: of vLLM 0.13.0 (`engine/arg_utils.py`), of SGLang 0.5.6
/// (`srt/server_args.py`), and of the embedded engine.
pub(crate) const NO_OWN_ALL_REDUCE: &str = "--disable-custom-all-reduce";

/// How an engine was started, or is to be, as far as its flags say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(crate) struct EngineFlags {
    /// Engine [default: what a log of it says, else vllm].
    #[arg(long, value_parser = engines())]
    pub(crate) engine: Option<Engine>,

    /// Whether a server's command says it.
    #[arg(skip)]
    pub(crate) stated: bool,

    /// The engine runs without graphs.
    #[arg(long)]
    pub(crate) eager: bool,

    /// The engine is told to leave every all-reduce to the vendor's library, by this flag of its own.
    #[arg(long = "disable-custom-all-reduce")]
    pub(crate) library_only: bool,

    /// The engine's limit of sequences, where it is set.
    #[arg(long, value_name = "N")]
    pub(crate) max_num_seqs: Option<u32>,

    /// The engine's limit of tokens a step, where it is set.
    #[arg(long = "max-num-batched-tokens", value_name = "N")]
    pub(crate) max_batched_tokens: Option<u32>,

    /// How the engine stores its cache of keys and values, where it is set [default: as the model says].
    #[arg(long = "kv-cache-dtype", value_name = "TYPE", value_parser = cache_bytes)]
    pub(crate) kv_cache_bytes: Option<u32>,
}

fn engines() -> impl TypedValueParser<Value = Engine> {
    PossibleValuesParser::new(["vllm", "sglang", "trtllm"]).map(|name| match name.as_str() {
        "sglang" => Engine::Sglang,
        "trtllm" => Engine::Trtllm,
        _ => Engine::Vllm,
    })
}

impl EngineFlags {
    /// What they make of the engine's rules at a size.
    pub(crate) fn facts(self, tp: u32, around: &Surroundings) -> EngineFacts {
        let engine = self.engine.unwrap_or(Engine::Vllm);
        let mut facts = EngineFacts::of(engine, tp, around);
        if let Some(tokens) = self.max_batched_tokens {
            facts = facts.with_max_batched_tokens(tokens);
        }
        if let Some(sequences) = self.max_num_seqs {
            facts = facts.with_max_num_seqs(sequences);
        }
        if self.eager {
            facts = facts.with_eager();
        }
        if self.library_only {
            facts = facts.with_library_only(NO_OWN_ALL_REDUCE);
        }
        facts
    }
}

/// What files are read and which names are known, for the long help.
fn formats() -> String {
    let mut text = String::from(
        "Results of runs (--tp1, --tp2, --tp4, --tp8) are\n\
         \x20 a folder, journal or record of tplens serve run,\n\
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
    /// Whether results of runs were named.
    pub(super) fn has_results(&self) -> bool {
        let results = [&self.results, &self.tp1, &self.tp2, &self.tp4, &self.tp8];
        results.iter().any(|files| !files.is_empty())
    }

    /// Results with their sizes, ascending.
    fn sized(&self) -> Result<Vec<(u32, PathBuf)>, String> {
        let given = [
            (1, &self.tp1),
            (2, &self.tp2),
            (4, &self.tp4),
            (8, &self.tp8),
        ];
        let given = given.into_iter();
        let given = given.flat_map(|(tp, files)| files.iter().map(move |file| (tp, file.clone())));
        let mut all: Vec<(u32, PathBuf)> = given.collect();
        for file in &self.results {
            let run = import::serve::read(file).map_err(|error| error.to_string())?;
            let name = file.display();
            let tp = run.tp.ok_or_else(|| {
                format!("{name} does not say its tensor parallel size: give it as --tp1 {name}, or by --tp2, --tp4 or --tp8")
            })?;
            all.push((tp, file.clone()));
        }
        all.sort_by_key(|(tp, _)| *tp);
        Ok(all)
    }

    /// Refuses what only an explanation of one GPU against several uses where something else is compared: nothing would come of it.
    ///
    /// # Errors
    /// Such an option was given; in words.
    pub(super) fn check_used(&self) -> Result<(), String> {
        let sizes: Vec<u32> = self.sized()?.into_iter().map(|(tp, _)| tp).collect();
        let (from, to) = match (sizes.first(), sizes.last()) {
            (Some(from), Some(to)) if *from > 1 && from < to => (from, to),
            _ => return Ok(()),
        };
        let only = [
            ("--ablation", self.ablation.is_some()),
            ("--half", !self.half.is_empty()),
            ("--trace", self.trace.is_some()),
            ("--what-if", !self.what_if.is_empty()),
        ];
        match only.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => Err(format!(
                "{flag} is used where several GPUs are explained against one, and not for TP{to} against TP{from}: give a result of one GPU with --tp1, too, or leave {flag} away"
            )),
        }
    }

    /// The files and what was said of the engine.
    ///
    /// # Errors
    /// No result was named.
    pub(super) fn sources(&self) -> Result<Sources, String> {
        let serving = self.sized()?;
        if serving.is_empty() {
            return Err(
                "no result to explain: give two results, or --tp1 FILE and --tp2 FILE (or --tp4, --tp8)".to_owned(),
            );
        }
        let named = || {
            let run = import::serve::read(&serving.first()?.1).ok()?;
            run.model.filter(|name| ModelFacts::resolve(name).is_ok())
        };
        let model = self.model.clone().or_else(named);
        let model = model.ok_or("name with --model what was served")?;
        let asked = self.case.engine.engine;
        let logs = self.engine_log.iter();
        let logs = logs.map(|file| EngineLogFile::read(file, asked));
        Ok(Sources {
            model,
            serving,
            case: self.case.clone(),
            half: self.half.clone(),
            trace: self.trace.clone(),
            what_if: self.what_if.clone(),
            engine_logs: logs.collect::<Result<_, _>>()?,
            ..Sources::default()
        })
    }
}

/// Bytes of an element of the cache by the engine's name of its type; 0 for the model's own.
pub(super) fn cache_bytes(text: &str) -> Result<u32, String> {
    match text {
        "auto" => Ok(0),
        text if text.starts_with("fp8") => Ok(1),
        "bf16" | "bfloat16" | "float16" => Ok(2),
        _ => Err("the types are auto, bf16, bfloat16, float16, fp8, fp8_e4m3, fp8_e5m2".to_owned()),
    }
}
