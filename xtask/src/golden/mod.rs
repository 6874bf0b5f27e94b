//! `cargo xtask golden`: runs the commands of `golden/cases.toml` and compares their numbers and codes with `golden/values`.
//!
//! It compares no sentence. A value that moves fails; `--write` takes what moved, and cases that are new, into the values, whose
//! commit says why.

mod cases;
mod compare;
mod csv;
mod edit;
mod names;
mod run;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result};

use self::cases::{Case, Cases};
use self::compare::{Move, by_group, compare, table};
use self::names::Names;
use self::run::Bench;
use self::values::Values;
use crate::cargo::{self, Built};
use crate::counts::Counts;
use crate::{parallel, programs, soft};

/// Lines of moves that are printed.
const AT_MOST: usize = 40;

/// What mathematical libraries of two systems may differ by.
const ROUNDING: f64 = 1e-9;

/// What to run and what to do with it.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Also the cases that take long.
    full: bool,
    /// Takes the new values.
    write: bool,
    /// Only cases whose id begins so.
    only: String,
    /// Programs and simulated libraries are in the target folder already.
    is_built: bool,
}

impl Options {
    /// The cases that do not take long, after a build of the whole workspace.
    pub(crate) fn built(full: bool) -> Options {
        Options {
            is_built: true,
            full,
            ..Options::default()
        }
    }

    /// Reads the words behind `golden`; none where they are not understood.
    pub(crate) fn parse(words: &[OsString]) -> Option<Options> {
        let mut options = Options::default();
        for word in words {
            match word.to_str()? {
                "--full" => options.full = true,
                "--write" => options.write = true,
                "--built" => options.is_built = true,
                only if !only.starts_with('-') => only.clone_into(&mut options.only),
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Runs the cases, prints what moved and the counts, and writes the values where that was asked for and is allowed.
pub(crate) fn run(out: &mut impl Write, options: &Options) -> Result<Counts> {
    let golden = cargo::root()?.join("golden");
    let read = |name: &str| {
        let file = golden.join(name);
        fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))
    };
    let cases = Cases::parse(&read("cases.toml")?)?;
    let names: Names = toml::from_str(&read("names.toml")?).context("names.toml does not read")?;
    let old = values::read(&golden.join("values"))?;
    let bench = bench(cases, names, options.is_built)?;

    let begun = Instant::now();
    let chosen = |case: &&Case| (options.full || !case.full) && case.id.starts_with(&options.only);
    let chosen: Vec<&Case> = bench.cases.all.iter().filter(chosen).collect();
    let outcomes = parallel::map(&chosen, |case| bench.values(case));
    let took = begun.elapsed().as_secs_f64();

    let mut bad: BTreeSet<String> = BTreeSet::new();
    let mut ran = Values::new();
    for (case, outcome) in chosen.iter().zip(outcomes) {
        match outcome {
            Ok(values) => drop(ran.insert(case.id.clone(), values)),
            Err(error) => {
                writeln!(out, "{}: {error:#}", case.id)?;
                bad.insert(case.id.clone());
            }
        }
    }
    let find = |id: &str| bench.cases.all.iter().find(|case| case.id == id);
    let tolerance = |id: &str| find(id).map_or(0.0, |case| case.tolerance).max(ROUNDING);
    let moves = compare(&old, &ran, |id| find(id).is_some(), tolerance);
    if !moves.is_empty() {
        let shown: Vec<&Move> = moves.iter().collect();
        writeln!(out, "moved: {} values", moves.len())?;
        write!(out, "{}{}", table(&shown, AT_MOST), by_group(&shown))?;
    }
    if options.write && bad.is_empty() {
        let mut all: Values = old;
        all.retain(|id, _| find(id).is_some());
        for (id, values) in &ran {
            let before = all.remove(id).unwrap_or_default();
            let kept = values.iter().map(|(name, new)| {
                let moved = moves.iter().any(|one| one.case == *id && one.name == *name);
                // What lies within the tolerance does not creep.
                let value = before.get(name).filter(|_| !moved).unwrap_or(new);
                (name.clone(), value.clone())
            });
            all.insert(id.clone(), kept.collect());
        }
        values::write(&golden.join("values"), &all)?;
        writeln!(out, "written: say in the commit why they moved")?;
    } else {
        bad.extend(moves.iter().map(|one| one.case.clone()));
    }
    let count: usize = ran.values().map(BTreeMap::len).sum();
    writeln!(
        out,
        "{} cases, {count} values, {} moved; {took:.0} s",
        chosen.len(),
        moves.len(),
    )?;
    let passed = chosen.iter().filter(|case| !bad.contains(&case.id)).count();
    Ok(Counts::of(passed as u64, bad.len() as u64))
}

/// The programs and the simulated libraries, built unless they are.
fn bench(cases: Cases, names: Names, is_built: bool) -> Result<Bench> {
    let target = cargo::target_directory()?;
    if !is_built {
        let mut packages = soft::packages(&[soft::SOFT]);
        packages.push(programs::PACKAGE);
        soft::place(&Built::packages(&packages, false)?, &target, &[soft::SOFT])?;
    }
    Ok(Bench {
        root: cargo::root()?,
        scratch: target.join("golden"),
        soft: target.join("soft"),
        program: target.join("debug").join(programs::PACKAGE),
        cases,
        names,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_corpus_read() {
        let golden = cargo::root().unwrap().join("golden");
        let read = |name: &str| fs::read_to_string(golden.join(name)).unwrap();
        toml::from_str::<Names>(&read("names.toml")).unwrap();
        let cases = Cases::parse(&read("cases.toml")).unwrap();
        // Every value belongs to a case that is there.
        for id in values::read(&golden.join("values")).unwrap().keys() {
            assert!(cases.all.iter().any(|case| case.id == *id), "{id}");
        }
    }
}
