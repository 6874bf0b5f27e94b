//! `tplens serve engine-log`: what the log of a vLLM or SGLang server says of how it ran, with the lines that say it.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use program::show::Show;
use program::{Stop, outputs};
use tp_plan::EngineLog;
use view::{Block, Document, Next, Section, Table};

/// Prints what the log of a vLLM or SGLang server says: version, sizes, graphs, its own all-reduce and why it is off, the
/// library of collectives and its transports, each with the line that says it. Of several starts the last counts.
#[derive(Debug, Clone, Args)]
pub(crate) struct EngineLogArgs {
    /// The server's output. Transports stand in it with NCCL_DEBUG=INFO.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Write what was found to this file as JSON, too; `-` for standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Prints the facts, and gives the exit code.
///
/// # Errors
/// The file cannot be read, or says nothing.
pub(crate) fn run(args: &EngineLogArgs, show: Show) -> Result<u8, Stop> {
    let log = read(&args.file).map_err(Stop::Usage)?;
    let file = args.file.display();
    let mut table = Table::under(["fact", "value", "line", "said"]);
    log.rows().into_iter().for_each(|row| table.row(row));
    let mut sections = vec![Section::new("Facts", vec![Block::Table(table)])];
    if !log.notes.is_empty() {
        let notes = Block::list(log.notes.iter().cloned());
        sections.push(Section::new("Notes", vec![notes]));
    }
    let command = format!("tplens explain --model M --tp1 A --tp2 B --engine-log {file}");
    let document = Document {
        title: format!("What {file} says"),
        answer: vec![answer(&log)],
        next: vec![Next::by("Explain a speed-up by what it says:", command)],
        sections,
        ..Document::default()
    };
    Ok(outputs::with_json(
        show,
        &document,
        &log,
        args.json.as_deref(),
    ))
}

/// `vllm 0.13.0 at TP2. Custom all-reduce off: the GPUs have no peer access.`
fn answer(log: &EngineLog) -> String {
    let engine = log.engine.as_ref().map_or("", |of| of.value.name());
    let version = log.version.as_ref().map(|of| format!(" {}", of.value));
    let tp = log.tp.as_ref().map(|of| format!(" at TP{}", of.value));
    let reduces = match &log.custom_all_reduce {
        Some(of) => format!("Custom all-reduce {}", of.value),
        None if log.tp.as_ref().is_some_and(|of| of.value == 1) => {
            "One GPU reduces nothing".to_owned()
        }
        None => "No line says whether it reduces with a kernel of its own".to_owned(),
    };
    let [version, tp] = [version, tp].map(Option::unwrap_or_default);
    format!("{engine}{version}{tp}. {reduces}.")
}

/// Reads a log that says which engine it is of.
///
/// # Errors
/// It cannot be read, no line of it is known, or none says the engine; in words.
pub(crate) fn read(file: &Path) -> Result<EngineLog, String> {
    let name = file.display();
    let source = File::open(file).map_err(|error| format!("{name}: {error}"))?;
    let log = EngineLog::read_from(source).map_err(|error| format!("{name}: {error}"))?;
    if log.is_empty() {
        return Err(format!(
            "{name}: none of its {} lines is one that vLLM or SGLang begins with; give the whole output of the server",
            log.lines
        ));
    }
    // Lines of a library that the engine loads stand in many programs' output.
    if log.engine.is_none() {
        return Err(format!(
            "{name}: no line says which engine it is; give the server's output from its first line on"
        ));
    }
    Ok(log)
}
