//! A search from its command line to its exit code: each run is a `tplens serve run` with a folder of its own.
//!
//! What the search knows is in the records of those folders. A search that was broken off reads them again, comes to the same
//! decisions, and resumes the run that is missing.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use program::{Stop, outputs};
use record::{Payload, Serve, exit};
use runner::run::{Run, Step, complete};

use super::args::SloArgs;
use super::document::{document, word};
use super::report::{Answer, Decision, SCHEMA};
use super::search::{Next, Outcome, Trial};
use crate::json;
use crate::planner::{Asker, load, words};

/// What was searched, in the folder.
const SETTINGS: &str = "settings.json";

/// The answer and every decision, as JSON.
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
        let answer = searched(args, folder, asker)?;
        json::write(&folder.join(ANSWER), &answer)?;
        let page = folder.join(PAGE);
        let document = document(&answer);
        (asker.say)(&format!(
            "result: {}, the page is {}",
            folder.display(),
            page.display()
        ));
        Ok(exit::fold([
            outputs::write(&page, Ok(document.html())),
            outputs::with_json(asker.show, &document, &answer, args.json.as_deref()),
            match answer.found.outcome {
                Outcome::Found | Outcome::Never | Outcome::Always => exit::DONE,
                Outcome::Wide | Outcome::ClientLimit => exit::INCONCLUSIVE,
            },
        ]))
    })
}

/// Makes the runs that are missing, until the search is done.
fn searched(args: &SloArgs, folder: &Path, asker: &Asker<'_>) -> Result<Answer, Stop> {
    let bounds = args.bounds().map_err(Stop::Usage)?;
    let seed = args.seed(&folder.join(SETTINGS));
    let settings = args.settings(seed).map_err(Stop::Usage)?;
    let mut run = asker.open(folder, ("a search", SETTINGS), &settings)?;
    let (mut serves, mut simulated) = (Vec::new(), None);
    let mut runs: Vec<Decision> = Vec::new();
    let found = loop {
        let trials = runs.iter().map(|made| Trial {
            at: made.at,
            verdict: made.judged.verdict,
        });
        let at = match bounds.next(&trials.collect::<Vec<_>>()) {
            Next::Done(found) => break found,
            Next::Run(at) => at,
        };
        let step = step(args, runs.len(), at, seed);
        let (machine, serve) = made(&mut run, &step)?;
        serves.push(serve);
        simulated = simulated.or(machine);
        let decision = Decision::new(&args.objectives, (at, step.name), &runs, &serves);
        (asker.say)(&format!(
            "  {}: {}",
            word(decision.judged.verdict),
            decision.judged.reason.detail
        ));
        runs.push(decision);
    };
    let [search, _, unit] = args.search.words();
    Ok(Answer {
        schema: SCHEMA,
        simulated,
        search,
        unit,
        slo: args.slo(),
        found,
        runs,
    })
}

/// Makes a run, where its folder does not hold it already, and gives the simulated machine behind it and what it measured.
fn made(run: &mut Run<'_>, step: &Step) -> Result<(Option<String>, Serve), Stop> {
    let folder = run.step(step)?.folder;
    let record = complete(&folder).with_context(|| format!("{} is gone", folder.display()))?;
    let simulated = record.header.simulated.map(|machine| machine.box_name);
    match record.payload {
        Payload::Serve(serve) => Ok((simulated, *serve)),
        _ => Err(anyhow!("{} holds no load", folder.display()).into()),
    }
}

/// The run after so many, with prompts of its own.
fn step(args: &SloArgs, before: usize, at: f64, seed: u64) -> Step {
    let [_, flag, unit] = args.search.words();
    let requests = args.requests(at);
    let mut arguments = args.load.clone();
    arguments.extend(words([
        (flag, at.to_string()),
        ("--num-prompts", requests.to_string()),
        ("--seed", seed.wrapping_add(before as u64).to_string()),
    ]));
    let name = format!("run-{:02}-{at}", before + 1);
    let about = format!("{at} {unit}, {requests} requests");
    load((name, about), arguments, None, 0.0)
}
