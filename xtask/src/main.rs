//! `cargo xtask`: builds and runs the programs, and checks the repository.
//!
//! It measures nothing, reads no result, holds no default of any program and uses no shell. It depends on none of
//! our crates. What a user of a binary needs must work without it.
#![forbid(unsafe_code)]

mod cargo;
mod dist;
mod engine;
mod fuzz;
mod kernels;
mod programs;
mod python;
mod shim;
mod soft;
mod test;
mod tidy;
mod vm;

use std::ffi::OsString;
use std::io::{Write, stderr, stdout};
use std::process::ExitCode;

/// Exit code where a check failed.
const FAILED: u8 = 1;
/// Exit code for a command line that is not understood.
const USAGE: u8 = 2;
/// Exit code where nothing, or not all, could be checked here.
const SKIPPED: u8 = 3;
/// Exit code where the command itself could not be carried out.
const INTERNAL: u8 = 4;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<OsString> = arguments.collect();
    let result = match (command.to_str(), rest.as_slice()) {
        (Some("dist"), rest) => match dist::Options::parse(rest) {
            Some(options) => dist::run(&mut stdout(), &options).map(|()| 0),
            None => misused(),
        },
        (Some("fuzz"), rest) => match fuzz::Options::parse(rest) {
            Some(options) => {
                verdict(fuzz::run(&mut stdout(), &options).map(|outcome| outcome.is_clean()))
            }
            None => misused(),
        },
        (Some("kernels"), []) => verdict(kernels::run(&mut stdout(), kernels::Mode::Write)),
        (Some("kernels"), [check]) if check == "--check" => {
            verdict(kernels::run(&mut stdout(), kernels::Mode::Check))
        }
        (Some("shim"), []) => shim::install(false).map(|_| 0),
        (Some("shim"), [release]) if release == "--release" => shim::install(true).map(|_| 0),
        (Some("soft"), []) => soft::install(false).map(|_| 0),
        (Some("soft"), [release]) if release == "--release" => soft::install(true).map(|_| 0),
        (Some("test"), []) => verdict(test::run(&mut stdout())),
        (Some("tidy"), []) => verdict(tidy::run(&mut stdout())),
        (Some("vm-test"), rest) => match vm::Options::parse(rest) {
            Some(options) => emulated(&mut stdout(), &options),
            None => misused(),
        },
        (Some("help" | "--help" | "-h"), _) => stdout()
            .write_all(usage().as_bytes())
            .map(|()| 0)
            .map_err(Into::into),
        (Some(name), rest) => match programs::find(name) {
            Some(program) => programs::exec(program, rest),
            None => misused(),
        },
        (None, _) => misused(),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Nothing is left to tell where standard error is closed too.
            let _ = writeln!(stderr(), "xtask: {error:#}");
            ExitCode::from(INTERNAL)
        }
    }
}

/// Shows the usage to someone whose command line was not understood.
fn misused() -> anyhow::Result<u8> {
    stderr().write_all(usage().as_bytes())?;
    Ok(USAGE)
}

/// Compares on emulated machines, and writes how it went in one last line.
fn emulated(out: &mut impl Write, options: &vm::Options) -> anyhow::Result<u8> {
    Ok(match vm::run(out, options)? {
        vm::Outcome::Compared(vm::Compared {
            passed,
            failed,
            skipped,
        }) => {
            writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped")?;
            match (failed, skipped) {
                (0, 0) => 0,
                (0, _) => SKIPPED,
                _ => FAILED,
            }
        }
        vm::Outcome::Skipped(reason) => {
            writeln!(out, "skipped: {reason}")?;
            SKIPPED
        }
    })
}

/// The exit code of a check.
fn verdict(clean: anyhow::Result<bool>) -> anyhow::Result<u8> {
    clean.map(|clean| if clean { 0 } else { FAILED })
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask COMMAND [ARGUMENTS]\n\n");
    for program in programs::PROGRAMS {
        text.push_str(&format!(
            "  {:<18} {}\n",
            format!("{} ARGS...", program.command),
            program.about
        ));
    }
    text.push_str(
        "  dist               make one archive that runs on a machine without Rust: programs, soft libraries, profiles; --out FOLDER\n  \
           fuzz               give every reader hurtful files; --full for 3,000 each, --built, --only READER or READER:INDEX\n  \
           kernels [--check]  make the PTX that is kept, or compare it; assemble and compile all kernels\n  \
           shim [--release]   build the delay shims into target/shim, under the names of the libraries before which they stand\n  \
           soft [--release]   build the soft vendor libraries into target/soft\n  \
           test               format, lints, soft libraries, all tests, tidy; ends with the counts\n  \
           tidy               check the rules of the repository that no compiler checks\n  \
           vm-test            boot emulated machines and compare with numactl, lspci and lstopo there; --machine a|b|c, --keep\n",
    );
    text
}
