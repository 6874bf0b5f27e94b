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

use super::allowance::{Allowance, over};
use super::compare::CHECKS;
use super::initramfs;
use super::machines::{MACHINES, Machine};
use super::packages::Tree;
use super::qemu::{self, Failure, Sections};
use crate::cargo;
use crate::python::done;

/// The program that is compared.
const PROGRAM: &str = "p2p-bw";
/// Seconds until a machine is ended: some ten times what one takes on two idle cores.
const BOOT_SECONDS: u64 = 90;

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
    /// Machines were to be booted.
    Compared(Compared),
    /// Nothing could be booted.
    Skipped(String),
}

/// How many comparisons passed and failed; a machine that did not come to its end is one failure.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compared {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Machines that there was no time for.
    pub(crate) skipped: u64,
}

/// What came of one machine.
#[derive(Debug, PartialEq, Eq)]
enum Booted {
    /// What its guest wrote.
    Ended(Sections),
    /// It did not come to its end.
    Failed(String),
    /// There was no time for it.
    Skipped,
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
    let mut allowance = Allowance::whole();
    let start = Instant::now();
    let tree = match Tree::make(out, &folder, &mut allowance)? {
        Ok(tree) => tree,
        Err(reason) => return Ok(Outcome::Skipped(format!("emulated machines: {reason}"))),
    };
    told(out, "packages", start)?;
    let run = folder.join(format!("run-{}", std::process::id()));
    fs::create_dir_all(&run).with_context(|| format!("{} cannot be made", run.display()))?;
    let compared = all(out, &tree, options, &run, &mut allowance);
    let failed = compared.as_ref().is_ok_and(|counts| counts.failed > 0);
    if options.keep || failed {
        writeln!(out, "vm: what the guests wrote is in {}", run.display())?;
    } else {
        let removed = fs::remove_dir_all(&run);
        // Where there is an error before this one, it is what matters.
        if compared.is_ok() {
            removed.with_context(|| format!("{} cannot be removed", run.display()))?;
        }
    }
    compared.map(Outcome::Compared)
}

/// Boots every machine that is asked for and compares.
fn all(
    out: &mut impl Write,
    tree: &Tree,
    options: &Options,
    run: &Path,
    allowance: &mut Allowance,
) -> Result<Compared> {
    let start = Instant::now();
    let image = pack(tree, run)?;
    told(out, "image", start)?;
    let mut counts = Compared::default();
    let asked = |machine: &&Machine| options.machine.is_none_or(|name| name == machine.name);
    for machine in MACHINES.iter().filter(asked) {
        let name = machine.name;
        let start = Instant::now();
        let booted = attempts(allowance, |folder, seconds| {
            let folder = run.join(format!("{name}{folder}"));
            qemu::boot(tree, machine, &image, &folder, seconds)
        })?;
        match booted {
            Booted::Ended(sections) => {
                let failed = compare(out, machine, &sections, start)?;
                counts.passed += CHECKS.len() as u64 - failed;
                counts.failed += failed;
            }
            Booted::Failed(why) => {
                writeln!(
                    out,
                    "vm: {name}: failed, none of {} comparisons was made: {why}",
                    CHECKS.len()
                )?;
                counts.failed += 1;
            }
            Booted::Skipped => {
                writeln!(out, "skipped: emulated machine {name}: {}", over())?;
                counts.skipped += 1;
            }
        }
    }
    Ok(counts)
}

/// Boots a machine, and once more where its time was over, as it may be where others use the same cores.
///
/// `boot` gets what its folder's name ends with and its seconds.
fn attempts(
    allowance: &mut Allowance,
    mut boot: impl FnMut(&str, u64) -> Result<Result<Sections, Failure>>,
) -> Result<Booted> {
    let mut console = String::new();
    for folder in ["", "-again"] {
        let spent = allowance.spend(BOOT_SECONDS, |seconds| (seconds, boot(folder, seconds)));
        let Some((seconds, booted)) = spent else {
            return Ok(Booted::Skipped);
        };
        match booted? {
            Ok(sections) => return Ok(Booted::Ended(sections)),
            Err(Failure::Broken(why)) => return Ok(Booted::Failed(why)),
            // What is left of the allowance may be too little for any machine.
            Err(Failure::Late(_)) if seconds < BOOT_SECONDS => return Ok(Booted::Skipped),
            Err(Failure::Late(told)) => console = told,
        }
    }
    Ok(Booted::Failed(format!(
        "time-out: it was ended after {BOOT_SECONDS} s, twice\n{console}"
    )))
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

/// Compares what a guest wrote; how many comparisons failed.
fn compare(
    out: &mut impl Write,
    machine: &Machine,
    sections: &Sections,
    start: Instant,
) -> Result<u64> {
    let name = machine.name;
    let seconds = start.elapsed().as_secs_f64();
    let mut failed = 0;
    for check in CHECKS {
        if let Err(difference) = (check.run)(machine, sections) {
            writeln!(out, "vm: {name}: failed: {}: {difference:#}", check.name)?;
            failed += 1;
        }
    }
    writeln!(
        out,
        "vm: {name}: {} of {} comparisons passed, {seconds:.1} s: {}",
        CHECKS.len() as u64 - failed,
        CHECKS.len(),
        machine.about
    )?;
    Ok(failed)
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

    /// What comes of a machine whose boots end so, and how many seconds each was given.
    fn outcome(left: u64, boots: Vec<Result<Sections, Failure>>) -> (Booted, Vec<u64>) {
        let mut boots = boots.into_iter();
        let mut given = Vec::new();
        let booted = attempts(&mut Allowance::of(left), |_, seconds| {
            given.push(seconds);
            Ok(boots.next().unwrap())
        });
        (booted.unwrap(), given)
    }

    fn late(console: &str) -> Result<Sections, Failure> {
        Err(Failure::Late(console.to_owned()))
    }

    #[test]
    fn a_machine_that_is_late_is_booted_once_more() {
        let (booted, given) = outcome(300, vec![late(""), Ok(Sections::new())]);
        assert_eq!(booted, Booted::Ended(Sections::new()));
        assert_eq!(given, [90, 90]);
    }

    #[test]
    fn a_machine_that_is_late_twice_failed_by_time_out_with_its_last_console() {
        let (booted, given) = outcome(300, vec![late("first"), late("second")]);
        let why = "time-out: it was ended after 90 s, twice\nsecond";
        assert_eq!(booted, Booted::Failed(why.to_owned()));
        assert_eq!(given.len(), 2);
    }

    #[test]
    fn a_machine_that_breaks_is_not_booted_again() {
        let broken = Failure::Broken("the guest ended early".to_owned());
        let (booted, given) = outcome(300, vec![Err(broken)]);
        assert_eq!(booted, Booted::Failed("the guest ended early".to_owned()));
        assert_eq!(given.len(), 1);
    }

    #[test]
    fn a_machine_without_its_full_time_is_skipped_and_not_failed() {
        // Of 90 s, 30 are left, then none.
        assert_eq!(outcome(30, vec![late("")]), (Booted::Skipped, vec![30]));
        assert_eq!(outcome(0, vec![]), (Booted::Skipped, vec![]));
    }
}
