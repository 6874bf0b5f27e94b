//! A search from its command line to its exit code: each run is a `tplens serve run` with a folder of its own.
//!
//! What the search knows is in the records of those folders. A search that was broken off reads them again, comes to the same
//! decisions, and resumes the run that is missing.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use program::show::Show;
use program::{Stop, outputs, result_folder, say_progress};
use record::exit;
use record::{Record, Serve, write_whole};
use runner::Interrupt;
use runner::run::{Progress, hold_folder};

use super::args::SloArgs;
use super::document::{document, why, word};
use super::judge::judge;
use super::report::{Answer, Decision};
use super::search::{Found, Next, Outcome, Trial};
use super::settings::{self, SCHEMA, Settings};
use crate::attempt::{self, complete, serve};

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
    let file = args.json.as_deref().filter(|file| *file != Path::new("-"));
    if let Some(file) = file {
        outputs::check_file("--json", file).map_err(Stop::Usage)?;
    }
    let folder = result_folder(args.out.as_deref(), "slo");
    let settings = args.settings(&folder).map_err(Stop::Usage)?;
    let text = serde_json::to_string_pretty(&settings).map_err(anyhow::Error::from)? + "\n";
    let is_kept = attempt::keep(&folder, settings::FILE, text.as_bytes())?;
    let tell = |progress: &Progress<'_>| say_progress(progress, say);
    let _held = hold_folder(&folder, interrupt, &tell)?;
    if is_kept {
        say(&format!("resumes the search in {}", folder.display()));
    }
    let mut search = Search {
        args,
        settings,
        folder,
        interrupt,
        say,
        records: Vec::new(),
        decisions: Vec::new(),
    };
    let found = search.all()?;
    let answer = search.answer(Some(found));
    search.keep(&answer)?;
    let folder = &search.folder;
    let page = folder.join(PAGE);
    let document = document(&answer);
    let mut codes = vec![outputs::write(&page, Ok(document.html()))];
    let json = answer.json();
    if let Some(file) = file {
        codes.push(outputs::write(file, json.clone()));
    }
    codes.push(match (args.json.is_some() && file.is_none(), json) {
        (false, _) => show.print(&document),
        (true, Ok(json)) => outputs::print(&json),
        (true, Err(error)) => return Err(anyhow!(error).into()),
    });
    say(&format!(
        "result: {}, the page is {}",
        folder.display(),
        page.display()
    ));
    codes.push(code(&search, &found));
    Ok(exit::fold(codes))
}

/// Whether there is an answer.
fn code(search: &Search<'_>, found: &Found) -> u8 {
    let bounds = &search.settings.bounds;
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
    settings: Settings,
    folder: PathBuf,
    interrupt: &'a Interrupt,
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
            let at = match self.settings.bounds.next(&trials) {
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
        let name = format!("run-{number:02}-{at}");
        let folder = self.folder.join(&name);
        let search = self.args.search();
        let about = format!("{name}: {at} {}", search.unit());
        let record = match complete(&folder) {
            Some(record) => {
                (self.say)(&format!("{about}, measured before"));
                record
            }
            None => {
                (self.say)(&format!("{about}, {}", self.args.length(at)));
                self.measure(&name, number, at)?
            }
        };
        let same = (self.decisions.iter().zip(&self.records))
            .filter(|(decision, _)| decision.at == at)
            .map(|(_, record)| record);
        let runs: Vec<&Serve> = same.chain([&record]).filter_map(serve).collect();
        let judged = judge(self.args.objectives(), &runs);
        let objectives = self.args.objectives();
        let decision = Decision::new(number, at, name, judged, objectives, serve(&record));
        self.records.push(record);
        Ok(decision)
    }

    fn measure(&self, name: &str, number: usize, at: f64) -> Result<Record, Stop> {
        let mut flags = self.args.load.clone();
        let seed = self.settings.seed.wrapping_add(number as u64 - 1);
        for (flag, value) in [
            (self.args.search().flag(), at.to_string()),
            ("--num-prompts", self.args.requests(at).to_string()),
            ("--seed", seed.to_string()),
        ] {
            flags.extend([flag.to_owned(), value]);
        }
        let log = self.folder.join(format!("{name}.log"));
        let folder = self.folder.join(name);
        attempt::measure(&self.folder, &folder, flags, &log, self.interrupt)?
            .map_err(|reason| Stop::Refused(reason.into()))
    }

    fn answer(&self, found: Option<Found>) -> Answer {
        let simulated = self
            .records
            .first()
            .and_then(|record| record.header.simulated.as_ref())
            .map(|simulated| simulated.box_name.clone());
        let objectives = self.args.objectives().iter();
        Answer {
            schema: SCHEMA,
            simulated,
            search: self.settings.search.clone(),
            unit: self.args.search().unit().to_owned(),
            slo: self.settings.slo.clone(),
            limits_ms: objectives.map(|one| one.limit_ms).collect(),
            found,
            runs: self.decisions.clone(),
        }
    }

    /// Writes the answer so far.
    fn keep(&self, answer: &Answer) -> Result<(), Stop> {
        let text = answer.json().map_err(|error| anyhow!(error))?;
        let file = self.folder.join(ANSWER);
        write_whole(&file, text.as_bytes()).map_err(|error| anyhow!(error).into())
    }
}
