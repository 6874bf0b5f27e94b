//! `cargo xtask test`: every check of the repository in order, with one line of counts at the end.
//!
//! All steps run even where one fails. A tool that is not installed is a counted skip with its reason. A test that
//! cannot run here (no device, no permission) appends one line with the reason to the file that the environment
//! variable `TPLENS_SKIP_LOG` names, and returns; it is then counted as skipped and not as passed.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::cargo::Built;
use crate::counts::Counts;
use crate::{cargo, golden, python, soft, tidy};

/// The variable that names the file of skipped tests.
const SKIP_LOG: &str = "TPLENS_SKIP_LOG";
/// The variable that asks the tests for every seed, kill and mutation, and not for the few of each run.
const FULL: &str = "TPLENS_FULL";

/// The real engine of the tests: llama.cpp's server from its Python wheel, at the version that the tests were written against.
const ENGINE: &str = "xllamacpp==2026.10.11549";
/// The variable that tells the tests which Python has it; without it those that need it skip themselves.
const PYTHON: &str = "TPLENS_LLAMA_PYTHON";

/// Runs everything, writes progress and counts, and tells whether nothing failed.
///
/// `full` asks for every seed, kill and mutation; a plain run takes a seeded few of each.
pub(crate) fn run(out: &mut impl Write, full: bool) -> Result<bool> {
    let lints = ["--workspace", "--all-targets", "--", "-D", "warnings"];
    let form = ["--all", "--check"];
    let (mut python, all) = (None, &mut Counts::default());
    step(out, all, "format", |out| tool(out, "fmt", &form))?;
    step(out, all, "lints", |out| tool(out, "clippy", &lints))?;
    step(out, all, "build", |out| {
        let built = build();
        if let Err(error) = &built {
            writeln!(out, "{error:#}")?;
        }
        Ok(Counts::one(built.is_ok()))
    })?;
    step(out, all, "real engine", |out| {
        python = match engine(out) {
            Ok(python) => Some(python),
            Err(why) => return skipped(out, &format!("{why:#}")),
        };
        Ok(Counts::one(true))
    })?;
    let python = python.as_deref();
    step(out, all, "tests", |out| tests(out, python, full))?;
    let corpus = golden::Options {
        full,
        built: true,
        ..golden::Options::default()
    };
    step(out, all, "golden", |out| golden::run(out, &corpus))?;
    step(out, all, "tidy", |out| {
        tidy::run(out, false).map(Counts::one)
    })?;
    writeln!(out, "{all}")?;
    Ok(all.failed == 0)
}

/// Writes why something was skipped, and counts it.
fn skipped(out: &mut impl Write, reason: &str) -> Result<Counts> {
    writeln!(out, "skipped: {reason}")?;
    let mut counts = Counts::one(true);
    counts.skip(1);
    Ok(counts)
}

/// Builds all programs and tests once, and puts the simulated libraries and the shims where the tests look for them.
fn build() -> Result<()> {
    let folders = [soft::SOFT, soft::SHIM];
    soft::place(&Built::tests()?, &cargo::build_directory()?, &folders)
}

/// Installs the real engine where it is not whole; the file of its Python.
fn engine(out: &mut impl Write) -> Result<PathBuf> {
    let python = python::environment(out, &[ENGINE])?.join("bin/python");
    python::done(Command::new(&python).args(["-c", "import xllamacpp"]))?;
    Ok(python)
}

/// Runs one step between a line that names it and a line with its counts and time, and adds the counts to those of all.
fn step<W: Write>(
    out: &mut W,
    all: &mut Counts,
    name: &str,
    run: impl FnOnce(&mut W) -> Result<Counts>,
) -> Result<()> {
    writeln!(out, "== {name}")?;
    let start = Instant::now();
    let counts = run(out)?;
    all.add(counts);
    let seconds = start.elapsed().as_secs_f64();
    writeln!(out, "== {name}: {counts} in {seconds:.1} s")?;
    Ok(())
}

/// Runs a cargo subcommand that may be missing, as it is in a minimal installation.
fn tool(out: &mut impl Write, name: &str, arguments: &[&str]) -> Result<Counts> {
    let probe = cargo::command(&[name, "--version"])?.output();
    let probe = probe.context("cargo did not start")?;
    if !probe.status.success() {
        let reason = String::from_utf8_lossy(&probe.stderr);
        let mut lines = reason.lines().filter(|line| !line.trim().is_empty());
        let reason = lines.next().unwrap_or("no reason given");
        return skipped(out, &format!("cargo {name} is not available: {reason}"));
    }
    // Its output is for people, so it goes to standard error whole.
    let mut command = cargo::command(&[name])?;
    let status = command.args(arguments).stdout(std::io::stderr()).status()?;
    Ok(Counts::one(status.success()))
}

/// Runs all tests of the workspace, passes their output on and adds up their results.
///
/// `python` is the one that has the real engine; tests that need it skip themselves where there is none.
fn tests(out: &mut impl Write, python: Option<&Path>, full: bool) -> Result<Counts> {
    let log = cargo::target_directory()?.join(format!("skipped-{}", std::process::id()));
    fs::write(&log, "").with_context(|| format!("{} cannot be written", log.display()))?;
    let mut command = cargo::command(&["test", "--workspace", "--no-fail-fast"])?;
    command.args(["--lib", "--bins", "--tests"]);
    command.envs(full.then_some((FULL, "1")));
    command.envs(python.map(|python| (PYTHON, python)));
    let child = command.env(SKIP_LOG, &log).stdout(Stdio::piped()).spawn();
    let mut child = child.context("cargo test did not start")?;
    let mut counts = Counts::default();
    let mut output = BufReader::new(child.stdout.take().context("cargo test has no output")?);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        out.write_all(&line)?;
        counts.add_line(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    if !child.wait()?.success() && counts.failed == 0 {
        // It did not compile, or a test program crashed before it could count.
        counts.failed = 1;
    }
    let reasons = fs::read_to_string(&log);
    let reasons = reasons.with_context(|| format!("{} cannot be read", log.display()))?;
    for reason in reasons.lines() {
        writeln!(out, "skipped: {reason}")?;
        counts.skip(1);
    }
    fs::remove_file(&log)?;
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_test_programs_are_added_up() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test result: ok. 9 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s",
            "test result: FAILED. 14 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 12.34s",
            "a line that mentions 5 passed; 5 failed",
        ] {
            counts.add_line(line);
        }
        // 9 + 14 = 23 passed, 0 + 2 failed, 1 + 0 ignored.
        assert_eq!(
            counts,
            Counts {
                passed: 23,
                failed: 2,
                skipped: 1
            }
        );
    }

    #[test]
    fn a_test_that_skips_is_not_counted_as_passed() {
        let mut counts = Counts {
            passed: 10,
            failed: 0,
            skipped: 1,
        };
        counts.skip(2);
        // 10 - 2 = 8 passed, 1 + 2 = 3 skipped: the sum stays 11.
        assert_eq!(
            counts,
            Counts {
                passed: 8,
                failed: 0,
                skipped: 3
            }
        );
    }

    #[test]
    fn a_step_is_named_before_and_counted_after() {
        let (mut out, mut all) = (Vec::new(), Counts::one(false));
        step(&mut out, &mut all, "format", |_| Ok(Counts::one(false))).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(all.failed, 2);
        assert!(
            text.starts_with("== format\n== format: 0 passed, 1 failed, 0 skipped in "),
            "{text}"
        );
    }
}
