//! What the ranks of a communicator are given to find each other.

use serde::{Deserialize, Serialize};

use crate::error::{DeviceError, Result};

/// What may be said of an id: whoever knows its bytes can join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdShape {
    /// How many bytes it has.
    pub bytes: usize,
    /// Whether all of them are 0, which no library should give.
    pub is_blank: bool,
}

/// The id of a communicator: bytes that only the library which made them understands; as text, lower-case hex digits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UniqueId(Vec<u8>);

/// How long it is: whoever has the bytes can join.
impl std::fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UniqueId({} bytes)", self.0.len())
    }
}

impl UniqueId {
    /// From the bytes of a library.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// What may be said of it.
    pub(super) fn shape(&self) -> IdShape {
        IdShape {
            bytes: self.0.len(),
            is_blank: self.0.iter().all(|byte| *byte == 0),
        }
    }

    /// Its bytes, where there are as many as a library's ids have.
    pub(crate) fn bytes<const N: usize>(&self, library: &'static str) -> Result<[u8; N]> {
        self.0
            .as_slice()
            .try_into()
            .map_err(|_| DeviceError::Argument {
                what: "the unique id",
                why: format!(
                    "it has {} bytes, and those of {library} have {N}",
                    self.0.len()
                ),
            })
    }
}

impl From<UniqueId> for String {
    fn from(id: UniqueId) -> Self {
        id.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl TryFrom<String> for UniqueId {
    type Error = DeviceError;

    fn try_from(text: String) -> Result<Self> {
        let digit = |digit: &u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let byte = |pair: &[u8]| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        bytes.map(Self).ok_or_else(|| DeviceError::Argument {
            what: "the unique id",
            why: format!("{text:?} is not made of pairs of lower-case hex digits"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_hex_text_and_comes_back() {
        let id = UniqueId::from_bytes(&[0x00, 0x0f, 0xa5, 0xff]);
        let text = serde_json::to_string(&id).unwrap();
        assert_eq!(text, "\"000fa5ff\"");
        assert_eq!(serde_json::from_str::<UniqueId>(&text).unwrap(), id);
        assert_eq!(id.bytes::<4>("x").unwrap(), [0x00, 0x0f, 0xa5, 0xff]);
        assert_eq!(format!("{id:?}"), "UniqueId(4 bytes)");
    }
}
