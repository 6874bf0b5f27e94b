//! The result folder of a run: one's own, mode 0700, never reached through a symbolic link.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use program::Stop;
use record::private;
use rustix::fs::{Mode, OFlags};

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
    /// It is a link, holds something, or is not this user's alone ([`Stop::Usage`]); it cannot be made ([`Stop::Internal`]).
    pub(crate) fn create(path: &Path) -> Result<Self, Stop> {
        let shown = path.display();
        let failed = |error: std::io::Error| {
            Stop::Internal(anyhow!(
                "cannot make the folder {shown}: {error}; choose a folder that can be written with --out"
            ))
        };
        refuse_link(path)?;
        if let Some(parent) = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            private::make_folders(parent).map_err(failed)?;
        }
        let is_new = match private::make_new_folder(path) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => return Err(failed(error)),
        };
        let folder = Self::checked(path, is_new)?;
        if !is_new && std::fs::read_dir(path).map_err(failed)?.next().is_some() {
            return Err(Stop::Usage(format!(
                "{shown} holds something already; choose another folder with --out, or go on with a run that was broken off with --resume {shown}"
            )));
        }
        Ok(folder)
    }

    /// Opens the folder of a run that was broken off.
    ///
    /// # Errors
    /// It is not there, a link, or not this user's alone.
    pub(crate) fn open(path: &Path) -> Result<Self, Stop> {
        refuse_link(path)?;
        Self::checked(path, false)
    }

    /// Opened without following a link, so that what was looked at is what is there.
    fn checked(path: &Path, is_new: bool) -> Result<Self, Stop> {
        let shown = path.display();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| {
            Stop::Usage(format!(
                "{shown}: {}; name a folder",
                std::io::Error::from(errno)
            ))
        })?;
        let found = std::fs::File::from(opened)
            .metadata()
            .map_err(|error| Stop::Internal(anyhow!("cannot look at {shown}: {error}")))?;
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(Stop::Usage(format!(
                "{shown} belongs to another user; choose another folder with --out"
            )));
        }
        if found.mode() & 0o022 != 0 {
            return Err(Stop::Usage(format!(
                "{shown} can be written by others; choose another folder with --out, or `chmod 700` it"
            )));
        }
        Ok(Self {
            path: path.to_owned(),
            is_new,
        })
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("tplens-accept-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&path));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn refusal(path: &Path) -> String {
        match Folder::create(path) {
            Err(Stop::Usage(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_folder_is_ones_own_and_no_link_and_what_is_in_it_stays() {
        let above = scratch("folder");
        let made = Folder::create(&above.join("a/b")).unwrap();
        assert_eq!(made.path().metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::write(made.join("kept"), "of the user").unwrap();
        assert!(refusal(&above.join("a/b")).contains("holds something already"));
        symlink(above.join("a"), above.join("link")).unwrap();
        assert!(refusal(&above.join("link")).contains("symbolic link"));
        symlink(above.join("nowhere"), above.join("dangling")).unwrap();
        assert!(refusal(&above.join("dangling")).contains("symbolic link"));
        std::fs::create_dir(above.join("open")).unwrap();
        std::fs::set_permissions(above.join("open"), std::fs::Permissions::from_mode(0o777))
            .unwrap();
        assert!(refusal(&above.join("open")).contains("written by others"));
        std::fs::write(above.join("file"), "").unwrap();
        assert!(refusal(&above.join("file")).contains("name a folder"));
        assert_eq!(
            std::fs::read_to_string(above.join("a/b/kept")).unwrap(),
            "of the user"
        );
        std::fs::remove_dir_all(&above).unwrap();
    }

    #[test]
    fn a_step_gets_a_folder_of_its_own_and_a_run_that_never_began_leaves_none() {
        let above = scratch("free");
        let folder = Folder::create(&above.join("out")).unwrap();
        assert_eq!(folder.free("peer-links"), "groups/peer-links-1");
        folder.make("groups/peer-links-1").unwrap();
        assert_eq!(folder.free("peer-links"), "groups/peer-links-2");
        folder.forget();
        assert!(!above.join("out").exists());
        std::fs::remove_dir_all(&above).unwrap();
    }
}
