//! `tplens serve compare`: two serving results, ours or anybody's, against each other.

mod cells;
mod comparison;
pub(crate) mod differences;
mod document;
mod humps;
pub(crate) mod ratio;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use import::serve::read_all;
use program::compare::{CompareFlags, exit_code};
use program::outputs;
use program::say;
use program::show::Show;
use record::exit;

use crate::show;
use cells::{Cells, Named};
use comparison::Comparison;

pub(crate) use document::item;

/// What to compare and how.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit 1 where B is worse, 3 where models differ, requests failed or nothing is certain. Grade A: one load, with intervals; \
                  B: one run each without single requests; C: another load. Intervals are 95% over the requests of both runs; runs of one \
                  setting differ by 5% more, which counts as noise."
)]
pub(crate) struct CompareArgs {
    /// The baseline: a result folder, record.json or journal.jsonl of tplens serve; the JSON or the printed block of
    /// `vllm bench serve`; the JSONL of SGLang's bench_serving; a summary of evalscope or a flat JSON summary; or the folder of a
    /// sweep. Of several results those under the same load are compared; `FILE#2` is the second of a file.
    pub(crate) a: PathBuf,

    /// The new one, of any of these kinds.
    pub(crate) b: PathBuf,

    /// Write the comparison to this file as a page, too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) flags: CompareFlags,
}

/// Compares two results, prints, and gives the exit code.
pub(crate) fn run(args: &CompareArgs, show: Show) -> u8 {
    if let Err(reason) = args.flags.check() {
        say!("error: {reason}");
        return exit::USAGE;
    }
    match compared(args) {
        Ok(comparison) => written(args, show, &comparison),
        Err(error) => {
            say!("error: {}", outputs::told(&error));
            exit::USAGE
        }
    }
}

/// # Errors
/// One of them cannot be read, or only one of them is simulated.
fn compared(args: &CompareArgs) -> anyhow::Result<Cells> {
    let (a, b) = (opened(&args.a)?, opened(&args.b)?);
    Cells::of(&a, &b, args.flags.threshold)
}

fn written(args: &CompareArgs, show: Show, cells: &Cells) -> u8 {
    let (document, json) = match &cells.cells[..] {
        [one] => (
            document::document(one, cells),
            serde_json::to_string_pretty(one),
        ),
        _ => (
            document::of_cells(cells),
            serde_json::to_string_pretty(cells),
        ),
    };
    let json = json
        .map(|text| text + "\n")
        .map_err(|error| error.to_string());
    let printed = match (args.flags.json.as_deref(), json) {
        (Some(path), Ok(json)) if path == Path::new("-") => outputs::print(&json),
        (Some(path), json) => exit::fold([outputs::write(path, json), show.print(&document)]),
        (None, _) => show.print(&document),
    };
    let all = || cells.cells.iter();
    let code = match all().all(Comparison::is_refused) {
        true => exit::INCONCLUSIVE,
        false => exit_code(
            all().any(|one| !one.is_refused() && one.is_worse()),
            all().any(|one| one.judged() > 0),
        ),
    };
    exit::fold([printed, show::page(args.html.as_deref(), &document), code])
}

/// The results that a path names. Errors of the readers carry their sources' words already, so that they are not handed on as a
/// chain.
fn opened(path: &Path) -> anyhow::Result<Vec<Named>> {
    let (file, number) = numbered(path);
    let (mut results, mut refused) = (Vec::new(), Vec::new());
    for (label, path) in show::cells(&file) {
        match read_all(&path) {
            Ok(read) => results.extend(read.into_iter().map(|one| (label.clone(), one))),
            Err(error) => refused.push(error.to_string()),
        }
    }
    let count = results.len();
    match number {
        None if count > 0 => Ok(results),
        None => bail!(
            "{}",
            refused.first().map_or("no result is there", String::as_str)
        ),
        Some(number) if (1..=count).contains(&number) => Ok(vec![results.remove(number - 1)]),
        Some(number) => bail!("{} holds {count} results and no #{number}", file.display()),
    }
}

/// `FILE#2` as a file and a number, where there is no file of that very name.
fn numbered(path: &Path) -> (PathBuf, Option<usize>) {
    let parts = path.to_str().filter(|_| !path.exists());
    let number = parts
        .and_then(|text| text.rsplit_once('#'))
        .and_then(|(file, number)| Some((PathBuf::from(file), number.parse().ok()?)));
    match number {
        Some((file, number)) => (file, Some(number)),
        None => (path.to_owned(), None),
    }
}
