//! A search from its command line to its exit code: each run is a `tplens serve run` with a folder of its own.
//!
//! What the search knows is in the records of those folders. A search that was broken off reads them again, comes to the same
//! decisions, and resumes the run that is missing.

use anyhow::Context as _;
use program::show::Show;
use program::{Stop, open_run, outputs, result_folder};
use record::exit;
use record::{Payload, Record, Serve};
use runner::Interrupt;
use runner::run::{Leaves, Run, Step, complete};

use super::args::SloArgs;
use super::document::{document, why, word};
use super::judge::judge;
use super::report::{Answer, Decision, SCHEMA, SETTINGS};
use super::search::{Bounds, Found, Next, Outcome, Trial};
use crate::json;
use crate::study::load::LOAD_DEADLINE;

/// The answer and every decision, as JSON.
const ANSWER: &str = "slo.json";

/// The page.
const PAGE: &str = "report.html";

/// Searches, or goes on with a search, and gives the exit code.
///
/// # Errors
/// What ended it; the runs that were made are in its folder.
pub(crate) fn run(
    args: &SloArgs,
    show: Show,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    if let Some(file) = &args.json {
        outputs::check_file("--json", file).map_err(Stop::Usage)?;
    }
    let folder = result_folder(args.out.as_deref(), "slo");
    let seed = args.seed(&folder);
    let settings = args.settings(seed).map_err(Stop::Usage)?;
    let mut search = Search {
        args,
        bounds: args.bounds().map_err(Stop::Usage)?,
        seed,
        run: open_run(&folder, ("a search", SETTINGS), &settings, interrupt, say)?,
        say,
        records: Vec::new(),
        decisions: Vec::new(),
    };
    let found = search.all()?;
    let answer = search.answer(Some(found));
    search.keep(&answer)?;
    let page = folder.join(PAGE);
    let document = document(&answer);
    let codes = [
        outputs::write(&page, Ok(document.html())),
        outputs::with_json(show, &document, &answer, args.json.as_deref()),
        code(&search, &found),
    ];
    say(&format!(
        "result: {}, the page is {}",
        folder.display(),
        page.display()
    ));
    Ok(exit::fold(codes))
}

/// Whether there is an answer.
fn code(search: &Search<'_>, found: &Found) -> u8 {
    let bounds = &search.bounds;
    let is_answer = match found.outcome {
        Outcome::Found => true,
        Outcome::Wide | Outcome::ClientLimit => false,
        Outcome::Never => found.not_met.is_some_and(|load| load <= bounds.lowest),
        Outcome::Always => found.met.is_some_and(|load| load >= bounds.highest),
    };
    if is_answer {
        exit::DONE
    } else {
        exit::INCONCLUSIVE
    }
}

struct Search<'a> {
    args: &'a SloArgs,
    bounds: Bounds,
    seed: u64,
    run: Run<'a>,
    say: &'a dyn Fn(&str),
    /// The record of each run, in the order of the decisions.
    records: Vec<Record>,
    decisions: Vec<Decision>,
}

impl Search<'_> {
    /// Makes the runs that are missing, until the search is done.
    fn all(&mut self) -> Result<Found, Stop> {
        loop {
            let trials: Vec<Trial> = self.decisions.iter().map(Decision::trial).collect();
            let at = match self.bounds.next(&trials) {
                Next::Done(found) => return Ok(found),
                Next::Run(at) => at,
            };
            let decision = self.decide(at)?;
            (self.say)(&format!(
                "  {}: {}",
                word(decision.judged.verdict),
                why(&decision.judged.reason)
            ));
            self.decisions.push(decision);
            let answer = self.answer(None);
            self.keep(&answer)?;
        }
    }

    /// Makes the next run, where its folder does not hold it already, and judges its load by all its runs.
    fn decide(&mut self, at: f64) -> Result<Decision, Stop> {
        let number = self.decisions.len() + 1;
        let step = self.step(number, at);
        let folder = self.run.step(&step)?.folder;
        let record = complete(&folder).with_context(|| format!("{} is gone", folder.display()))?;
        let same = (self.decisions.iter().zip(&self.records))
            .filter(|(decision, _)| decision.at == at)
            .map(|(_, record)| record);
        let runs: Vec<&Serve> = same.chain([&record]).filter_map(serve).collect();
        let objectives = &self.args.objectives;
        let judged = judge(objectives, &runs);
        let decision = Decision::new(number, at, step.name, judged, objectives, serve(&record));
        self.records.push(record);
        Ok(decision)
    }

    /// A run of the search, with prompts of its own.
    fn step(&self, number: usize, at: f64) -> Step {
        let [_, flag, unit] = self.args.search.words();
        let mut arguments = self.args.load.clone();
        let seed = self.seed.wrapping_add(number as u64 - 1);
        for (flag, value) in [
            (flag, at.to_string()),
            ("--num-prompts", self.args.requests(at).to_string()),
            ("--seed", seed.to_string()),
        ] {
            arguments.extend([flag.to_owned(), value]);
        }
        Step {
            name: format!("run-{number:02}-{at}"),
            about: format!("{at} {unit}, {}", self.args.length(at)),
            command: "serve run",
            arguments,
            environment: Vec::new(),
            needs: None,
            leaves: Leaves::Record,
            // How many runs there will be is not known.
            seconds: 0.0,
            deadline: LOAD_DEADLINE,
        }
    }

    fn answer(&self, found: Option<Found>) -> Answer {
        let simulated = self
            .records
            .first()
            .and_then(|record| record.header.simulated.as_ref())
            .map(|simulated| simulated.box_name.clone());
        let [search, _, unit] = self.args.search.words();
        Answer {
            schema: SCHEMA,
            simulated,
            search: search.to_owned(),
            unit: unit.to_owned(),
            slo: (self.args.objectives.iter())
                .map(ToString::to_string)
                .collect(),
            found,
            runs: self.decisions.clone(),
        }
    }

    /// Writes the answer so far.
    fn keep(&self, answer: &Answer) -> Result<(), Stop> {
        json::write(&self.run.folder().join(ANSWER), answer)
    }
}

/// What a record holds of a load.
fn serve(record: &Record) -> Option<&Serve> {
    match &record.payload {
        Payload::Serve(serve) => Some(serve),
        Payload::Links(_) | Payload::Collectives(_) | Payload::Numa(_) => None,
    }
}
