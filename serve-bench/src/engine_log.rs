//! `tplens serve engine-log`: what the log of a vLLM or SGLang server says of how it ran, with the lines that say it.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use program::{Stop, outputs};
use tp_plan::EngineLog;

/// Prints what the log of a vLLM or SGLang server says: version, sizes, graphs, its own all-reduce and why it is off, the
/// library of collectives and its transports, each with the line that says it. Of several starts the last counts.
#[derive(Debug, Clone, Args)]
pub(crate) struct EngineLogArgs {
    /// The server's output. Transports stand in it with NCCL_DEBUG=INFO.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Prints the facts, and gives the exit code.
///
/// # Errors
/// The file cannot be read, or says nothing.
pub(crate) fn run(args: &EngineLogArgs) -> Result<u8, Stop> {
    let log = read(&args.file).map_err(Stop::Usage)?;
    let text = if args.json {
        serde_json::to_string_pretty(&log).map_err(anyhow::Error::from)? + "\n"
    } else {
        let heads = ["fact", "value", "line", "said"].map(str::to_owned);
        let rows = [heads].into_iter().chain(log.rows());
        let lines = rows
            .map(|[fact, value, line, said]| format!("{fact:<24} {value:<36} {line:>6}  {said}\n"));
        let notes = log.notes.iter().map(|note| format!("note: {note}\n"));
        lines.chain(notes).collect()
    };
    Ok(outputs::print(&text))
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
