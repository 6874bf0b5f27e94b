//! `doctor` from its command line to its exit code: 1 where something is bad, 3 where nothing could be told or the backend that
//! was asked for does not answer, else 0.

use doctor::RULES;
use program::command_line::quoted;
use program::{Stop, outputs, sim};
use supervisor::Interrupt;

use super::args::DoctorArgs;
use super::gather::{self, Gathered};
use super::shown::Shown;
use super::{json, text};

/// Prints to standard output; gives the exit code.
///
/// # Errors
/// A wrong command line, a tree that cannot be read, or a signal.
pub(crate) fn run(
    args: &DoctorArgs,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    let only = known_ids(&args.only)?;
    if args.list {
        return Ok(outputs::print(&text::rules(&only)));
    }
    let gathered = gather::gather(args, interrupt);
    sim::forget();
    let Gathered {
        source,
        facts,
        said,
        missing,
    } = gathered?;
    said.iter().chain(&missing).for_each(|line| say(line));
    let shown = Shown::of((source, args.sim.is_some()), &facts, &only);
    let named = again(args);
    let sound = match (args.all, &named) {
        (true, _) => text::Sound::All,
        (false, Some(gpus)) => text::Sound::Paths(gpus),
        (false, None) => text::Sound::Counted,
    };
    let printed = outputs::print(&match args.json {
        true => json::of(&shown).map_err(Stop::Internal)?,
        false => text::of(&shown, sound),
    });
    let of_missing = match missing {
        Some(_) => measure::exit::INCONCLUSIVE,
        None => measure::exit::DONE,
    };
    Ok(measure::exit::fold([
        printed,
        of_missing,
        shown.exit_code(),
    ]))
}

/// The options that name the same GPUs to other programs, where some were named.
fn again(args: &DoctorArgs) -> Option<String> {
    if args.gpus.trim() == "all" {
        return None;
    }
    let sim = args.sim.iter().map(|name| ("--sim", name));
    let options = sim.chain([("--gpus", &args.gpus)]);
    Some(
        options
            .map(|(flag, value)| format!(" {flag} {}", quoted(value.as_ref())))
            .collect(),
    )
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
