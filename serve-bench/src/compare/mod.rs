//! `tplens serve compare`: two serving results, ours or anybody's, against each other.

mod comparison;
pub(crate) mod differences;
mod document;
mod humps;
pub(crate) mod ratio;

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::Args;
use import::serve::{ServeResult, read_all};
use program::compare::{CompareFlags, exit_code};
use program::outputs;
use program::say;
use program::show::Show;
use record::exit;

use crate::show;
use comparison::{Comparison, compare};

pub(crate) use document::item;

/// What to compare and how.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit 1 where B is worse, 3 where the two are not comparable or nothing is certain. Intervals are 95% over the requests of \
                  both runs; runs of one setting differ by 5% more, which counts as noise."
)]
pub(crate) struct CompareArgs {
    /// The baseline: a result folder, record.json or journal.jsonl of tplens serve; the JSON or the printed block of
    /// `vllm bench serve`; the JSONL of SGLang's bench_serving; a summary of evalscope or a flat JSON summary. `FILE#2` is the
    /// second result of a file that holds several.
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
fn compared(args: &CompareArgs) -> anyhow::Result<Comparison> {
    let (a, b) = (opened(&args.a)?, opened(&args.b)?);
    compare(&a, &b, args.flags.threshold)
}

fn written(args: &CompareArgs, show: Show, comparison: &Comparison) -> u8 {
    let document = document::document(comparison);
    let json = serde_json::to_string_pretty(comparison)
        .map(|text| text + "\n")
        .map_err(|error| error.to_string());
    let printed = match (args.flags.json.as_deref(), json) {
        (Some(path), Ok(json)) if path == Path::new("-") => outputs::print(&json),
        (Some(path), json) => exit::fold([outputs::write(path, json), show.print(&document)]),
        (None, _) => show.print(&document),
    };
    let code = match comparison.is_refused() {
        true => exit::INCONCLUSIVE,
        false => exit_code(comparison.is_worse(), comparison.judged() > 0),
    };
    exit::fold([printed, show::page(args.html.as_deref(), &document), code])
}

/// The one result that a path names. Errors of the readers carry their sources' words already, so that they are not handed on as a
/// chain.
fn opened(path: &Path) -> anyhow::Result<ServeResult> {
    let (file, number) = numbered(path);
    let mut results = read_all(&file).map_err(|error| anyhow!("{error}"))?;
    let count = results.len();
    match number {
        None if count == 1 => Ok(results.remove(0)),
        None => bail!(
            "{} holds {count} results; name one, such as {}#1",
            file.display(),
            file.display()
        ),
        Some(number) if (1..=count).contains(&number) => Ok(results.remove(number - 1)),
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
