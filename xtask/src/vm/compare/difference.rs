//! How two answers are found to differ, and how a command's output is taken.
//!
//! A tool that failed agrees with nothing.

use std::collections::BTreeMap;
use std::fmt::Debug;

use anyhow::{Context, Result, ensure};

use crate::vm::qemu::{Section, Sections};

pub(super) fn section<'a>(sections: &'a Sections, name: &str) -> Result<&'a Section> {
    sections
        .get(name)
        .with_context(|| format!("the guest did not run {name}"))
}

/// The output of another tool, which must have worked.
pub(super) fn output<'a>(sections: &'a Sections, name: &str) -> Result<&'a str> {
    let section = section(sections, name)?;
    ensure!(
        section.code == 0,
        "{name} failed with {}: {}",
        section.code,
        section.messages
    );
    Ok(&section.output)
}

/// Fails where two maps differ, with the first entry that does.
pub(super) fn same_map<V: Debug + PartialEq>(
    ours: &BTreeMap<String, V>,
    theirs: &BTreeMap<String, V>,
) -> Result<()> {
    for key in ours.keys().chain(theirs.keys()) {
        same(key, &ours.get(key), &theirs.get(key))?;
    }
    Ok(())
}

pub(super) fn same<T: Debug + PartialEq>(what: &str, ours: &T, theirs: &T) -> Result<()> {
    ensure!(ours == theirs, "{what}: ours {ours:?}, not {theirs:?}");
    Ok(())
}

/// What the tests of the comparisons share.
#[cfg(test)]
pub(super) mod samples {
    use super::*;
    use crate::vm::machines::{MACHINES, Machine};

    /// What a guest would have written, all commands with exit code 0.
    pub(in crate::vm::compare) fn guest(parts: &[(&str, &str)]) -> Sections {
        let section = |(name, output): &(&str, &str)| {
            let output = (*output).to_owned();
            let section = Section {
                output,
                ..Section::default()
            };
            ((*name).to_owned(), section)
        };
        parts.iter().map(section).collect()
    }

    /// The difference that a comparison tells on the first machine.
    pub(in crate::vm::compare) fn difference(
        run: fn(&Machine, &Sections) -> Result<()>,
        sections: &Sections,
    ) -> Option<String> {
        run(&MACHINES[0], sections)
            .err()
            .map(|error| format!("{error:#}"))
    }

    pub(in crate::vm::compare) const NUMACTL: &str = "node 0 cpus: 0 1\nnode 0 size: 218 MB\nnode 1 cpus:\nnode 1 size: 251 MB\n\
                           node distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n";
}
