//! The command line of `explain`.

use std::path::PathBuf;

use ::explain::Priors;
use clap::Args;
use import::serve::accepted_keys;
use tp_plan::ModelFacts;

use super::case::CaseArgs;
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
        let model = match &self.model {
            Some(model) => model.clone(),
            None => {
                let run = import::serve::read(&serving[0].1).map_err(|error| error.to_string())?;
                let named = run.model.filter(|name| ModelFacts::resolve(name).is_ok());
                named.ok_or("name with --model what was served")?
            }
        };
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
