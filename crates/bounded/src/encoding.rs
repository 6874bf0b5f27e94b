//! Texts of users in other encodings than UTF-8, which programs of Windows write: they are named, not read.

use std::io;

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A text without the mark of its encoding, which is no part of it.
#[must_use]
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// The encoding of a text that is in another one than UTF-8: by its mark, or by the zeros beside its first letters.
#[must_use]
pub fn other_encoding(text: &[u8]) -> Option<&'static str> {
    // The mark of UTF-32 begins as that of UTF-16 does.
    if text.starts_with(b"\xff\xfe\0\0") || text.starts_with(b"\0\0\xfe\xff") {
        return Some("UTF-32");
    }
    if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        return Some("UTF-16");
    }
    let [a, b, c, d, ..] = text else {
        return None;
    };
    match [*a, *b, *c, *d].map(|byte| byte == 0) {
        [false, true, true, true] | [true, true, true, false] => Some("UTF-32"),
        [false, true, false, true] | [true, false, true, false] => Some("UTF-16"),
        _ => None,
    }
}

/// Bytes as text without the mark of its encoding.
///
/// # Errors
/// They are in another encoding, which the error names.
pub(super) fn decoded(bytes: Vec<u8>) -> io::Result<String> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if let Some(encoding) = other_encoding(&bytes) {
        return Err(invalid(format!("it is {encoding} text; save it as UTF-8")));
    }
    let text = std::str::from_utf8(without_mark(&bytes));
    text.map(str::to_owned)
        .map_err(|_| invalid("it is no UTF-8 text; save it as UTF-8".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_by_their_marks_or_their_zeros() {
        for (text, encoding) in [
            (&b"{\"a\": 1}"[..], None),
            (b"\xef\xbb\xbf{}", None),
            (b"{", None),
            (b"\xff\xfe{\0}\0", Some("UTF-16")),
            (b"\0{\0}", Some("UTF-16")),
            (b"\xff\xfe\0\0{\0\0\0", Some("UTF-32")),
            (b"\0\0\xfe\xff\0\0\0{", Some("UTF-32")),
            (b"{\0\0\0}\0\0\0", Some("UTF-32")),
        ] {
            assert_eq!(other_encoding(text), encoding, "{text:?}");
        }
    }
}
