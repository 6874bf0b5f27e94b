//! A search from its command line to its exit code: each run is a `tplens serve run` with a folder of its own.
//!
//! What the search knows is in the records of those folders. A search that was broken off reads them again, comes to the same
//! decisions, and resumes the run that is missing; until then its answer is the one so far.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use program::{Stop, outputs};
use record::{Payload, exit};
use runner::run::complete;

use super::args::SloArgs;
use super::document::{Answer, document};
use super::search::{Bounds, Outcome, Verdict};
use super::verdict::Judged;
use crate::json;
use crate::planner::Asker;

/// What was searched, in the folder.
const SETTINGS: &str = "settings.json";

/// The version of the answer.
const SCHEMA: u32 = 4;

/// The answer and every decision so far, as JSON.
const ANSWER: &str = "slo.json";

/// The page.
const PAGE: &str = "report.html";

/// Searches, or goes on with a search, and gives the exit code.
///
/// # Errors
/// What ended it; the runs that were made are in its folder.
pub(crate) fn run(args: &SloArgs, asker: &Asker<'_>) -> Result<u8, Stop> {
    if let Some(file) = &args.json {
        outputs::check_file("--json", file).map_err(Stop::Usage)?;
    }
    asker.in_folder(args.out.as_deref(), "slo", |folder| {
        let bounds = args.bounds().map_err(Stop::Usage)?;
        let [search, _, unit] = args.search.words();
        let mut answer = Answer {
            schema: SCHEMA,
            simulated: None,
            search,
            unit,
            slo: args.slo(),
            found: bounds.found(&[]),
            runs: Vec::new(),
        };
        // An answer that is there and final is not replaced by one that is still open.
        let kept = json::read(&folder.join(ANSWER), bounded::RESULT);
        let is_kept = kept.is_some_and(|kept| kept["found"]["outcome"] != "open");
        let ended = searched(args, &bounds, (folder, &mut answer, is_kept), asker);
        // A search that a signal ends has its answer so far.
        let is_answer = matches!(ended, Err(Stop::Interrupted(_))) && !is_kept;
        if ended.is_err() && (answer.runs.is_empty() || !is_answer) {
            return ended.map(|()| exit::DONE);
        }
        let page = folder.join(PAGE);
        let document = document(&answer, &args.objectives);
        asker.tell_where(folder, &page);
        let code = exit::fold([
            outputs::write(&page, Ok(document.html())),
            outputs::with_json(asker.show, &document, &answer, args.json.as_deref()),
            match answer.found.outcome {
                Outcome::Found | Outcome::Never | Outcome::Always => exit::DONE,
                Outcome::Wide | Outcome::ClientLimit | Outcome::Open => exit::INCONCLUSIVE,
            },
        ]);
        ended.map(|()| code)
    })
}

/// Makes the runs that are missing, until the search is done.
fn searched(
    args: &SloArgs,
    bounds: &Bounds,
    (folder, answer, is_kept): (&Path, &mut Answer, bool),
    asker: &Asker<'_>,
) -> Result<(), Stop> {
    let (settings, seed) = args.settings(bounds, &folder.join(SETTINGS));
    let mut run = asker.open(folder, ("a search", SETTINGS), &settings)?;
    let mut steps = Vec::new();
    while let Some(at) = answer.found.next {
        let step = args.step(steps.len(), at, seed);
        // What is left are at most as many runs as this one.
        steps.resize(args.runs as usize, step.clone());
        run.expect(&steps);
        steps.truncate(answer.runs.len() + 1);
        let made = run.step(&step)?.folder;
        let record = complete(&made).with_context(|| format!("{} is gone", made.display()))?;
        let Payload::Serve(serve) = record.payload else {
            return Err(anyhow!("{} holds no load", made.display()).into());
        };
        let machine = record.header.simulated.map(|machine| machine.box_name);
        answer.simulated = answer.simulated.take().or(machine);
        let named = (at, step.name);
        let judged = Judged::new(&args.objectives, named, &answer.runs, *serve);
        (asker.say)(&format!("  {}: {}", judged.verdict, judged.detail));
        answer.runs.push(judged);
        let tries = answer.runs.iter().map(|run| (run.at, run.verdict));
        answer.found = bounds.found(&tries.collect::<Vec<(f64, Verdict)>>());
        if answer.found.next.is_none() || !is_kept {
            json::write(&folder.join(ANSWER), answer)?;
        }
    }
    Ok(())
}
