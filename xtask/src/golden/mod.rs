//! `cargo xtask golden`: runs the commands of `golden/cases.toml` and compares their numbers and codes with `golden/values`.
//!
//! It compares no sentence. A value that moves fails unless `golden/moved.toml` lists it with a reason; `--write` takes listed moves, and
//! cases that are new, into the values.

mod cases;
mod compare;
mod csv;
mod edit;
mod moved;
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
use self::moved::{Moved, glob};
use self::names::Names;
use self::run::Bench;
use self::values::Values;
use crate::cargo::{self, Built};
use crate::counts::Counts;
use crate::{parallel, soft};

/// Lines of moves that are printed.
const AT_MOST: usize = 40;

/// What mathematical libraries of two systems may differ by.
const ROUNDING: f64 = 1e-9;

/// Clock ticks a second in /proc (USER_HZ; proc(5)).
const TICKS_PER_S: f64 = 100.0;

/// What to run and what to do with it.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Also the cases that take long.
    full: bool,
    /// Takes the new values where all moves are listed.
    write: bool,
    /// One case after another, with the CPU time of each.
    times: bool,
    /// Only cases whose id begins so.
    only: String,
    /// Programs and simulated libraries are in the target folder already.
    is_built: bool,
}

/// What became of a case that ran.
type Outcome = Result<BTreeMap<String, String>>;

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
                "--times" => options.times = true,
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
    let moved_text = read("moved.toml")?;
    let moved = Moved::parse(&moved_text)?;
    let cases = Cases::parse(&read("cases.toml")?)?;
    let names: Names = toml::from_str(&read("names.toml")?).context("names.toml does not read")?;
    let old = values::read(&golden.join("values"))?;
    let bench = bench(cases, names, options.is_built)?;

    let begun = (Instant::now(), cpu_s());
    let chosen = |case: &&Case| (options.full || !case.full) && case.id.starts_with(&options.only);
    let chosen: Vec<&Case> = bench.cases.all.iter().filter(chosen).collect();
    let outcomes = run_all(&bench, &chosen, options.times, out)?;
    let took = (begun.0.elapsed().as_secs_f64(), cpu_s() - begun.1);

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
    // A case without any value before is made, not moved.
    let (made, moves): (Vec<Move>, Vec<Move>) = moves
        .into_iter()
        .partition(|one| options.write && !old.contains_key(&one.case));
    let (listed, unlisted): (Vec<&Move>, Vec<&Move>) =
        moves.iter().partition(|one| moved.allows(one).is_some());
    for (title, moves) in [
        ("moved", &unlisted),
        ("moved as listed in moved.toml", &listed),
    ] {
        if !moves.is_empty() {
            writeln!(out, "{title}: {} values", moves.len())?;
            write!(out, "{}{}", table(moves, AT_MOST), by_group(moves))?;
        }
    }
    let ran_all = |pattern: &str| {
        let mut matching = bench
            .cases
            .all
            .iter()
            .filter(|case| glob(pattern, &case.id));
        matching.all(|case| ran.contains_key(&case.id))
    };
    let idle = moved.idle(&moves, ran_all);
    for entry in &idle {
        writeln!(
            out,
            "moved.toml: nothing moves as `{entry}` says; delete it"
        )?;
    }
    bad.extend(unlisted.iter().map(|one| one.case.clone()));
    bad.extend(idle);
    let halves = moved.used(&moves, |pattern| options.write && !ran_all(pattern));
    for entry in &halves {
        writeln!(
            out,
            "moved.toml: not all cases of `{entry}` ran; write with --full and no prefix"
        )?;
    }
    bad.extend(halves);
    if options.write {
        if bad.is_empty() {
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
            let stamped = moved.stamped(&moved_text, &moves);
            fs::write(golden.join("moved.toml"), stamped)?;
            writeln!(
                out,
                "written: {} new values, {} moved",
                made.len(),
                listed.len()
            )?;
        } else {
            writeln!(
                out,
                "not written: list what moves in golden/moved.toml, with a reason"
            )?;
        }
    }
    let count: usize = ran.values().map(BTreeMap::len).sum();
    let (wall, cpu) = took;
    writeln!(
        out,
        "{} cases, {count} values, {} moved ({} listed); {cpu:.0} CPU-s, {wall:.0} s",
        chosen.len(),
        moves.len(),
        listed.len(),
    )?;
    let passed = chosen.iter().filter(|case| !bad.contains(&case.id)).count();
    Ok(Counts::of(passed as u64, bad.len() as u64))
}

/// The programs and the simulated libraries, built unless they are.
fn bench(cases: Cases, names: Names, is_built: bool) -> Result<Bench> {
    let binary = |call: &Vec<String>| call.first().cloned();
    let wanted: BTreeSet<String> = cases.programs.values().filter_map(binary).collect();
    let target = cargo::target_directory()?;
    if !is_built {
        let mut packages = soft::packages(&[soft::SOFT]);
        packages.extend(wanted.iter().map(String::as_str));
        soft::place(&Built::packages(&packages, false)?, &target, &[soft::SOFT])?;
    }
    let place = |name: String| (name.clone(), target.join("debug").join(name));
    Ok(Bench {
        root: cargo::root()?,
        scratch: target.join("golden"),
        soft: target.join("soft"),
        binaries: wanted.into_iter().map(place).collect(),
        cases,
        names,
    })
}

/// Runs cases on all processors, or one by one with the time of each; the order is theirs.
fn run_all(
    bench: &Bench,
    cases: &[&Case],
    times: bool,
    out: &mut impl Write,
) -> Result<Vec<Outcome>> {
    if times {
        let mut outcomes = Vec::new();
        for case in cases {
            let before = cpu_s();
            outcomes.push(bench.values(case));
            writeln!(out, "{:7.2} CPU-s  {}", cpu_s() - before, case.id)?;
        }
        return Ok(outcomes);
    }
    Ok(parallel::map(cases, |case| bench.values(case)))
}

/// CPU seconds of all processes that this one started and that ended (proc(5), stat: cutime and cstime).
fn cpu_s() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    // Fields 16 and 17 of the line; the first behind the name is field 3.
    let ticks = after_name.split_whitespace().skip(13).take(2);
    ticks
        .filter_map(|field| field.parse::<f64>().ok())
        .sum::<f64>()
        / TICKS_PER_S
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_others_refused() {
        let parse =
            |words: &[&str]| Options::parse(&words.iter().map(OsString::from).collect::<Vec<_>>());
        let options = parse(&["--full", "explain/"]).unwrap();
        assert!(options.full && !options.write && options.only == "explain/");
        assert!(parse(&["--fast"]).is_none());
    }

    #[test]
    fn the_files_of_the_corpus_read() {
        let golden = cargo::root().unwrap().join("golden");
        let read = |name: &str| fs::read_to_string(golden.join(name)).unwrap();
        Moved::parse(&read("moved.toml")).unwrap();
        toml::from_str::<Names>(&read("names.toml")).unwrap();
        let cases = Cases::parse(&read("cases.toml")).unwrap();
        // Every value belongs to a case that is there.
        for id in values::read(&golden.join("values")).unwrap().keys() {
            assert!(cases.all.iter().any(|case| case.id == *id), "{id}");
        }
    }
}
