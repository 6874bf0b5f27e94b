//! The result folder of a run: mode 0700, new or empty, never reached through a symbolic link.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use program::Stop;
use program::outputs::make_folder;
use record::private;

/// A folder that holds a run.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Whether it was not there before.
    is_new: bool,
}

impl Folder {
    /// Makes the folder, or takes one that is empty.
    ///
    /// # Errors
    /// It is a link, holds something, or cannot be made.
    pub(crate) fn create(path: &Path) -> Result<Self, Stop> {
        refuse_link(path)?;
        let is_new = !path.exists();
        make_folder("--out", path)?;
        let mut entries = path.read_dir().map_err(anyhow::Error::from)?;
        if entries.next().is_some() {
            let shown = path.display();
            return Err(Stop::Usage(format!(
                "{shown} holds something already; choose another folder with --out, or resume a run with --resume {shown}"
            )));
        }
        Ok(Self {
            path: path.to_owned(),
            is_new,
        })
    }

    /// Opens the folder of a run that was broken off.
    ///
    /// # Errors
    /// It is not there, or a link.
    pub(crate) fn open(path: &Path) -> Result<Self, Stop> {
        refuse_link(path)?;
        match path.is_dir() {
            true => Ok(Self {
                path: path.to_owned(),
                is_new: false,
            }),
            false => Err(Stop::Usage(format!(
                "{}: there is no such folder; name a folder",
                path.display()
            ))),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A place in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A folder for the result of a step that no step has used yet, relative to this one.
    pub(crate) fn free(&self, name: &str) -> String {
        let place = |number: usize| format!("groups/{name}-{number}");
        let is_free = |place: &String| self.join(place).symlink_metadata().is_err();
        (1..)
            .map(place)
            .find(is_free)
            .unwrap_or_else(|| place(usize::MAX))
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn make(&self, name: &str) -> Result<PathBuf, Stop> {
        let path = self.join(name);
        private::make_folders(&path).map_err(|error| {
            Stop::Internal(anyhow!(
                "cannot make the folder {}: {error}",
                path.display()
            ))
        })?;
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
        written.map_err(|error| Stop::Internal(error.into()))
    }

    /// Takes back what was made for a run that never began; a folder that was there before stays.
    pub(crate) fn forget(self) {
        // What cannot be removed is of no harm.
        for name in ["groups", "sim"] {
            drop(std::fs::remove_dir_all(self.path.join(name)));
        }
        if self.is_new {
            drop(std::fs::remove_dir(&self.path));
        }
    }
}

fn refuse_link(path: &Path) -> Result<(), Stop> {
    let is_link = path
        .symlink_metadata()
        .is_ok_and(|found| found.file_type().is_symlink());
    if is_link {
        return Err(Stop::Usage(format!(
            "{} is a symbolic link; name the folder itself",
            path.display()
        )));
    }
    Ok(())
}
