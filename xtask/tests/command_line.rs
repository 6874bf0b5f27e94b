//! The command line of `cargo xtask` as a user meets it.
//!
//! It starts no build: what the commands do is tested where they are.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::{Command, Output};

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn no_command_or_an_unknown_flag_exits_with_2() {
    for arguments in [
        &[][..],
        &["test", "--fast"],
        &["tidy", "x"],
        &["soft", "--debug"],
        &["kernels", "--write"],
        &["dist", "--out"],
    ] {
        let output = xtask(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn help_is_a_result_and_names_every_command() {
    let output = xtask(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    for command in ["dist", "golden", "kernels", "shim", "soft", "test", "tidy"] {
        let command = format!("\n  {command} ");
        assert!(text.contains(&command), "{command} in {text}");
    }
}
