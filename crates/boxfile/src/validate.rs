//! Checks a box for sense, and builds the errors that say what is wrong. What is checked on the host's side is in `host`, on
//! the devices' side in `gpus`; syntax is the parser's matter.

mod collectives;
mod ends;
mod far;
mod faults;
mod gpus;
mod host;
mod nics;

use crate::{BoxError, BoxFile, Link, SCHEMA, Vendor};

type Check = Result<(), BoxError>;

/// Builds errors that name the file, the key and the value.
struct Keys<'a> {
    origin: &'a str,
}

impl Keys<'_> {
    fn refuse(&self, key: &str, value: impl ToString, problem: &str) -> BoxError {
        BoxError::Invalid {
            origin: self.origin.to_owned(),
            key: key.to_owned(),
            value: value.to_string(),
            problem: problem.to_owned(),
        }
    }

    fn require(&self, good: bool, key: &str, value: impl ToString, problem: &str) -> Check {
        if good {
            Ok(())
        } else {
            Err(self.refuse(key, value, problem))
        }
    }

    /// Every figure below a value: a table with a number `value`. Latencies may be 0, all else is above.
    fn figures(&self, key: &str, value: &toml::Value) -> Check {
        let below = |name: &str| match key {
            "" => name.to_owned(),
            key => format!("{key}.{name}"),
        };
        match value {
            toml::Value::Table(table) => {
                if let Some(number) = table.get("value").and_then(toml::Value::as_float) {
                    let (good, problem) = match key.ends_with("latency_us") {
                        true => (number >= 0.0, "a latency is a finite number, 0 or above"),
                        false => (number > 0.0, "a figure is a finite number above 0"),
                    };
                    return self.require(good && number.is_finite(), key, number, problem);
                }
                let mut members = table.iter();
                members.try_for_each(|(name, member)| self.figures(&below(name), member))
            }
            toml::Value::Array(elements) => {
                let mut each = elements.iter().enumerate();
                each.try_for_each(|(index, element)| {
                    self.figures(&format!("{key}[{index}]"), element)
                })
            }
            _ => Ok(()),
        }
    }

    fn link(&self, key: &str, link: Option<Link>) -> Check {
        let Some(link) = link else { return Ok(()) };
        let good = link.gigatransfers().is_some() && [1, 2, 4, 8, 12, 16, 32].contains(&link.width);
        self.require(
            good,
            key,
            link,
            "generations are 1 to 6, widths 1, 2, 4, 8, 12, 16 or 32",
        )
    }

    fn pci_id(&self, key: &str, id: &str) -> Check {
        let good = id
            .split_once(':')
            .is_some_and(|(vendor, device)| hex(vendor, 4) && hex(device, 4));
        self.require(
            good,
            key,
            id,
            "a PCI id is `vendor:device`, four hexadecimal digits each",
        )
    }
}

impl BoxFile {
    /// Checks everything that the format's types do not already ensure; `origin` is what errors show.
    ///
    /// # Errors
    /// [`BoxError::Invalid`] with the first offending key and its value.
    pub fn validate(&self, origin: &str) -> Result<(), BoxError> {
        let keys = Keys { origin };
        keys.require(
            self.schema == SCHEMA,
            "schema",
            self.schema,
            &format!("this program reads schema {SCHEMA}"),
        )?;
        let name_good = !self.name.is_empty()
            && self
                .name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        keys.require(
            name_good,
            "name",
            &self.name,
            "a name has letters, digits, `-`, `_` and `.`",
        )?;
        let written = toml::Value::try_from(self);
        let written = written.map_err(|error| keys.refuse("box", error, "it cannot be written"))?;
        keys.figures("", &written)?;
        keys.require(
            self.driver_staging_fraction.value <= 1.0,
            "driver_staging_fraction",
            self.driver_staging_fraction.value,
            "a part is at most 1",
        )?;
        keys.require(
            self.vendor == Vendor::HOST || !self.device.is_empty(),
            "device",
            "[]",
            "a box needs at least one [[device]] unless its vendor is \"host\"",
        )?;
        self.check_nodes(&keys)?;
        self.check_segments(&keys)?;
        self.check_tree(&keys)?;
        for (index, device) in self.device.iter().enumerate() {
            self.check_device(&keys, index, device)?;
        }
        self.check_nics(&keys)?;
        self.check_ends(&keys)?;
        self.check_far(&keys)?;
        self.check_peers(&keys)?;
        self.check_collectives(&keys)?;
        self.check_noise(&keys)?;
        for (index, fault) in self.fault.iter().enumerate() {
            self.check_fault(&keys, &format!("fault[{index}]"), fault)?;
        }
        Ok(())
    }
}

fn hex(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
