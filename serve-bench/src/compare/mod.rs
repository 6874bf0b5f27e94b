//! `tplens serve compare`: two serving results, ours or anybody's, against each other.

mod cells;
mod comparison;
mod differences;
mod document;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use program::compare::CompareFlags;
use program::show::Show;
use program::{Stop, outputs};
use record::exit;

use crate::show::{self, Named};
use cells::Cells;

/// More loads than this are shown in bands.
const FEW: usize = 16;

/// What to compare and how.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit 1 where B is worse, 3 where models or loads differ, requests failed or nothing is certain. Grade A: one load, with \
                  intervals; B: one run each without single requests; C: another load. Intervals are 95% over the requests of both runs."
)]
pub(crate) struct CompareArgs {
    /// The baseline: a result folder, record.json or journal.jsonl of tplens serve; the JSON or the printed block of
    /// `vllm bench serve`; the JSONL of SGLang's bench_serving; a summary of evalscope or a flat JSON summary; or the folder of a
    /// sweep, or the beginning of the names of several, such as results/2B_. Of several results those under the same load are compared;
    /// `FILE#2` is the second of a file.
    pub(crate) a: PathBuf,

    /// The new one, of any of these kinds.
    pub(crate) b: PathBuf,

    /// What two runs differ by for no reason, such as one card at both links: ratios within it are noise. Two sides, as A and B.
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    control: Vec<PathBuf>,

    /// What the machines differ by, where A and B are on two: the same card and link on both. Ratios are divided by it.
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    machine: Vec<PathBuf>,

    /// Write the comparison to this file as a page, too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) flags: CompareFlags,
}

/// Compares two results, prints, and gives the exit code.
///
/// # Errors
/// One of them cannot be read, or only one of them is simulated.
pub(crate) fn run(args: &CompareArgs, show: Show) -> Result<u8, Stop> {
    args.flags.check().map_err(Stop::Usage)?;
    let cells = compared(args).map_err(|error| Stop::Usage(outputs::told(&error)))?;
    let json = args.flags.json.as_deref();
    let document = document::document(&cells);
    let printed = match cells.alone() {
        Some(one) => outputs::with_json(show, &document, one, json),
        None => outputs::with_json(show, &document, &cells, json),
    };
    let page = show::page(args.html.as_deref(), &document);
    Ok(exit::fold([printed, page, cells.code()]))
}

fn compared(args: &CompareArgs) -> anyhow::Result<Cells> {
    let threshold = args.flags.threshold;
    let of = |a: &Path, b: &Path| Cells::of(&opened(a)?, &opened(b)?, threshold);
    let beside = |sides: &[PathBuf]| match sides {
        [a, b] => of(a, b).map(Some),
        _ => Ok(None),
    };
    let (control, machine) = (beside(&args.control)?, beside(&args.machine)?);
    let mut cells = of(&args.a, &args.b)?;
    if cells.cells.len() > FEW || control.is_some() || machine.is_some() {
        cells.bands = cells.in_bands(control.as_ref(), machine.as_ref(), threshold);
    }
    Ok(cells)
}

/// The results that a path names, as `FILE#2` the second of a file. Errors of the readers carry their sources' words already, so that
/// they are not handed on as a chain.
fn opened(path: &Path) -> anyhow::Result<Vec<Named>> {
    let whole = path.to_str().filter(|_| !path.exists());
    let split = whole.and_then(|text| text.rsplit_once('#'));
    let (file, number) = match split.map(|(file, number)| (file, number.parse::<usize>())) {
        Some((file, Ok(number))) => (Path::new(file), Some(number)),
        _ => (path, None),
    };
    let paths = beginning_with(file).unwrap_or_else(|| vec![file.to_owned()]);
    let (mut results, refused, _) = show::found(&paths);
    let count = results.len();
    match number {
        None if count > 0 => Ok(results),
        None => match refused.first() {
            Some(refusal) => bail!("{refusal}"),
            None => bail!("{}: no result is there", file.display()),
        },
        Some(number) if (1..=count).contains(&number) => Ok(vec![results.remove(number - 1)]),
        Some(number) => bail!("{} holds {count} results and no #{number}", file.display()),
    }
}

/// The files and folders whose names begin with what a path ends with; `None` where it is one itself, or none does.
fn beginning_with(path: &Path) -> Option<Vec<PathBuf>> {
    let name = path.file_name()?.to_str().filter(|_| !path.exists())?;
    let folder = path.parent().filter(|one| !one.as_os_str().is_empty());
    let entries = folder.unwrap_or(Path::new(".")).read_dir().ok()?;
    let entries = entries.flatten().filter(|entry| {
        let own = entry.file_name();
        own.to_str().is_some_and(|own| own.starts_with(name))
    });
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort();
    (!found.is_empty()).then_some(found)
}
