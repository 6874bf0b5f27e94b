//! [`Reading`]: a value with the file that it comes from.

use topology::{Fact, Sysfs};

/// Something that was read, or why not, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading<T> {
    /// The file, as on the machine itself.
    pub source: String,
    /// What it says.
    pub value: Fact<T>,
}

impl<T> Reading<T> {
    /// A value that was read there.
    pub fn known(source: impl Into<String>, value: T) -> Self {
        Self {
            source: source.into(),
            value: Fact::Known(value),
        }
    }

    /// Nothing, for this reason.
    pub fn unknown(source: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            value: Fact::Unknown(why.into()),
        }
    }

    /// The value, or the file with the reason why it was not read.
    ///
    /// # Errors
    /// The reason.
    pub fn told(&self) -> Result<&T, String> {
        self.value
            .told()
            .map_err(|why| format!("{}: {why}", self.source))
    }

    /// What another function makes of the value; `None` from it is a value that is not understood.
    pub fn and_then<U>(self, what: impl FnOnce(&T) -> Option<U>) -> Reading<U> {
        let value = match self.value {
            Fact::Known(value) => what(&value).ok_or("its text is not understood").into(),
            Fact::Unknown(why) => Fact::Unknown(why),
        };
        Reading {
            source: self.source,
            value,
        }
    }
}

impl Reading<String> {
    /// The text of a file of the tree, given without the leading `/`.
    #[must_use]
    pub fn text(sysfs: &Sysfs, path: impl AsRef<str>) -> Self {
        let path = path.as_ref();
        let source = format!("/{path}");
        match sysfs.read_text(path) {
            Some(text) => Self::known(source, text),
            None => Self::unknown(source, "it is not shown, or not to this user"),
        }
    }
}
