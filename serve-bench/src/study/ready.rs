//! What a study needs of this machine, asked before anything is measured: the engine's program, and a GPU whose driver answers.
//!
//! Drivers are asked by p2p-bw, so that one that hangs or crashes does so in a process of its own. Nothing is measured here.

use device::Built;
use program::{Stop, passing_folder};

use super::child::{self, Ended};
use super::serving::serve;
use super::shell::missing;
use super::{LINKS, Study, allreduce, step, words};

/// What the line begins with in which a program says why nothing was measured.
const REFUSED: &str = "nothing was measured: ";

impl Study<'_> {
    /// Fails where a part of the study that is still to be done could not be: a program that serves, or a GPU.
    ///
    /// # Errors
    /// What is missing, with what to do.
    pub(super) fn check_machine(&self) -> Result<(), Stop> {
        let is_done = |name: String| step::complete(&self.folder.join(name)).is_some();
        let sizes = || self.settings.tp.iter();
        if !sizes().all(|tp| is_done(serve(*tp)))
            && let Some(why) = missing(&self.args.server)
        {
            return Err(Stop::Usage(why));
        }
        let mut measured = vec![LINKS.to_owned()];
        measured.extend(sizes().filter(|tp| **tp > 1).map(|tp| allreduce(*tp)));
        match self.settings.sim.is_some() || measured.into_iter().all(is_done) {
            true => Ok(()),
            false => self.check_driver(),
        }
    }

    /// Asks each driver that the study may use until one answers.
    pub(super) fn check_driver(&self) -> Result<(), Stop> {
        let asked = &self.settings.backend;
        let is_asked = |built: &&Built| asked == "auto" || asked == built.name();
        let mut reasons = Vec::new();
        for built in Built::ALL.iter().filter(is_asked) {
            // Host memory is there always; `auto` means a GPU.
            if built.pci_vendor().is_none() {
                if asked == built.name() {
                    return Ok(());
                }
                continue;
            }
            match self.answers(built.name())? {
                Ok(()) => return Ok(()),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(Stop::Refused(format!(
            "no GPU driver answers ({}): install the driver, or see the whole chain on a soft box with `serve-bench demo` or --sim BOX; an engine on CPUs is studied with --backend host",
            reasons.join("; ")
        )))
    }

    /// Whether a driver lists its devices; the inner error is why not.
    fn answers(&self, backend: &str) -> Result<Result<(), String>, Stop> {
        let file = child::beside("p2p-bw").map_err(Stop::Usage)?;
        let log = passing_folder("study").with_extension("log");
        let arguments = words(&["--list", "--backend", backend]);
        let ended = child::run(
            "p2p-bw",
            &file,
            &arguments,
            Vec::new(),
            &log,
            |_| true,
            self.interrupt,
        );
        // Left behind it would be in nobody's way.
        drop(std::fs::remove_file(&log));
        match ended? {
            Ended::Interrupted(signal) => Err(Stop::Interrupted(signal)),
            Ended::Exit {
                code: measure::exit::DONE,
                ..
            } => Ok(Ok(())),
            Ended::Exit { last, .. } => {
                Ok(Err(last.strip_prefix(REFUSED).unwrap_or(&last).to_owned()))
            }
        }
    }
}
