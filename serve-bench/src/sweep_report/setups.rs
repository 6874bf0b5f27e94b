//! What configurations are: their cards' links, and the machine that they are in.

use std::collections::BTreeMap;

use crate::sweep::{Plan, Setup};

/// Configurations by their labels.
#[derive(Debug, Default)]
pub(super) struct Setups(BTreeMap<String, Known>);

/// A configuration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    /// Its link, as written.
    pub(super) link: String,
    /// Lanes, and generation where it is reported.
    width: (u32, Option<u32>),
    /// Its machine.
    pub(super) machine: String,
}

impl Setups {
    /// Adds those of a plan.
    ///
    /// # Errors
    /// In words: a link that is none, or a label that is another thing already.
    pub(super) fn add_plan(&mut self, plan: &Plan) -> Result<(), String> {
        for (label, setup) in &plan.setups {
            self.add(label, setup)?;
        }
        Ok(())
    }

    /// Adds one of the command line.
    ///
    /// # Errors
    /// As [`Self::add_plan`].
    pub(super) fn add_flag(&mut self, text: &str) -> Result<(), String> {
        let wrong = || format!("--setup {text}: write LABEL=LINK@MACHINE, such as B=x8@ab");
        let (label, rest) = text.split_once('=').ok_or_else(wrong)?;
        let (link, machine) = rest.split_once('@').ok_or_else(wrong)?;
        if label.is_empty() || machine.is_empty() {
            return Err(wrong());
        }
        let setup = Setup {
            link: link.to_owned(),
            machine: machine.to_owned(),
        };
        self.add(label, &setup)
    }

    fn add(&mut self, label: &str, setup: &Setup) -> Result<(), String> {
        let known = Known {
            link: setup.link.clone(),
            width: width(&setup.link).ok_or_else(|| {
                format!(
                    "the link `{}` of {label} is none such as x8 or gen4 x16",
                    setup.link
                )
            })?,
            machine: setup.machine.clone(),
        };
        match self.0.insert(label.to_owned(), known.clone()) {
            Some(other) if other != known => Err(format!(
                "configuration {label} is {}@{} in one place and {}@{} in another",
                other.link, other.machine, known.link, known.machine
            )),
            _ => Ok(()),
        }
    }

    /// What a label is: of the whole label, else of what follows its number.
    pub(super) fn get(&self, label: &str) -> Option<&Known> {
        let kind = label.trim_start_matches(|c: char| c.is_ascii_digit());
        self.0.get(label).or_else(|| self.0.get(kind))
    }
}

impl Known {
    /// How much wider this link is than another; `None` where only one tells its generation.
    pub(super) fn over(&self, other: &Self) -> Option<f64> {
        let lanes = f64::from(self.width.0) / f64::from(other.width.0);
        match (self.width.1, other.width.1) {
            (None, None) => Some(lanes),
            // Each generation of PCIe doubles the rate of the one before.
            (Some(own), Some(its)) => {
                let generations = i32::try_from(own).ok()? - i32::try_from(its).ok()?;
                Some(lanes * 2f64.powi(generations))
            }
            _ => None,
        }
    }
}

/// Lanes and generation of a link such as `x16` or `gen5 x8`.
fn width(link: &str) -> Option<(u32, Option<u32>)> {
    let link = link.to_ascii_lowercase();
    let number = |text: &str| {
        let digits: String = text
            .trim()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits
            .parse::<u32>()
            .ok()
            .filter(|number| (1..=64).contains(number))
    };
    let lanes = link.rsplit_once('x').and_then(|(_, lanes)| number(lanes))?;
    let generation = link.split_once("gen").map(|(_, rest)| number(rest));
    match generation {
        Some(None) => None,
        Some(generation) => Some((lanes, generation)),
        None => Some((lanes, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_compared_by_lanes_and_generation() {
        let mut setups = Setups::default();
        for flag in ["A=x16@ab", "B=x8@ab", "C=gen5 x8@c", "1C=gen4x16@c"] {
            setups.add_flag(flag).unwrap();
        }
        let get = |label| setups.get(label).unwrap();
        assert_eq!(get("3A").over(get("2B")), Some(2.0));
        // Half the lanes at twice the rate.
        assert_eq!(get("4C").over(get("1C")), Some(1.0));
        assert_eq!(get("A").over(get("4C")), None);
        assert!(setups.get("D").is_none());
        for wrong in ["A", "A=x16", "=x16@m", "D=fast@m", "D=x0@m", "A=x8@ab"] {
            assert!(setups.add_flag(wrong).is_err(), "{wrong}");
        }
    }
}
