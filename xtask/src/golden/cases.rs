//! `golden/cases.toml`: which commands are run, and where each leaves its document.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use toml::Value;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// How each command of a case is called. It stands nowhere else.
    pub(super) program: BTreeMap<String, String>,
    /// Folders by name, below the repository's root: `{name}` in arguments.
    pub(super) path: BTreeMap<String, String>,
    pub(super) case: Vec<Case>,
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
    /// The word of this one.
    #[serde(skip)]
    pub(super) word: String,
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

/// A machine file, below the repository's root, and what is changed in it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edited {
    pub(super) from: String,
    edit: Vec<Edit>,
}

/// One change of all places that a path names. `*` stands for every element or member, a number for an element.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    at: String,
    /// The value in its place.
    set: Option<Value>,
    /// A number is multiplied by it.
    times: Option<f64>,
    /// It is added to a list, which is made where there is none.
    add: Option<Value>,
    /// It is taken out.
    #[serde(default)]
    drop: bool,
}

/// Reads the file's text, with a case for each word.
///
/// # Errors
/// It does not read, or an id has no group or stands twice.
pub(super) fn read(text: &str) -> Result<File> {
    let mut file: File = toml::from_str(text).context("cases.toml does not read")?;
    let mut all: BTreeMap<String, Case> = BTreeMap::new();
    for case in file.case {
        let once = [String::new()];
        let words: &[String] = if case.of.is_empty() { &once } else { &case.of };
        for word in words {
            let mut one = case.clone();
            (one.id, one.word) = (case.id.replace("{}", word), word.clone());
            ensure!(one.id.contains('/'), "{} has no group", one.id);
            let twice = all.insert(one.id.clone(), one);
            ensure!(twice.is_none(), "{} stands twice", case.id);
        }
    }
    file.case = all.into_values().collect();
    Ok(file)
}

impl Edited {
    /// The changed text.
    ///
    /// # Errors
    /// The text does not read, or an edit finds no place.
    pub(super) fn apply(&self, text: &str) -> Result<String> {
        let mut value = Value::Table(toml::from_str(text)?);
        for edit in &self.edit {
            let path: Vec<&str> = edit.at.split('.').collect();
            let places = edit.apply(&mut value, &path)?;
            ensure!(places > 0, "{} has no {}", self.from, edit.at);
        }
        Ok(toml::to_string(&value)?)
    }
}

impl Edit {
    /// Changes what the path names below a value, and counts the places.
    fn apply(&self, value: &mut Value, path: &[&str]) -> Result<usize> {
        let Some((name, rest)) = path.split_first() else {
            self.change(value)?;
            return Ok(1);
        };
        let mut places = 0;
        match value {
            Value::Table(table) => {
                if rest.is_empty() && self.drop {
                    return Ok(usize::from(table.remove(*name).is_some()));
                }
                if rest.is_empty() && self.times.is_none() && *name != "*" {
                    table.entry(*name).or_insert(Value::Array(Vec::new()));
                }
                for (key, member) in table.iter_mut() {
                    if *name == "*" || key == name {
                        places += self.apply(member, rest)?;
                    }
                }
            }
            Value::Array(elements) => {
                for (index, element) in elements.iter_mut().enumerate() {
                    if *name == "*" || index.to_string() == *name {
                        places += self.apply(element, rest)?;
                    }
                }
            }
            _ => {}
        }
        Ok(places)
    }

    fn change(&self, value: &mut Value) -> Result<()> {
        if let Some(set) = &self.set {
            *value = set.clone();
        } else if let Some(times) = self.times {
            let number: f64 = value.to_string().parse()?;
            *value = Value::Float(number * times);
        } else if let (Some(add), Value::Array(elements)) = (&self.add, &mut *value) {
            elements.push(add.clone());
        } else {
            bail!("{}: no such change of {value}", self.at);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_of_several_words_is_several_cases_and_its_machine_is_changed() {
        let file = read(
            "[program]\n[path]\n[[case]]\nid = 'plan/{}'\nof = ['a', 'b']\nrun = 'plan {}'\nkind = 'plan'\n\
             box = { from = 'x', edit = [{at='device.*.rate', times=0.5}, {at='fault', add={kind='hang'}}, {at='seed', set=7}, \
             {at='device.1.busy', drop=true}] }",
        );
        let cases = file.unwrap().case;
        let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(ids, ["plan/a", "plan/b"]);
        let machine = "seed = 1\n[[device]]\nrate = 10.0\n[[device]]\nrate = 20.0\nbusy = true\n";
        let text = cases[0].described.as_ref().unwrap().apply(machine).unwrap();
        let value: Value = Value::Table(toml::from_str(&text).unwrap());
        assert_eq!(value["device"][0]["rate"].as_float(), Some(5.0));
        assert_eq!(value["device"][1]["rate"].as_float(), Some(10.0));
        assert_eq!(value["device"][1].get("busy"), None);
        assert_eq!(value["fault"][0]["kind"].as_str(), Some("hang"));
        assert_eq!(value["seed"].as_integer(), Some(7));
    }
}
