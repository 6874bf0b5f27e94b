//! Commands as people read and paste them, and whether their program is there at all.

use std::ffi::OsStr;
use std::path::Path;

use program::command_line::quoted;

/// A command's words as a shell takes them.
pub(crate) fn shell<W: AsRef<OsStr>>(words: &[W]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

/// Whether a program is there: a path as it is, a name in the folders of `PATH`.
pub(crate) fn is_installed(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Why a server's command cannot be started, told before anything else is done; `None` where its program is there.
pub(crate) fn missing(command: &[String]) -> Option<String> {
    let program = command.first()?;
    (!is_installed(program)).then(|| {
        format!(
            "{program}, which serves, is not installed here: activate its environment, or write its path after `--`"
        )
    })
}
