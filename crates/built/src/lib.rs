//! The built `tplens`, for tests of the crates that its commands come from. It builds nothing and stands in no program.
#![forbid(unsafe_code)]

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

/// The file of the program: beside the folder of the tests that cargo built with it.
///
/// # Panics
/// It was not built.
#[must_use]
pub fn file() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let file = own.ancestors().nth(2).map(|folder| folder.join("tplens"));
    let file = file.filter(|file| file.is_file());
    file.unwrap_or_else(|| panic!("tplens is not built: `cargo build --package tplens`"))
}

/// The program under a name that a link to it may have, such as `p2p-bw`.
#[must_use]
pub fn named(name: &str) -> Command {
    let mut command = Command::new(file());
    command.arg0(name);
    command
}
