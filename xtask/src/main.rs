//! `cargo xtask`: builds and runs the programs, and checks the repository.
//!
//! It measures nothing, reads no result, holds no default of any program and uses no shell. It depends on none of
//! our crates. What a user of a binary needs must work without it.
#![forbid(unsafe_code)]

mod cargo;
mod counts;
mod dist;
mod engine;
mod golden;
mod kernels;
mod parallel;
mod programs;
mod python;
mod soft;
mod test;
mod tidy;

use std::ffi::OsString;
use std::io::{Write, stderr, stdout};
use std::process::ExitCode;

/// Exit code where a check failed.
const FAILED: u8 = 1;
/// Exit code for a command line that is not understood.
const USAGE: u8 = 2;
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
        (Some("golden"), rest) => match golden::Options::parse(rest) {
            Some(options) => {
                verdict(golden::run(&mut stdout(), &options).map(|counted| counted.failed == 0))
            }
            None => misused(),
        },
        (Some("kernels"), []) => verdict(kernels::run(&mut stdout(), false)),
        (Some("kernels"), [check]) if check == "--check" => {
            verdict(kernels::run(&mut stdout(), true))
        }
        (Some(folder @ (soft::SOFT | soft::SHIM)), []) => soft::install(folder, false).map(|()| 0),
        (Some(folder @ (soft::SOFT | soft::SHIM)), [release]) if release == "--release" => {
            soft::install(folder, true).map(|()| 0)
        }
        (Some("test"), []) => verdict(test::run(&mut stdout(), false)),
        (Some("test"), [full]) if full == "--full" => verdict(test::run(&mut stdout(), true)),
        (Some("tidy"), []) => verdict(tidy::run(&mut stdout(), tidy::Mode::Check)),
        (Some("tidy"), [tighten]) if tighten == "--tighten" => {
            verdict(tidy::run(&mut stdout(), tidy::Mode::Tighten))
        }
        (Some("help" | "--help" | "-h"), _) => stdout()
            .write_all(usage().as_bytes())
            .map(|()| 0)
            .map_err(Into::into),
        (Some(name), rest) if programs::COMMANDS.contains(&name) => programs::exec(name, rest),
        _ => misused(),
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

/// The exit code of a check.
fn verdict(clean: anyhow::Result<bool>) -> anyhow::Result<u8> {
    clean.map(|clean| if clean { 0 } else { FAILED })
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask COMMAND [ARGUMENTS]\n\n");
    let commands = programs::COMMANDS.join(", ");
    text.push_str(&format!(
        "  COMMAND ARGS...    build tplens and become `tplens COMMAND ARGS...`: {commands}\n"
    ));
    text.push_str(
        "  dist               make one archive that runs on a machine without Rust: programs, simulated libraries, profiles; --out FOLDER\n  \
           golden             compare the programs' numbers and codes with golden/values; --full, --write, --built, PREFIX of cases\n  \
           kernels [--check]  make the PTX that is kept, or compare it; assemble and compile all kernels\n  \
           shim [--release]   build the delay shims into target/shim, under the names of the libraries before which they stand\n  \
           soft [--release]   build the simulated vendor libraries into target/soft\n  \
           test [--full]      format, lints, all tests, golden corpus, tidy; ends with the counts; --full: every seed, kill and mutation\n  \
           tidy [--tighten]   check the rules that no compiler checks; lower the ceilings to today's values\n",
    );
    text
}
