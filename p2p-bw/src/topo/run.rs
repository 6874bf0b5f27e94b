//! `topo` from its command line to its exit code: 0 where something was shown, 3 where nothing could be told, 2 for a wrong input.

use std::path::{Path, PathBuf};

use clap::Args;
use inventory::played;
use program::outputs;
use program::show::Show;
use program::{Stop, passing_folder, sim};
use serde::Serialize;
use topology::captured::Captured;
use topology::{Matrix, Sysfs};

use super::document;
use super::read::Shown;

/// What to show and where from.
#[derive(Debug, Clone, Args)]
pub(crate) struct TopoArgs {
    /// Read a simulated machine instead of this machine: a built-in name or a machine file.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["root", "from"])]
    pub(crate) sim: Option<String>,

    /// Read a copy of another machine's files: a folder that holds `sys` and, where there is one, `proc`. No tool in it is run.
    #[arg(long, value_name = "FOLDER", conflicts_with = "from")]
    pub(crate) root: Option<PathBuf>,

    /// Show what a captured text says, `-` for standard input: the output of nvidia-smi topo -m, topo -p2p or -L, rocm-smi
    /// --showtopo, amd-smi topology, mx-smi topo or -L, numactl -H, also several of them in one text.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,

    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Prints to standard output; gives the exit code.
///
/// # Errors
/// A wrong command line or input, or nothing that can be known.
pub(crate) fn run(args: &TopoArgs, show: Show) -> Result<u8, Stop> {
    if let Some(path) = &args.from {
        return from(path, args.json, show);
    }
    let shown = shown(args);
    sim::forget();
    let shown = shown?;
    if shown.is_empty() {
        let source = &shown.source;
        let text = format!("{source} shows neither NUMA nodes nor PCI functions");
        return Err(Stop::Refused(text.into()));
    }
    Ok(match args.json {
        true => outputs::json(&shown)?,
        false => show.print(&document::of_machine(&shown)),
    })
}

fn shown(args: &TopoArgs) -> Result<Shown, Stop> {
    if let Some(root) = &args.root {
        let source = format!("sysfs below {}", root.display());
        return Shown::read(&Sysfs::at(root), (source, None), false);
    }
    let sysfs = played::sysfs(args.sim.as_deref(), &passing_folder("topo"), &[])?;
    let simulated = sim::box_name();
    let source = simulated
        .as_ref()
        .map(|name| format!("simulated machine {name}"));
    let source = source.unwrap_or_else(|| "sysfs".to_owned());
    Shown::read(&sysfs, (source, simulated), true)
}

fn from(path: &Path, as_json: bool, show: Show) -> Result<u8, Stop> {
    let text = text_of(path)?;
    let captured = topology::captured::read(&text)
        .map_err(|error| Stop::Usage(format!("{}: {error}", path.display())))?;
    Ok(match as_json {
        true => outputs::json(&OfText {
            schema: 1,
            source: captured.sources.join(", "),
            matrix: captured.matrix.as_ref(),
            captured: &captured,
        })?,
        false => show.print(&document::of_captured(&captured)),
    })
}

/// A captured text: the same key for the matrix as of a machine, the rest as its reader gives it.
#[derive(Serialize)]
struct OfText<'a> {
    schema: u32,
    source: String,
    matrix: Option<&'a Matrix>,
    captured: &'a Captured,
}

/// The text of a file, or of standard input for `-`; bytes that are no UTF-8 are marked.
fn text_of(path: &Path) -> Result<String, Stop> {
    let read = match path == Path::new("-") {
        true => bounded::all(std::io::stdin().lock(), bounded::SETTINGS),
        false => bounded::read(path, bounded::SETTINGS),
    };
    let bytes = read.map_err(|error| {
        let path = path.display();
        Stop::Usage(format!(
            "cannot read {path}: {error}; name a file with the output of a tool"
        ))
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
