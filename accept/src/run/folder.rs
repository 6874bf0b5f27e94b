//! The result folder of a run: mode 0700, held by one run at a time, with the settings that it was begun with.

use std::path::{Path, PathBuf};

use anyhow::Context;
use program::{Stop, say, say_progress};
use record::private;
use runner::Interrupt;
use runner::run::Run;
use serde::Serialize;

use super::journal;

/// A folder that holds a run.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Whether it was not there before.
    is_new: bool,
}

impl Folder {
    /// Opens a new folder, or that of a run that is resumed; it is held until what is given beside it is dropped.
    ///
    /// # Errors
    /// It is a link, holds something else or no run, other settings were given, or another run is at work in it.
    pub(crate) fn open<'a>(
        path: &Path,
        is_resumed: bool,
        settings: &impl Serialize,
        interrupt: &'a Interrupt,
    ) -> Result<(Self, Run<'a>), Stop> {
        let found = path.symlink_metadata();
        let is_link = found.is_ok_and(|found| found.file_type().is_symlink());
        let shown = path.display();
        if is_link {
            let why = format!("{shown} is a symbolic link; name the folder itself");
            return Err(Stop::Usage(why));
        }
        match (is_resumed, path.join(journal::FILE).is_file()) {
            (true, false) => {
                let why = format!("{shown} holds no {} of a run; use --out", journal::FILE);
                return Err(Stop::Usage(why));
            }
            (false, true) => {
                let why = format!("{shown} holds a run; resume it with --resume {shown}");
                return Err(Stop::Usage(why));
            }
            _ => {}
        }
        let is_new = !path.exists();
        let what = ("an acceptance run", "settings.json");
        let run = Run::open(path, what, settings, interrupt, |progress| {
            say_progress(progress, &|line| say!("{line}"));
        })?;
        let path = path.to_owned();
        Ok((Self { path, is_new }, run))
    }

    /// A folder that nobody keeps.
    pub(crate) fn passing(path: PathBuf) -> Self {
        Self { path, is_new: true }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A place in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The first of these places, numbered from 1, that is free.
    pub(crate) fn free(&self, place: impl Fn(usize) -> String) -> String {
        let is_free = |place: &String| self.join(place).symlink_metadata().is_err();
        let mut places = (1..usize::MAX).map(&place);
        places.find(is_free).unwrap_or_else(|| place(0))
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn make(&self, name: &str) -> Result<PathBuf, Stop> {
        let path = self.join(name);
        let made = private::make_folders(&path);
        made.with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(path)
    }

    /// Fails where the disk has no room for what a step may write: a file of 2 MiB is written, flushed and removed.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn has_room(&self) -> Result<(), Stop> {
        let probe = self.join("probe");
        let written = record::write_whole(&probe, &vec![b'x'; 2 << 20]);
        drop(std::fs::remove_file(&probe));
        Ok(written.context("make room, then use --resume")?)
    }

    /// Takes back what was made for a run that never began.
    pub(crate) fn forget(self) {
        if self.is_new {
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}
