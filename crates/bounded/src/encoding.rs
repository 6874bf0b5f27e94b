//! Texts of users in other encodings than UTF-8, which programs of Windows write: they are named, not read.

use std::io;

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
pub fn decoded(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(unmarked(bytes)?)
        .map_err(|_| invalid("it is no UTF-8 text; save it as UTF-8".to_owned()))
}

/// Bytes as text without the mark of its encoding; what is no UTF-8 in it is marked: a text cut inside a character has its other lines.
///
/// # Errors
/// As [`decoded`], where the encoding shows.
pub fn decoded_lossy(bytes: Vec<u8>) -> io::Result<String> {
    Ok(String::from_utf8(unmarked(bytes)?)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

fn unmarked(mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    if let Some(encoding) = other_encoding(&bytes) {
        return Err(invalid(format!("it is {encoding} text; save it as UTF-8")));
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_no_part_of_a_text_and_what_is_no_text_is_refused_or_marked() {
        let text = |bytes: &[u8]| decoded(bytes.to_vec()).ok();
        assert_eq!(text(b"\xef\xbb\xbf{}").as_deref(), Some("{}"));
        assert_eq!(text(b"{}").as_deref(), Some("{}"));
        assert_eq!((text(b"\xff\xfe{\0}\0"), text(b"a\xc3")), (None, None));
        assert_eq!(decoded_lossy(b"a\xc3".to_vec()).unwrap(), "a\u{fffd}");
        assert!(decoded_lossy(b"\xff\xfe{\0}\0".to_vec()).is_err());
    }

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
