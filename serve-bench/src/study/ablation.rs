//! The ablation of a study: a folder of its own for each size, which the explanation of that size reads.
//!
//! `serve-bench ablate` goes on by itself where it was broken off, so its folder is never set aside.

use std::path::PathBuf;
use std::time::Instant;

use program::Stop;

use super::child::{self, Ended};
use super::{Study, step};

impl Study<'_> {
    /// The arms of a size, where an ablation left them in the study's folder: one of this study, or one that was put there.
    pub(super) fn kept_ablation(&self, tp: u32) -> Option<PathBuf> {
        let file = self.folder.join(name(tp)).join(crate::ablate::ARMS);
        file.is_file().then_some(file)
    }

    /// Changes one thing of the link after the other at a size, or goes on with that, and gives the exit code.
    ///
    /// # Errors
    /// A signal came, or it left no arms.
    pub(super) fn ablate(&self, tp: u32, arguments: &[String]) -> Result<u8, Stop> {
        let name = name(tp);
        (self.say)(&format!("{name}: the server with its link changed"));
        let begun = Instant::now();
        let own = child::beside("serve-bench").map_err(Stop::Usage)?;
        let folder = self.folder.join(&name).display().to_string();
        let words = [&["ablate".to_owned()], arguments].concat();
        let words = [words, vec!["--out".to_owned(), folder]].concat();
        let log = self.folder.join(format!("{name}.log"));
        let none = Vec::new();
        match child::run(&name, &own, &words, none, &log, |_| true, self.interrupt)? {
            Ended::Interrupted(signal) => Err(Stop::Interrupted(signal)),
            Ended::Exit { code, last } if self.kept_ablation(tp).is_none() => {
                Err(step::without_result(&name, code, &last, &log))
            }
            Ended::Exit { code, last } => {
                let seconds = begun.elapsed().as_secs_f64();
                (self.say)(&format!(
                    "{name}: done in {seconds:.1} s{}",
                    step::ending(code, &last)
                ));
                Ok(code)
            }
        }
    }
}

/// The folder of a size's ablation.
fn name(tp: u32) -> String {
    format!("ablation-tp{tp}")
}
