//! One run a folder: a run holds a file of its folder, and so does whatever it started, until the last of them has ended.
//!
//! A run that is killed leaves watchers behind that end its programs in order, and these write what they have. The same command,
//! given again at once, waits for that; beside a run that is alive it is refused.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use program::Stop;
use program::hold::{Held, hold};
use rustix::io::{FdFlags, fcntl_setfd};
use supervisor::Interrupt;

use super::watcher;

/// How often a file that another holds is tried.
const LOOK: Duration = Duration::from_millis(50);

/// What is left of a run that was killed ends within this time.
const PATIENCE: Duration = watcher::AT_MOST.saturating_add(Duration::from_secs(5));

/// Holds `file` of a folder for this process and all that it starts from now on, until the file that is given is dropped and they
/// have ended.
///
/// # Errors
/// Another run is at it, or what a killed one left does not end; or a signal came while that was waited for.
pub(crate) fn held(
    folder: &Path,
    file: &str,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<File, Stop> {
    let path = folder.join(file);
    // Some file systems lock only what is open for writing.
    let opened = OpenOptions::new().read(true).append(true).open(&path);
    let opened =
        opened.map_err(|error| Stop::Usage(format!("cannot write {}: {error}", path.display())))?;
    wait(&opened, folder, PATIENCE, interrupt, say)?;
    fcntl_setfd(&opened, FdFlags::empty()).context("handing a lock on")?;
    Ok(opened)
}

fn wait(
    file: &File,
    folder: &Path,
    patience: Duration,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<(), Stop> {
    let begun = Instant::now();
    let mut is_told = false;
    loop {
        let holder = match hold(file) {
            Held::Here => return Ok(()),
            Held::Unknown(errno) => {
                say(&format!(
                    "{} cannot be locked ({errno}): start no other run in it",
                    folder.display()
                ));
                return Ok(());
            }
            Held::Elsewhere(holder) => holder,
        };
        if let Some(pid) = holder.filter(|pid| is_alive(*pid)) {
            return Err(Stop::Usage(format!(
                "another run (pid {pid}) is at work in {}; wait until it has ended, or choose another folder with --out",
                folder.display()
            )));
        }
        if begun.elapsed() >= patience {
            return Err(Stop::Refused(format!(
                "{} is still held after {} s by programs of a run that has ended; end them, or choose another folder with --out",
                folder.display(),
                patience.as_secs()
            )));
        }
        if let Some(signal) = interrupt.signal() {
            return Err(Stop::Interrupted(signal));
        }
        if !is_told {
            say(&format!(
                "waiting until the programs of an earlier run in {} have ended",
                folder.display()
            ));
            is_told = true;
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether a process is there and has not ended.
fn is_alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // `4711 (name) S ...`: the state stands behind the last bracket, since a name may hold one (proc(5)).
    let state = status
        .rsplit(')')
        .next()
        .and_then(|rest| rest.trim().chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(std::path::PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("serve-bench-hold-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("settings.json"), "{}").unwrap();
            Self(folder)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    fn try_now(scratch: &Scratch) -> Result<File, Stop> {
        let none = Interrupt::none();
        held(&scratch.0, "settings.json", &none, &|_| {})
    }

    #[test]
    fn a_run_beside_another_is_refused_with_its_number_and_goes_on_after_it() {
        let scratch = Scratch::new("two");
        let first = try_now(&scratch).unwrap();
        let Err(Stop::Usage(why)) = try_now(&scratch) else {
            panic!("two runs hold one folder");
        };
        assert!(
            why.contains(&format!("another run (pid {})", std::process::id())),
            "{why}"
        );
        drop(first);
        try_now(&scratch).unwrap();
    }

    #[test]
    fn what_a_run_started_holds_its_folder_until_it_ends() {
        let scratch = Scratch::new("left");
        // A shell that locks, leaves a process behind and ends: what a killed run is.
        let script = format!(
            "exec 9>>'{}'; flock -n 9; sleep 1 & exit 0",
            scratch.0.join("settings.json").display()
        );
        let status = std::process::Command::new("sh")
            .args(["-c", &script])
            .status()
            .unwrap();
        assert!(status.success());
        let told = std::cell::Cell::new(0);
        let begun = Instant::now();
        let none = Interrupt::none();
        held(&scratch.0, "settings.json", &none, &|_| {
            told.set(told.get() + 1);
        })
        .unwrap();
        assert!(begun.elapsed() > Duration::from_millis(300));
        assert_eq!(told.get(), 1);
    }

    #[test]
    fn a_process_that_has_ended_is_not_alive() {
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(u32::MAX));
    }
}
