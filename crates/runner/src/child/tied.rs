//! A process that becomes another program and dies with its parent.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::own::{ChildError, die_with_parent, expected_parent};

/// Ties this process to its parent and becomes the command, of whose environment only what `is_kept` says by its name is left; returns
/// only where it cannot.
///
/// Also a program that knows nothing of its parent then dies with it: the tie survives the change (prctl(2), PR_SET_PDEATHSIG).
pub fn become_tied(
    mut words: impl Iterator<Item = OsString>,
    is_kept: impl Fn(&OsStr) -> bool,
) -> ChildError {
    if let Err(error) = expected_parent().and_then(die_with_parent) {
        return error;
    }
    let program = words.next().unwrap_or_default();
    let kept = std::env::vars_os().filter(|(name, _)| is_kept(name));
    let source = Command::new(&program)
        .args(words)
        .env_clear()
        .envs(kept)
        .exec();
    ChildError::Start {
        program: program.into(),
        source,
    }
}
