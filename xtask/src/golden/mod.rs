//! `cargo xtask golden`: runs the commands of `golden/cases.toml` and compares their numbers and codes with `golden/values`.
//!
//! It compares no sentence. A value that moves fails; `--write` takes what moved, and cases that are new, into the values, whose
//! commit says why.

mod bench;
mod cases;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};

use self::bench::Bench;
use self::cases::Case;
use crate::cargo::{self, PROGRAM};
use crate::counts::Counts;
use crate::files;
use crate::soft;

/// Moves that are printed.
const AT_MOST: usize = 40;

/// What mathematical libraries of two systems may differ by.
const ROUNDING: f64 = 1e-9;

/// The first line of each file of values.
const HEAD: &str = "case\tname\tvalue\n";

/// The values by case and name.
type Values = BTreeMap<(String, String), String>;

/// What to run and what to do with it.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Also the cases that take long
    #[arg(long)]
    pub(crate) full: bool,
    /// Take the new values
    #[arg(long)]
    pub(crate) write: bool,
    /// Programs and simulated libraries are in the target folder already
    #[arg(long)]
    pub(crate) built: bool,
    /// Only cases whose id begins so
    #[arg(value_name = "PREFIX", default_value = "")]
    pub(crate) only: String,
}

/// Runs the cases, prints what moved and the counts, and writes the values where that was asked for and every case ran.
pub(crate) fn run(out: &mut impl Write, options: &Options) -> Result<Counts> {
    if !options.built {
        soft::install(soft::SOFT, &[PROGRAM], false)?;
    }
    let golden = cargo::root()?.join("golden");
    let bench = Bench::open(&golden)?;
    let old = read(&golden.join("values"))?;
    let begun = Instant::now();
    let is_asked =
        |case: &&Case| (options.full || !case.full) && case.id.starts_with(&options.only);
    let chosen: Vec<&Case> = bench.file.case.iter().filter(is_asked).collect();
    let (mut ran, mut new, mut bad) = (BTreeSet::new(), Values::new(), BTreeSet::new());
    for (case, outcome) in bench.run(&chosen) {
        match outcome {
            Ok(values) => {
                ran.insert(&case.id);
                let named = |(name, value)| ((case.id.clone(), name), value);
                new.extend(values.into_iter().map(named));
            }
            Err(error) => {
                writeln!(out, "{}: {error:#}", case.id)?;
                bad.insert(case.id.clone());
            }
        }
    }
    let is_written = options.write && bad.is_empty();

    let known: BTreeMap<&String, &Case> = bench
        .file
        .case
        .iter()
        .map(|case| (&case.id, case))
        .collect();
    let is_compared = |case: &String| ran.contains(case) || !known.contains_key(case);
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let (mut kept, mut moved) = (old.clone(), Vec::new());
    for key @ (case, name) in keys.into_iter().filter(|(case, _)| is_compared(case)) {
        let tolerance = known.get(case).map_or(0.0, |case| case.tolerance);
        let (before, now) = (old.get(key), new.get(key));
        // What lies within the tolerance stays as it was, and so does not creep.
        let Some((size, by)) = difference(before, now, tolerance.max(ROUNDING)) else {
            continue;
        };
        let [from, to] = [before, now].map(|value| value.map_or("-", String::as_str));
        moved.push((size, format!("  {by:>9}  {from} -> {to}  {case}  {name}")));
        match now {
            Some(now) => drop(kept.insert(key.clone(), now.clone())),
            None => drop(kept.remove(key)),
        }
        if !is_written {
            bad.insert(case.clone());
        }
    }
    moved.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    for (_, row) in moved.iter().take(AT_MOST) {
        writeln!(out, "{row}")?;
    }
    if is_written {
        write(&golden.join("values"), &kept)?;
        writeln!(out, "written: say in the commit why they moved")?;
    }
    let (cases, values, moved) = (chosen.len(), new.len(), moved.len());
    let s = begun.elapsed().as_secs_f64();
    writeln!(
        out,
        "{cases} cases, {values} values, {moved} moved; {s:.0} s"
    )?;
    let passed = chosen.iter().filter(|case| !bad.contains(&case.id)).count();
    Ok(Counts::of(passed as u64, bad.len() as u64))
}

/// By how much a value moved, as a part of it and in words, or how else it changed, which is the most; `None` where it is the same.
fn difference(old: Option<&String>, new: Option<&String>, tolerance: f64) -> Option<(f64, String)> {
    let otherwise = |how: &str| Some((f64::INFINITY, how.to_owned()));
    let (old, new) = match (old, new) {
        (None, _) => return otherwise("new"),
        (_, None) => return otherwise("gone"),
        (Some(old), Some(new)) if old == new => return None,
        (Some(old), Some(new)) => (old.parse::<f64>(), new.parse::<f64>()),
    };
    let (Ok(old), Ok(new)) = (old, new) else {
        return otherwise("word");
    };
    let (by, part) = (new - old, (new - old) / old.abs());
    let is_same = by.abs() <= tolerance * old.abs().max(new.abs());
    (!is_same).then(|| (part.abs(), format!("{:+.3}%", 100.0 * part)))
}

/// Reads the values of all files of a folder: a case, a name and a value a line.
fn read(folder: &Path) -> Result<Values> {
    let mut values = Values::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{}", folder.display()))? {
        let file = entry?.path();
        let text = files::read(&file)?;
        for line in text.lines().skip(HEAD.lines().count()) {
            let (case, rest) = line.split_once('\t').unwrap_or_default();
            let columns = rest.split_once('\t');
            let (name, value) = columns.with_context(|| format!("{}: `{line}`", file.display()))?;
            values.insert((case.to_owned(), name.to_owned()), value.to_owned());
        }
    }
    Ok(values)
}

/// Writes a file for each group, which is what stands before the slash of a case.
fn write(folder: &Path, values: &Values) -> Result<()> {
    let mut groups: BTreeMap<&str, String> = BTreeMap::new();
    for ((case, name), value) in values {
        let group = case.split('/').next().unwrap_or_default();
        let file = groups.entry(group).or_insert_with(|| HEAD.to_owned());
        file.push_str(&format!("{case}\t{name}\t{value}\n"));
    }
    files::empty(folder)?;
    for (group, text) in groups {
        fs::write(folder.join(format!("{group}.tsv")), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moved_is_found_with_its_percent() {
        let by = |old: Option<&str>, new: Option<&str>| {
            let [old, new] = [old, new].map(|value| value.map(str::to_owned));
            difference(old.as_ref(), new.as_ref(), 0.01).map(|(size, by)| {
                let is_number = by.ends_with('%') && by != "+inf%";
                assert_eq!(size.is_finite(), is_number, "{by}");
                by
            })
        };
        assert_eq!(by(Some("pass"), Some("pass")), None);
        assert_eq!(by(Some("200"), Some("199")), None);
        // (190 - 200) / 200 = -5%.
        assert_eq!(by(Some("200"), Some("190")).unwrap(), "-5.000%");
        assert_eq!(by(Some("0"), Some("1")).unwrap(), "+inf%");
        assert_eq!(by(Some("pass"), Some("fail")).unwrap(), "word");
        assert_eq!(by(Some("1"), None).unwrap(), "gone");
        assert_eq!(by(None, Some("1")).unwrap(), "new");
    }

    #[test]
    fn the_files_of_the_corpus_read_and_what_is_written_is_read_again() {
        let golden = cargo::root().unwrap().join("golden");
        let bench = Bench::open(&golden).unwrap();
        let values = read(&golden.join("values")).unwrap();
        // Every value belongs to a case that is there.
        for (id, _) in values.keys() {
            assert!(bench.file.case.iter().any(|case| case.id == *id), "{id}");
        }
        let folder = std::env::temp_dir().join(format!("xtask-golden-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        write(&folder, &values).unwrap();
        assert_eq!(read(&folder).unwrap(), values);
        fs::remove_dir_all(&folder).unwrap();
    }
}
