//! The command: gets what is needed, boots machine after machine, compares, counts.
//!
//! Nothing is installed. Where the machines cannot be had here, that is a skip with its reason and never a pass.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use super::compare::CHECKS;
use super::initramfs;
use super::machines::{MACHINES, Machine};
use super::packages::Tree;
use super::qemu;
use crate::cargo;
use crate::python::done;

/// The program that is compared.
const PROGRAM: &str = "p2p-bw";

/// What the command line asks for.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The only machine to boot.
    machine: Option<&'static str>,
    /// Keep the image and what each guest wrote even where nothing failed.
    keep: bool,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Comparisons that passed and failed.
    Compared { passed: u64, failed: u64 },
    /// Nothing could be booted.
    Skipped(String),
}

impl Options {
    /// Reads `[--machine NAME] [--keep]`; `None` for anything else.
    pub(crate) fn parse(arguments: &[OsString]) -> Option<Options> {
        let mut options = Options::default();
        let mut words = arguments.iter().map(|word| word.to_str());
        while let Some(word) = words.next() {
            match word? {
                "--keep" => options.keep = true,
                "--machine" => {
                    let name = words.next()??;
                    let machine = MACHINES.iter().find(|machine| machine.name == name);
                    options.machine = Some(machine?.name);
                }
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Boots the machines and compares; writes what passed and what did not.
pub(crate) fn run(out: &mut impl Write, options: &Options) -> Result<Outcome> {
    let folder = cargo::target_directory()?.join("vm");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let start = Instant::now();
    let tree = match Tree::make(out, &folder)? {
        Ok(tree) => tree,
        Err(reason) => return Ok(Outcome::Skipped(format!("emulated machines: {reason}"))),
    };
    told(out, "packages", start)?;
    let start = Instant::now();
    let run = folder.join(format!("run-{}", std::process::id()));
    fs::create_dir_all(&run).with_context(|| format!("{} cannot be made", run.display()))?;
    let image = pack(&tree, &run).inspect_err(|_| {
        // The error is what matters; what is left is named after this process.
        let _ = fs::remove_dir_all(&run);
    })?;
    told(out, "image", start)?;
    let (mut passed, mut failed) = (0, 0);
    let asked = |machine: &&Machine| options.machine.is_none_or(|name| name == machine.name);
    for machine in MACHINES.iter().filter(asked) {
        let (good, bad) = compared(out, &tree, machine, &image, &run)?;
        passed += good;
        failed += bad;
    }
    if options.keep || failed > 0 {
        writeln!(out, "vm: what the guests wrote is in {}", run.display())?;
    } else {
        fs::remove_dir_all(&run).with_context(|| format!("{} cannot be removed", run.display()))?;
    }
    Ok(Outcome::Compared { passed, failed })
}

/// Builds the program and packs the image.
fn pack(tree: &Tree, run: &Path) -> Result<PathBuf> {
    let built = cargo::build(PROGRAM, PROGRAM, false)?;
    let small = run.join(PROGRAM);
    // Without its lines for debuggers it is a sixth; where there is no strip, the guest takes it as it is.
    let stripped = done(Command::new("strip").arg("-o").arg(&small).arg(&built));
    if stripped.is_err() {
        fs::copy(&built, &small).with_context(|| format!("{} cannot be made", small.display()))?;
    }
    let image = run.join("initramfs.cpio");
    fs::write(&image, initramfs::pack(tree, &small)?)
        .with_context(|| format!("{} cannot be written", image.display()))?;
    Ok(image)
}

/// Boots one machine and compares; how many comparisons passed and failed.
fn compared(
    out: &mut impl Write,
    tree: &Tree,
    machine: &Machine,
    image: &Path,
    run: &Path,
) -> Result<(u64, u64)> {
    let name = machine.name;
    let start = Instant::now();
    let sections = match qemu::boot(tree, machine, image, &run.join(name))? {
        Ok(sections) => sections,
        Err(why) => {
            writeln!(out, "vm: {name}: failed: {why}")?;
            // Without a guest none of the comparisons was made, and none passed.
            return Ok((0, CHECKS.len() as u64));
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let mut failed = 0;
    for check in CHECKS {
        if let Err(difference) = (check.run)(machine, &sections) {
            writeln!(out, "vm: {name}: failed: {}: {difference:#}", check.name)?;
            failed += 1;
        }
    }
    let passed = CHECKS.len() as u64 - failed;
    writeln!(
        out,
        "vm: {name}: {passed} of {} comparisons passed, {seconds:.1} s: {}",
        CHECKS.len(),
        machine.about
    )?;
    Ok((passed, failed))
}

fn told(out: &mut impl Write, what: &str, start: Instant) -> Result<()> {
    let seconds = start.elapsed().as_secs_f64();
    writeln!(out, "vm: {what}: {seconds:.1} s").map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_machine_that_is_there_can_be_asked_for() {
        let parse = |words: &[&str]| {
            Options::parse(&words.iter().map(Into::into).collect::<Vec<OsString>>())
                .map(|options| (options.machine, options.keep))
        };
        assert_eq!(parse(&[]), Some((None, false)));
        assert_eq!(
            parse(&["--keep", "--machine", "b"]),
            Some((Some("b"), true))
        );
        for words in [&["--machine"][..], &["--machine", "d"], &["b"]] {
            assert_eq!(parse(words), None, "{words:?}");
        }
    }
}
