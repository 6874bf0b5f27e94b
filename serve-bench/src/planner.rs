//! What planners (study, ablate, sweep, slo, half) share: a folder with a run that resumes, loads as its steps, each tried for itself, and
//! what is printed and kept at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use program::command_line::{quoted, resumes_by};
use program::show::Show;
use program::{Stop, open_run, outputs, result_folder};
use record::exit;
use runner::Interrupt;
use runner::run::{Leaves, Needs, Run, RunError, Step, StepEnd};
use serde::Serialize;
use view::Document;

/// Without a finished request for so long a load is ended.
pub(crate) const LOAD_DEADLINE: Duration = Duration::from_secs(3600);

/// Who asks: what is shown of a result, what ends the work, and where progress is said.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) show: Show,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) say: &'a dyn Fn(&str),
}

impl<'a> Asker<'a> {
    /// Works in the folder that is named, or in a new one whose name begins with `prefix`; says by which command it is resumed where
    /// a signal ended it.
    ///
    /// # Errors
    /// Those of the work.
    pub(crate) fn in_folder(
        &self,
        out: Option<&Path>,
        prefix: &str,
        work: impl FnOnce(&Path) -> Result<u8, Stop>,
    ) -> Result<u8, Stop> {
        let folder = out.map_or_else(|| result_folder(None, prefix), Path::to_owned);
        let code = work(&folder);
        if matches!(code, Err(Stop::Interrupted(_))) {
            (self.say)(&resumes_by(out.is_none().then_some(&*folder)));
        }
        code
    }

    /// Opens a run of `what`, such as `a study`, whose settings are in `file` of its folder.
    ///
    /// # Errors
    /// The folder cannot be written, is in use, or holds another run.
    pub(crate) fn open(
        &self,
        folder: &Path,
        (what, file): (&'static str, &str),
        settings: &impl Serialize,
    ) -> Result<Run<'a>, Stop> {
        open_run(folder, (what, file), settings, self.interrupt, self.say)
    }

    /// Does the steps of a run, each for itself, ends the last server, and says once why some have no result.
    ///
    /// # Errors
    /// What ends all of them, as [`Tries::step`].
    pub(crate) fn tried(
        &self,
        run: &mut Run<'_>,
        steps: &[Step],
    ) -> Result<Vec<Result<StepEnd, Lost>>, Stop> {
        run.expect(steps);
        let (mut tries, mut ends) = (Tries::default(), Vec::new());
        for step in steps {
            let end = tries.step(run, step)?;
            if let Err(lost) = &end
                && !ends.contains(&end)
            {
                (self.say)(&format!("{} is left out: {}", step.name, lost.reason));
            }
            ends.push(end);
        }
        run.end_server();
        Ok(ends)
    }

    /// Prints a document, writes it as a page, and says where that and everything else is; gives the exit code.
    pub(crate) fn deliver(&self, document: &Document, folder: &Path, page: &str) -> u8 {
        let page = folder.join(page);
        let codes = [
            outputs::write(&page, Ok(document.html())),
            self.show.print(document),
        ];
        (self.say)(&format!(
            "everything is in {}, the page is {}",
            folder.display(),
            page.display()
        ));
        exit::fold(codes)
    }
}

/// Why a step has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost {
    /// In words.
    pub(crate) reason: String,
    /// Whether its server could not be had.
    pub(crate) is_server: bool,
}

/// Steps that are each tried for itself: what is wrong with one, or with one server, does not end the others.
#[derive(Default)]
pub(crate) struct Tries {
    /// Why a server of this name could not be had; it is not tried again.
    down: BTreeMap<String, String>,
    /// Servers that were there before: what fails once may pass.
    good: BTreeSet<String>,
}

impl Tries {
    /// Does a step of a run, where it is not done already.
    ///
    /// # Errors
    /// What ends all others, too: a signal, a command line that the step's program does not take, a full disk.
    pub(crate) fn step(
        &mut self,
        run: &mut Run<'_>,
        step: &Step,
    ) -> Result<Result<StepEnd, Lost>, Stop> {
        let server = step.needs.as_ref().map(Needs::name);
        let lost = |reason: String, is_server| Ok(Err(Lost { reason, is_server }));
        if let Some(reason) = server.and_then(|name| self.down.get(name)) {
            return lost(reason.clone(), true);
        }
        match run.step(step) {
            Err(error) if error.is_of_step() && error.exit_code() != exit::USAGE => {
                let reason = error.to_string();
                let is_server =
                    !matches!(error, RunError::NoResult { .. } | RunError::Stalled { .. });
                let is_new = |name: &&str| !self.good.contains(*name);
                if let Some(name) = server.filter(is_new).filter(|_| is_server) {
                    self.down.insert(name.to_owned(), reason.clone());
                }
                lost(reason, is_server)
            }
            end => {
                let end = end?;
                self.good.extend(server.map(str::to_owned));
                Ok(Ok(end))
            }
        }
    }
}

/// Flags with their values as words, those alone that have one.
pub(crate) fn words<'a, V: Into<Option<String>>>(
    flags: impl IntoIterator<Item = (&'a str, V)>,
) -> Vec<String> {
    let flags = flags.into_iter();
    let flags = flags.filter_map(|(flag, value)| Some([flag.to_owned(), value.into()?]));
    flags.flatten().collect()
}

/// A command's words as a shell takes them.
pub(crate) fn shell<W: AsRef<OsStr>>(words: &[W]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

/// A load with these arguments of `tplens serve run`, on a server where it needs one.
pub(crate) fn load(
    (name, about): (String, String),
    arguments: Vec<String>,
    needs: Option<Needs>,
    seconds: f64,
) -> Step {
    Step {
        name,
        about,
        command: "serve run",
        arguments,
        environment: Vec::new(),
        needs,
        leaves: Leaves::Record,
        seconds,
        deadline: LOAD_DEADLINE,
    }
}
