//! A machine file made from a shipped one, with something changed: what a case calls `box`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use toml::Value;

/// A file and what is changed in it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edited {
    /// The file, below the repository's root.
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

impl Edited {
    /// The text of the changed file.
    ///
    /// # Errors
    /// The file does not read, or an edit finds no place.
    pub(super) fn text(&self, root: &Path) -> Result<String> {
        let file = root.join(&self.from);
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("{} cannot be read", file.display()))?;
        let mut value = Value::Table(toml::from_str(&text)?);
        for edit in &self.edit {
            let path: Vec<&str> = edit.at.split('.').collect();
            let places = edit.apply(&mut value, &path)?;
            anyhow::ensure!(places > 0, "{} has no {}", self.from, edit.at);
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
                if rest.is_empty() && (self.add.is_some() || self.set.is_some()) && *name != "*" {
                    table
                        .entry(*name)
                        .or_insert_with(|| Value::Array(Vec::new()));
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

    fn edited(edits: &str) -> Value {
        let folder = std::env::temp_dir().join(format!("xtask-edit-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let machine = "seed = 1\n[[device]]\nrate = 10.0\n[[device]]\nrate = 20.0\nbusy = true\n";
        std::fs::write(folder.join("made.toml"), machine).unwrap();
        let edited: Edited =
            toml::from_str(&format!("from = 'made.toml'\nedit = [{edits}]")).unwrap();
        let text = edited.text(&folder);
        Value::Table(toml::from_str(&text.unwrap()).unwrap())
    }

    #[test]
    fn rates_faults_and_lists_are_changed() {
        let value = edited(
            "{at='device.*.rate', times=0.5}, {at='fault', add={kind='hang'}}, {at='seed', set=7}, {at='device.1.busy', drop=true}",
        );
        assert_eq!(value["device"][0]["rate"].as_float(), Some(5.0));
        assert_eq!(value["device"][1]["rate"].as_float(), Some(10.0));
        assert_eq!(value["device"][1].get("busy"), None);
        assert_eq!(value["fault"][0]["kind"].as_str(), Some("hang"));
        assert_eq!(value["seed"].as_integer(), Some(7));
    }
}
