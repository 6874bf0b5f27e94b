//! A study from its command line to its exit code.

use std::path::{Path, PathBuf};

use boxfile::BoxFile;
use program::command_line::resumes_by;
use program::show::Show;
use program::{Stop, open_run, result_folder};
use record::exit;
use runner::Interrupt;
use runner::run::check_servers;
use tp_plan::ModelFacts;

use super::args::StudyArgs;
use super::engines::ServerCommand;
use super::room::Sizes;
use super::shell::missing;
use super::steps::{LINKS, allreduce, serve, server_log};
use crate::explain::{self, CaseArgs, EngineFlags, OfSize, Sources};
use crate::split::study::ApartStudy;

/// The settings of a study, in its folder.
const FILE: &str = "study.json";

/// Runs a study, or resumes one, and gives the exit code.
///
/// # Errors
/// What ended it; what was measured is in its folder.
pub(crate) fn run(
    args: &StudyArgs,
    show: Show,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| result_folder(None, "study"));
    let code = if args.apart.prefill.is_empty() {
        Study::new(args, folder.clone())?.run(&Extras::default(), show, interrupt, say)
    } else {
        let (model, load) = (args.model.as_str(), &args.load);
        let apart = ApartStudy {
            args: &args.apart,
            model,
            load,
            folder: &folder,
            seconds: None,
        };
        apart.run(show, interrupt, say)
    };
    resumable(code, args.out.is_none().then_some(&*folder), say)
}

/// How it ended, having said how it is resumed where a signal ended it; `folder` where the command line does not name it.
pub(crate) fn resumable(
    code: Result<u8, Stop>,
    folder: Option<&Path>,
    say: &dyn Fn(&str),
) -> Result<u8, Stop> {
    if matches!(code, Err(Stop::Interrupted(_))) {
        say(&resumes_by(folder));
    }
    code
}

/// What a demonstration adds to a study.
#[derive(Debug, Clone, Default)]
pub(super) struct Extras {
    /// What the reader must know of how the results were made.
    pub(super) note: Option<String>,
    /// Whether it switched the engine's own all-reduce off, because no simulated machine can time it.
    pub(super) off_by_us: bool,
}

/// What is studied.
pub(super) struct Study<'a> {
    pub(super) args: &'a StudyArgs,
    /// The server command; `None` where the user runs the servers.
    pub(super) command: ServerCommand,
    pub(super) model: ModelFacts,
    /// The simulated machine.
    pub(super) simulated: Option<BoxFile>,
    pub(super) folder: PathBuf,
}

impl<'a> Study<'a> {
    /// Checks the command line.
    ///
    /// # Errors
    /// Flags that do not fit together, or a model or machine that is not there.
    pub(super) fn new(args: &'a StudyArgs, folder: PathBuf) -> Result<Self, Stop> {
        args.check().map_err(Stop::Usage)?;
        let words = match (&args.sim, args.server.is_empty()) {
            (Some(sim), true) => embedded(sim, &args.model)?,
            _ => args.server.clone(),
        };
        let command = ServerCommand::new(words, &args.tp).map_err(Stop::Usage)?;
        let model = ModelFacts::resolve(&args.model)
            .map_err(|error| Stop::Usage(format!("--model: {error}")))?;
        for tp in &args.tp {
            model
                .check_tp(*tp)
                .map_err(|error| Stop::Usage(format!("--tp: {error}")))?;
        }
        let simulated = args.sim.as_deref().map(BoxFile::resolve).transpose();
        Ok(Self {
            args,
            command,
            model,
            simulated: simulated.map_err(|error| Stop::Usage(format!("--sim: {error}")))?,
            folder,
        })
    }

    /// Runs it, or resumes it.
    ///
    /// # Errors
    /// What ended it.
    pub(super) fn run(
        &self,
        extras: &Extras,
        show: Show,
        interrupt: &Interrupt,
        say: &dyn Fn(&str),
    ) -> Result<u8, Stop> {
        let steps = self.steps(&self.fitting()?.fit)?;
        let is_served = steps
            .iter()
            .all(|step| step.needs.is_none() || step.done(&self.folder).is_some());
        check_servers(&steps, &self.folder)?;
        if let Some(why) = missing(&self.args.server).filter(|_| !is_served) {
            return Err(Stop::Usage(why));
        }
        let settings = self.args.settings();
        let mut run = open_run(&self.folder, ("a study", FILE), &settings, interrupt, say)?;
        extras.note.iter().for_each(|note| say(note));
        run.expect(&steps);
        let links = run.step(&steps[0])?;
        // Only the links say what memory the devices of this machine have.
        let sizes = self.fitting()?;
        sizes.remarks().for_each(|line| say(&line));
        let steps = self.steps(&sizes.fit)?;
        run.expect(&steps);
        let ends = run.all(&steps[1..])?;
        let codes = ends.iter().map(|end| end.code).chain([links.code]);
        say(&format!(
            "study: everything is in {}, the page is {}",
            self.folder.display(),
            self.folder.join(explain::PAGE).display()
        ));
        let sizes = self.explained(&sizes, extras);
        let code = explain::of_study(&sizes, &self.folder, show, say)?;
        Ok(exit::fold(codes.chain([code]).collect::<Vec<u8>>()))
    }

    /// How the server runs, as far as its flags say.
    pub(super) fn engine_flags(&self) -> EngineFlags {
        self.command.flags()
    }

    /// What is explained of each size: its own runs beside that of one GPU, and its server's log.
    fn explained(&self, sizes: &Sizes, extras: &Extras) -> Vec<OfSize> {
        let remarks = sizes.remarks().map(|line| format!("{line}."));
        let notes: Vec<String> = extras.note.iter().cloned().chain(remarks).collect();
        let note = (!notes.is_empty()).then(|| notes.join(" "));
        let logs_are_read = self.command.logs_are_read();
        let of_size = |tp: u32| {
            let own = sizes.fit.iter().copied().filter(|of| *of == 1 || *of == tp);
            let logs = own.clone().map(|tp| self.folder.join(server_log(tp)));
            OfSize {
                tp,
                logs: logs.filter(|log| logs_are_read && log.exists()).collect(),
                sources: Sources {
                    model: self.args.model.clone(),
                    case: CaseArgs {
                        allreduce: (tp > 1)
                            .then(|| self.folder.join(allreduce(tp)))
                            .into_iter()
                            .collect(),
                        links: Some(self.folder.join(LINKS)),
                        engine: self.engine_flags(),
                        ..CaseArgs::default()
                    },
                    note: note.clone(),
                    sim: self.args.sim.clone(),
                    off_by_us: extras.off_by_us,
                    serving: own.map(|tp| (tp, self.folder.join(serve(tp)))).collect(),
                    ..Sources::default()
                },
            }
        };
        let fit = sizes.fit.iter().copied();
        fit.filter(|tp| *tp > 1 || sizes.fit.len() == 1)
            .map(of_size)
            .collect()
    }
}

/// The embedded engine on a simulated machine, as a server command.
///
/// # Errors
/// This program's own file is not found.
pub(crate) fn embedded(sim: &str, model: &str) -> Result<Vec<String>, Stop> {
    let own = runner::child::tplens()?;
    let words = ["serve", "engine", "--box", sim, "--model", model].map(str::to_owned);
    Ok([own.display().to_string()]
        .into_iter()
        .chain(words)
        .collect())
}
