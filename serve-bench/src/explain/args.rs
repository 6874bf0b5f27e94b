//! The command line of `explain`.

use std::path::PathBuf;

use ::explain::Priors;
use clap::Args;
use import::serve::accepted_keys;

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

    /// Arms of an ablation (ablation.json, or the folder that holds it): whether the step follows the link. Alone, or beside results
    /// of runs.
    #[arg(long, value_name = "FILE")]
    pub(super) ablation: Option<PathBuf>,

    /// Log of a server that was measured, of vLLM or SGLang: its limits, graphs and all-reduce replace what is assumed. May be
    /// given once for each size; the log says which.
    #[arg(long, value_name = "FILE")]
    engine_log: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) from: Sources,

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

    /// The files and what was said of the engine.
    ///
    /// # Errors
    /// No result was named, or a log cannot be used.
    pub(super) fn sources(&self) -> Result<Sources, String> {
        let sized = [
            (Some(1), &self.tp1),
            (Some(2), &self.tp2),
            (Some(4), &self.tp4),
            (Some(8), &self.tp8),
            (None, &self.results),
        ];
        let serving = sized
            .into_iter()
            .flat_map(|(tp, files)| files.iter().map(move |file| (tp, file.clone())));
        if !self.has_results() {
            return Err(
                "no result to explain: give two results, or --tp1 FILE and --tp2 FILE (or --tp4, --tp8)".to_owned(),
            );
        }
        let asked = self.from.case.engine.engine;
        let logs = self.engine_log.iter();
        let logs = logs.map(|file| EngineLogFile::read(file, asked));
        Ok(Sources {
            serving: serving.collect(),
            engine_logs: logs.collect::<Result<_, _>>()?,
            ..self.from.clone()
        })
    }
}
