//! One run a folder: a run holds a file of its folder, and so does whatever it started, until the last of them has ended.
//!
//! A run that is killed leaves watchers behind that end its programs in order, and these write what they have. The same command,
//! given again at once, waits for that; beside a run that is alive it is refused.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use record::private;
use rustix::io::{FdFlags, fcntl_setfd};

use super::error::RunError;
use super::hold::{Held, hold};
use super::progress::{Progress, Tell};
use crate::child::WATCHER_LIMIT;
use crate::interrupt::Interrupt;
use crate::processes::is_alive;

/// The file that is held.
pub(super) const LOCK: &str = "run.lock";

/// How often a file that another holds is tried.
const LOOK: Duration = Duration::from_millis(50);

/// What is left of a run that was killed ends within this time.
const LEFTOVER: Duration = WATCHER_LIMIT.saturating_add(Duration::from_secs(5));

/// Holds a folder, which is made where it is not there, for this process and all that it starts from now on, until the file that is
/// given is dropped and they have ended.
///
/// # Errors
/// Another run is at work in it, or what a killed one left does not end; or a signal came while that was waited for.
pub fn hold_folder(
    folder: &Path,
    interrupt: &Interrupt,
    tell: &Tell<'_>,
) -> Result<File, RunError> {
    let path = folder.join(LOCK);
    let failed = |source| RunError::Io {
        what: "cannot write",
        path: path.clone(),
        source,
    };
    // Some file systems lock only what is open for writing.
    let opened = private::make_folders(folder).and_then(|()| private::append(&path));
    let file = opened.map_err(failed)?;
    wait(&file, folder, interrupt, tell)?;
    fcntl_setfd(&file, FdFlags::empty()).map_err(|error| failed(error.into()))?;
    Ok(file)
}

fn wait(
    file: &File,
    folder: &Path,
    interrupt: &Interrupt,
    tell: &Tell<'_>,
) -> Result<(), RunError> {
    let begun = Instant::now();
    let mut is_told = false;
    loop {
        let holder = match hold(file) {
            Held::Here => return Ok(()),
            Held::Unknown(_) => {
                tell(&Progress::NoLocks { folder });
                return Ok(());
            }
            Held::Elsewhere(holder) => holder,
        };
        let folder = folder.to_owned();
        if let Some(pid) = holder.filter(|pid| is_alive(*pid)) {
            return Err(RunError::Busy { folder, pid });
        }
        let waited = begun.elapsed();
        if waited >= LEFTOVER {
            return Err(RunError::Leftover { folder, waited });
        }
        if let Some(signal) = interrupt.signal() {
            return Err(RunError::Interrupted(signal));
        }
        if !is_told {
            tell(&Progress::Waiting { folder: &folder });
            is_told = true;
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(std::path::PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("runner-lock-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    fn try_now(scratch: &Scratch) -> Result<File, RunError> {
        hold_folder(&scratch.0, &Interrupt::none(), &|_| {})
    }

    #[test]
    fn a_run_beside_another_is_refused_with_its_number_and_resumes_after_it() {
        let scratch = Scratch::new("two");
        let first = try_now(&scratch).unwrap();
        let Err(RunError::Busy { pid, .. }) = try_now(&scratch) else {
            panic!("two runs hold one folder");
        };
        assert_eq!(pid, std::process::id());
        drop(first);
        try_now(&scratch).unwrap();
    }

    #[test]
    fn what_a_run_started_holds_its_folder_until_it_ends() {
        let scratch = Scratch::new("left");
        drop(try_now(&scratch).unwrap());
        // A shell that locks, leaves a process behind and ends: what a killed run is.
        let script = format!(
            "exec 9>>'{}'; flock -n 9; sleep 1 & exit 0",
            scratch.0.join(LOCK).display()
        );
        let status = std::process::Command::new("sh")
            .args(["-c", &script])
            .status()
            .unwrap();
        assert!(status.success());
        let told = std::cell::Cell::new(0);
        let begun = Instant::now();
        hold_folder(&scratch.0, &Interrupt::none(), &|progress| {
            assert!(matches!(progress, Progress::Waiting { .. }));
            told.set(told.get() + 1);
        })
        .unwrap();
        assert!(begun.elapsed() > Duration::from_millis(300));
        assert_eq!(told.get(), 1);
    }
}
