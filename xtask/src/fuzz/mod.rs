//! `cargo xtask fuzz`: hurtful files for every reader of the programs, by seed, and what a program may do with them.
//!
//! A program ends within ten seconds of CPU time and 500 MB, with a code that a reader may give, and writes no control character.
//! What it makes of a file is not looked at.

mod mutation;
mod readers;
mod run;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use self::mutation::{Random, mutated};
use self::readers::{READERS, Reader};
use self::run::{Limits, Ran};
use crate::cargo::{self, Built};
use crate::counts::Counts;
use crate::{parallel, programs};

/// Inputs of a reader in a test of everything, with the unchanged samples.
const FEW: u64 = 15;

/// Inputs of a reader with `--full`.
const MANY: u64 = 3000;

/// What is asked for.
#[derive(Default)]
pub(crate) struct Options {
    full: bool,
    /// The programs are built already.
    built: bool,
    /// A reader, and one of its inputs.
    only: Option<(String, Option<u64>)>,
}

impl Options {
    /// Reads `--full`, `--built` and `--only READER` or `--only READER:INDEX`; `None` for anything else.
    pub(crate) fn parse(arguments: &[OsString]) -> Option<Self> {
        let mut options = Self::default();
        let mut words = arguments.iter().map(|word| word.to_str());
        while let Some(word) = words.next() {
            match word? {
                "--full" => options.full = true,
                "--built" => options.built = true,
                "--only" => {
                    let only = words.next()??;
                    let (name, index) = match only.split_once(':') {
                        Some((name, index)) => (name, Some(index.parse().ok()?)),
                        None => (only, None),
                    };
                    READERS.iter().find(|reader| reader.name == name)?;
                    options.only = Some((name.to_owned(), index));
                }
                _ => return None,
            }
        }
        Some(options)
    }

    /// Everything, with few inputs or with many, by the programs that tests have built.
    pub(crate) fn all(full: bool) -> Self {
        Self {
            full,
            built: true,
            only: None,
        }
    }
}

/// Fuzzes the readers that were asked for, and writes a line for each and for each fault.
pub(crate) fn run(out: &mut impl Write, options: &Options) -> Result<Counts> {
    let is_wanted = |reader: &&Reader| {
        let only = options.only.as_ref();
        only.is_none_or(|(name, _)| name == reader.name)
    };
    let wanted: Vec<&Reader> = READERS.iter().filter(is_wanted).collect();
    let target = cargo::target_directory()?;
    if !options.built {
        Built::packages(&[programs::PACKAGE], false)?;
    }
    let folder = target.join("fuzz");
    fs::create_dir_all(&folder)?;
    let indexes = match &options.only {
        Some((_, Some(index))) => *index..index + 1,
        _ => 0..if options.full { MANY } else { FEW },
    };
    // Only what is started from here on.
    let _limits = Limits::set()?;
    let mut outcome = Counts::default();
    for reader in wanted {
        let fuzz = Fuzz {
            reader,
            program: target.join("debug").join(programs::PACKAGE),
            samples: samples(reader)?,
            folder: folder.clone(),
        };
        match fuzz.all(out, indexes.clone())? {
            true => outcome.passed += 1,
            false => outcome.failed += 1,
        }
    }
    Ok(outcome)
}

fn samples(reader: &Reader) -> Result<Vec<Vec<u8>>> {
    let root = cargo::root()?;
    let read = |path: &&str| fs::read(root.join(path)).with_context(|| format!("no sample {path}"));
    reader.samples.iter().map(read).collect()
}

/// A reader that is fuzzed.
struct Fuzz<'a> {
    reader: &'a Reader,
    program: PathBuf,
    samples: Vec<Vec<u8>>,
    /// Where files lie; those that show a fault stay.
    folder: PathBuf,
}

impl Fuzz<'_> {
    /// Runs inputs on all CPUs; whether none showed a fault.
    fn all(&self, out: &mut impl Write, indexes: std::ops::Range<u64>) -> Result<bool> {
        let indexes: Vec<u64> = indexes.collect();
        let ran = parallel::map(&indexes, |index| self.one(*index));
        let ran: Vec<Ran> = ran.into_iter().collect::<Result<_>>()?;
        let results: Vec<(u64, Ran)> = indexes.into_iter().zip(ran).collect();
        let mut codes: BTreeMap<i32, u64> = BTreeMap::new();
        let mut faults = 0;
        for (index, ran) in &results {
            if let Some(fault) = &ran.fault {
                faults += 1;
                writeln!(
                    out,
                    "{}:{index}: {fault}; {}",
                    self.reader.name,
                    self.kept(*index).display()
                )?;
            } else if let Some(code) = ran.code {
                *codes.entry(code).or_default() += 1;
            }
        }
        let slowest = results
            .iter()
            .map(|(_, ran)| ran.took)
            .max()
            .unwrap_or(Duration::ZERO);
        let codes: Vec<String> = codes
            .iter()
            .map(|(code, count)| format!("{count} of code {code}"))
            .collect();
        writeln!(
            out,
            "{:<17} {} inputs: {}, {faults} faults, slowest {:.2} s",
            self.reader.name,
            results.len(),
            codes.join(", "),
            slowest.as_secs_f64()
        )?;
        Ok(faults == 0)
    }

    /// Runs one input: the first are the samples as they are.
    fn one(&self, index: u64) -> Result<Ran> {
        let number = usize::try_from(index)?;
        let sample = &self.samples[number % self.samples.len()];
        let input = match number < self.samples.len() {
            true => sample.clone(),
            false => mutated(sample, &mut Random::of(self.reader.name, index)),
        };
        let folder = self.folder.join(format!("{}-{index}", self.reader.name));
        fs::create_dir_all(&folder)?;
        let file = self.kept(index);
        fs::write(&file, &input)?;
        let name = file.display().to_string();
        let root = cargo::root()?.display().to_string();
        let words = self.reader.arguments.iter();
        let arguments = words.map(|word| word.replace("{}", &name).replace("{root}", &root));
        let mut ran = run::run(&self.program, arguments, &folder)?;
        // A sample that is refused would fuzz nothing but the refusal.
        if number < self.samples.len() && ran.fault.is_none() && ran.code == Some(2) {
            ran.fault = Some("the sample is refused".to_owned());
        }
        if ran.fault.is_none() {
            fs::remove_dir_all(&folder)?;
        }
        Ok(ran)
    }

    /// The file of an input.
    fn kept(&self, index: u64) -> PathBuf {
        let folder = format!("{}-{index}", self.reader.name);
        self.folder.join(folder).join(self.reader.file)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_reader_has_a_name_of_its_own_and_samples() {
        let names: BTreeSet<&str> = READERS.iter().map(|reader| reader.name).collect();
        assert_eq!(names.len(), READERS.len());
        for reader in &READERS {
            assert!(!samples(reader).unwrap().is_empty(), "{}", reader.name);
            assert!(reader.arguments.iter().any(|word| word.contains("{}")));
        }
        let parse =
            |words: &[&str]| Options::parse(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(
            parse(&["--only", "serve-record:7"]).unwrap().only,
            Some(("serve-record".to_owned(), Some(7)))
        );
        assert!(parse(&["--only", "none"]).is_none() && parse(&["--all"]).is_none());
    }
}
