//! [`Vendor`]: whose driver answers on a box, as a word. A new vendor needs no row here: which words have a driver, the registry
//! of `device` says.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Letters and digits of a word at most.
const LONGEST: usize = 16;

/// Whose driver answers on a box: a word of 1 to 16 lower-case letters and digits.
///
/// The vendors with a name here are those of which this crate itself knows something.
// `word` holds such a word, then zeros.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Vendor {
    word: [u8; LONGEST],
}

impl Vendor {
    /// NVIDIA, whose UUIDs have one form.
    pub const NVIDIA: Self = Self::named("nvidia");
    /// AMD, whose driver shows files of its own.
    pub const AMD: Self = Self::named("amd");
    /// MetaX, whose program tells its links.
    pub const METAX: Self = Self::named("metax");
    /// No GPU.
    pub const HOST: Self = Self::named("host");

    /// The vendor of a word; `None` where it is no such word.
    #[must_use]
    pub const fn of(word: &str) -> Option<Self> {
        let bytes = word.as_bytes();
        if bytes.is_empty() || bytes.len() > LONGEST {
            return None;
        }
        let mut own = [0; LONGEST];
        let mut at = 0;
        while at < bytes.len() {
            if !bytes[at].is_ascii_lowercase() && !bytes[at].is_ascii_digit() {
                return None;
            }
            own[at] = bytes[at];
            at += 1;
        }
        Some(Self { word: own })
    }

    /// A vendor as a constant.
    ///
    /// # Panics
    /// It is no such word; a constant then does not compile.
    #[must_use]
    pub const fn named(word: &str) -> Self {
        Self::of(word).expect("a vendor is a word of 1 to 16 lower-case letters and digits")
    }

    /// The word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let end = self.word.iter().position(|byte| *byte == 0);
        // Letters and digits are UTF-8.
        str::from_utf8(&self.word[..end.unwrap_or(LONGEST)]).unwrap_or_default()
    }
}

impl TryFrom<String> for Vendor {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let wrong = || {
            format!("vendor `{word}` is not a word of 1 to {LONGEST} lower-case letters and digits")
        };
        Self::of(&word).ok_or_else(wrong)
    }
}

impl From<Vendor> for String {
    fn from(vendor: Vendor) -> Self {
        vendor.as_str().to_owned()
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for Vendor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendor_is_a_short_word_of_lower_case_letters_and_digits() {
        // 16 letters are the most.
        for word in ["nvidia", "a", "x86", "abcdefghijklmnop"] {
            assert_eq!(Vendor::of(word).map(String::from).as_deref(), Some(word));
        }
        for word in ["", "NVIDIA", "a b", "a-b", "ä", "abcdefghijklmnopq"] {
            assert_eq!(Vendor::of(word), None, "{word}");
        }
        assert_eq!(Vendor::of("amd"), Some(Vendor::AMD));
        assert_ne!(Vendor::of("am"), Some(Vendor::AMD));
    }
}
