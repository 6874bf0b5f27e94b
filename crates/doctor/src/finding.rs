//! [`Finding`]: what one rule found on one subject, as data. Words for it stand in the page of its code.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Reading;

/// What a rule says of a subject, worst first.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumString,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Verdict {
    /// It breaks something, or costs a large part of what the machine can do.
    Bad,
    /// It may cost something, or needs a look.
    Warn,
    /// What would have to be read could not be.
    #[serde(rename = "cannot_tell")]
    Unknown,
    /// It was read and nothing speaks against it.
    Ok,
}

/// What one rule found on one subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's id, such as `large-bar`.
    pub rule: String,
    /// The code whose page says what it means and what to do: the rule's id, or that of a row of a table of known problems.
    pub code: String,
    /// Of what: `GPU0`, `GPU0-GPU1`, `mlx5_0 port 1`, `this machine`, `this process`.
    pub subject: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What was read.
    pub evidence: EvidenceList,
}

/// What was read, in the order in which it is printed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EvidenceList(pub Vec<Evidence>);

/// One value that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its name, such as `governor`; `detail` is the reason why something could not be read.
    pub name: String,
    /// The value.
    pub value: Value,
}

/// A value that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A number of things.
    Count(u64),
    /// Bytes.
    Bytes(u64),
    /// Yes or no.
    Flag(bool),
    /// A name, or a text of another program.
    Text(String),
    /// Several of them.
    List(Vec<String>),
}

/// The subject of what is the machine's.
pub(crate) const MACHINE: &str = "this machine";

impl Finding {
    /// Of the machine, with nothing that was read yet; [`crate::judge`] names the rule.
    pub(crate) fn of(verdict: Verdict) -> Self {
        Self {
            rule: String::new(),
            code: String::new(),
            subject: MACHINE.to_owned(),
            verdict,
            evidence: EvidenceList::default(),
        }
    }

    /// Read, and nothing speaks against it.
    pub(crate) fn ok() -> Self {
        Self::of(Verdict::Ok)
    }

    /// A warning where this holds, else ok.
    pub(crate) fn warn_if(is_fault: bool) -> Self {
        Self::of(if is_fault { Verdict::Warn } else { Verdict::Ok })
    }

    /// Not read, for this reason.
    pub(crate) fn unknown(why: impl Into<String>) -> Self {
        Self::of(Verdict::Unknown).with("detail", why.into())
    }

    /// Of this subject.
    pub(crate) fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// Of this row of a table of known problems.
    pub(crate) fn coded(mut self, code: &str) -> Self {
        code.clone_into(&mut self.code);
        self
    }

    /// With a value, where there is one.
    pub(crate) fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// With the file that was read.
    pub(crate) fn within<T>(self, reading: &Reading<T>) -> Self {
        self.with("in", reading.source.as_str())
    }

    /// With a value that was read.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.evidence.0.push(Evidence {
            name: name.to_owned(),
            value,
        });
        self
    }
}

impl EvidenceList {
    /// The value of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut named = self.0.iter().filter(|evidence| evidence.name == name);
        named.next().map(|evidence| &evidence.value)
    }
}

impl fmt::Display for EvidenceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, Evidence { name, value }) in self.0.iter().enumerate() {
            let between = if place == 0 { "" } else { ", " };
            match name.as_str() {
                "detail" => write!(f, "{between}{value}")?,
                name => write!(f, "{between}{name} {value}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Bytes(bytes) if *bytes >= 1 << 20 => write!(f, "{} MiB", bytes >> 20),
            Self::Bytes(bytes) => write!(f, "{bytes} bytes"),
            Self::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
            Self::Text(text) => f.write_str(text),
            Self::List(texts) if texts.is_empty() => f.write_str("none"),
            Self::List(texts) => f.write_str(&texts.join(", ")),
        }
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<String>> for Value {
    fn from(texts: Vec<String>) -> Self {
        Self::List(texts)
    }
}
