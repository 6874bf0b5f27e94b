//! `golden/cases.toml`: which commands are run, and where each leaves its document.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::edit::Edited;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// How each command is called: the binary, which is its package's name, too, and leading words. It stands nowhere else.
    program: BTreeMap<String, String>,
    /// Folders by name, below the repository's root: `{name}` in arguments.
    path: BTreeMap<String, String>,
    case: Vec<Case>,
}

/// How a document is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Form {
    #[default]
    Json,
    Csv,
    /// A table between blank lines or other text, for a program that writes no JSON: the first line with a column `batch` is its head.
    Table,
}

/// One case, or several that differ in a word.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// Group, slash, name; `{}` stands for the word of [`Case::of`].
    pub(super) id: String,
    /// Words of which each makes a case of its own.
    #[serde(default)]
    of: Vec<String>,
    /// What is run before it, in the same folder, and must end with 0: `PROGRAM ARGUMENTS`.
    #[serde(default)]
    pub(super) before: Vec<String>,
    /// `PROGRAM ARGUMENTS`: words between blanks. `{out}` is the case's own folder, `{box}` the file of [`Case::described`].
    pub(super) run: String,
    /// The kind of its document, as names.toml has it.
    pub(super) kind: String,
    /// The exit code.
    #[serde(default)]
    pub(super) exit: i32,
    /// How its document is written.
    #[serde(default)]
    pub(super) form: Form,
    /// The part of a number by which it may differ from run to run.
    #[serde(default)]
    pub(super) tolerance: f64,
    /// Whether only `--full` runs it.
    #[serde(default)]
    pub(super) full: bool,
    /// A machine file that is made for it.
    #[serde(default, rename = "box")]
    pub(super) described: Option<Edited>,
}

/// All cases and how their programs are called.
#[derive(Debug)]
pub(super) struct Cases {
    pub(super) programs: BTreeMap<String, Vec<String>>,
    pub(super) all: Vec<Case>,
}

impl Cases {
    /// Reads the file's text.
    ///
    /// # Errors
    /// It does not read, an id has no group or stands twice, or a program is not in the table.
    pub(super) fn parse(text: &str) -> Result<Cases> {
        let file: File = toml::from_str(text).context("cases.toml does not read")?;
        let words = |text: &String| text.split_whitespace().map(str::to_owned).collect();
        let programs: BTreeMap<String, Vec<String>> = file
            .program
            .iter()
            .map(|(name, call)| (name.clone(), words(call)))
            .collect();
        let all = file.case.iter().flat_map(Case::each);
        let all: Vec<Case> = all.map(|case| case.in_folders(&file.path)).collect();
        let mut ids = std::collections::BTreeSet::new();
        for case in &all {
            ensure!(case.id.contains('/'), "{} has no group", case.id);
            ensure!(ids.insert(&case.id), "{} stands twice", case.id);
            for command in case.before.iter().chain([&case.run]) {
                let name = command.split_whitespace().next().unwrap_or_default();
                let call = programs.get(name);
                ensure!(
                    call.is_some_and(|words| !words.is_empty()),
                    "{}: [program] has no {name}",
                    case.id
                );
            }
        }
        Ok(Cases { programs, all })
    }
}

impl Case {
    /// One case for each word of [`Case::of`].
    fn each(&self) -> Vec<Case> {
        if self.of.is_empty() {
            return vec![self.clone()];
        }
        let filled = |word: &String| {
            let fill = |text: &String| text.replace("{}", word);
            let mut case = self.clone();
            case.id = fill(&self.id);
            case.run = fill(&self.run);
            case.before = self.before.iter().map(fill).collect();
            if let Some(described) = &mut case.described {
                described.from = fill(&described.from);
            }
            case
        };
        self.of.iter().map(filled).collect()
    }

    /// The case with folders in place of their names.
    fn in_folders(mut self, paths: &BTreeMap<String, String>) -> Case {
        for (name, folder) in paths {
            let name = format!("{{{name}}}");
            for text in self.before.iter_mut().chain([&mut self.run]) {
                *text = text.replace(&name, folder);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str =
        "[program]\nplan = 'tplens allreduce --plan'\n[path]\nmodels = 'golden/models'\n";

    #[test]
    fn a_case_of_several_words_is_several_cases() {
        let text = "[[case]]\nid = 'plan/{}'\nof = ['a', 'b']\nrun = 'plan --model {models}/{} {out}'\nkind = 'plan'\n";
        let cases = Cases::parse(&format!("{PROGRAM}{text}")).unwrap();
        let ids: Vec<&str> = cases.all.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(ids, ["plan/a", "plan/b"]);
        assert_eq!(cases.all[1].run, "plan --model golden/models/b {out}");
        assert_eq!(cases.programs["plan"], ["tplens", "allreduce", "--plan"]);
    }
}
