//! [`Finding`]: what one rule says of one subject. It prints nothing and decides no exit code.

use serde::{Deserialize, Serialize};

/// What a rule says of a subject, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It breaks something, or costs a large part of what the box can do.
    Bad,
    /// It may cost something, or needs a look.
    Warn,
    /// What would have to be read could not be.
    CannotTell,
    /// It was read and nothing speaks against it.
    Ok,
}

impl Verdict {
    /// All of them, worst first.
    pub const ALL: [Self; 4] = [Self::Bad, Self::Warn, Self::CannotTell, Self::Ok];

    /// The word that is printed.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Warn => "warn",
            Self::CannotTell => "cannot tell",
            Self::Ok => "ok",
        }
    }
}

/// What one rule says of one subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's id, such as `large-bar`.
    pub rule: String,
    /// Other rules that would say the same of the same cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Of what: `GPU0`, `GPU0-GPU1`, `mlx5_0 port 1`, `this machine`, `this process`.
    pub subject: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What was read and where; of [`Verdict::CannotTell`] the reason.
    pub seen: String,
    /// Why it matters.
    pub why: String,
    /// Who says so: an address or the name of a document.
    pub source: String,
    /// The command or setting that mends it, or lets it be told; `None` where there is nothing to do.
    pub todo: Option<String>,
}

impl Finding {
    /// Read, and nothing speaks against it.
    pub(crate) fn ok(subject: impl Into<String>, seen: impl Into<String>) -> Self {
        Self::new(subject, Verdict::Ok, seen)
    }

    /// Read, and it may cost something.
    pub(crate) fn warn(
        subject: impl Into<String>,
        seen: impl Into<String>,
        todo: impl Into<String>,
    ) -> Self {
        Self::new(subject, Verdict::Warn, seen).with_todo(todo)
    }

    /// Read, and it breaks something.
    pub(crate) fn bad(
        subject: impl Into<String>,
        seen: impl Into<String>,
        todo: impl Into<String>,
    ) -> Self {
        Self::new(subject, Verdict::Bad, seen).with_todo(todo)
    }

    /// Not read.
    pub(crate) fn cannot_tell(subject: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(subject, Verdict::CannotTell, reason)
    }

    /// With what to do.
    pub(crate) fn with_todo(mut self, todo: impl Into<String>) -> Self {
        self.todo = Some(todo.into());
        self
    }

    /// With the advice that can be followed, if any.
    pub(crate) fn with_advice(self, todo: Option<&str>) -> Self {
        match todo {
            Some(todo) => self.with_todo(todo),
            None => self,
        }
    }

    /// With a reason and a source of its own instead of the rule's.
    pub(crate) fn because(mut self, why: impl Into<String>, source: impl Into<String>) -> Self {
        (self.why, self.source) = (why.into(), source.into());
        self
    }

    fn new(subject: impl Into<String>, verdict: Verdict, seen: impl Into<String>) -> Self {
        Self {
            rule: String::new(),
            also: Vec::new(),
            subject: subject.into(),
            verdict,
            seen: seen.into(),
            why: String::new(),
            source: String::new(),
            todo: None,
        }
    }
}
