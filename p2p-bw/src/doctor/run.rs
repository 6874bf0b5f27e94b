//! `doctor` from its command line to its exit code: 1 where something is bad, 3 where nothing could be told or the backend that
//! was asked for does not answer, else 0.

use doctor::RULES;
use program::show::Show;
use program::{Stop, outputs, say, sim};
use runner::Interrupt;

use super::args::DoctorArgs;
use super::document;
use super::gather::{self, Gathered};
use super::shown::Shown;

/// Prints to standard output; gives the exit code.
///
/// # Errors
/// A wrong command line, a tree that cannot be read, or a signal.
pub(crate) fn run(args: &DoctorArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    let only = known_ids(&args.only)?;
    if args.list {
        return Ok(show.print(&document::rules(&only)));
    }
    let gathered = gather::gather(args, interrupt);
    sim::forget();
    let Gathered {
        source,
        facts,
        said,
        missing,
    } = gathered?;
    said.iter().chain(&missing).for_each(|line| say!("{line}"));
    let shown = Shown::of((source, args.sim.is_some()), &facts, &only);
    let printed = match args.json {
        true => outputs::json(&shown)?,
        false => show.print(&document::document(&shown, args.all)),
    };
    let of_missing = match missing {
        Some(_) => record::exit::INCONCLUSIVE,
        None => record::exit::DONE,
    };
    Ok(record::exit::fold([printed, of_missing, shown.exit_code()]))
}

/// The ids that were asked for, each of them one of the table.
fn known_ids(asked: &[String]) -> Result<Vec<&'static str>, Stop> {
    let find = |id: &String| {
        let known = RULES.iter().find(|rule| rule.id == id.trim());
        known.map(|rule| rule.id).ok_or_else(|| {
            Stop::Usage(format!(
                "--only {id}: there is no such rule; see doctor --list"
            ))
        })
    };
    asked.iter().map(find).collect()
}
