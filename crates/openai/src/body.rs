//! The body of an HTTP/1.1 reply out of bytes that were split anywhere: chunked, of a known length, or until the close.

use crate::{MAX_HEAD_BYTES, NotHttp};

/// How the end of a body is told (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// In chunks, each behind its size.
    Chunked,
    /// So many bytes.
    Length(u64),
    /// All until the server closes.
    UntilClose,
}

/// A body under way.
#[derive(Debug, Clone)]
pub struct Body(State);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In a chunk's size: the value and the digits so far.
    Size {
        value: u64,
        digits: u8,
    },
    /// Behind a chunk's size, where extensions may stand; so many bytes of them.
    Extension {
        value: u64,
        length: usize,
    },
    /// LF has to come behind CR, then the chunk.
    SizeEnd {
        value: u64,
    },
    /// In a chunk.
    Data {
        left: u64,
    },
    /// CR has to come behind a chunk.
    DataCr,
    /// LF has to come behind that CR.
    DataLf,
    /// In the trailer: bytes of all its lines, and of the present one.
    Trailer {
        length: usize,
        line: usize,
    },
    /// In a body of a known length.
    Length {
        left: u64,
    },
    UntilClose,
    Done,
}

impl Body {
    /// A body of which nothing came yet.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        Self(match framing {
            Framing::Chunked => State::Size {
                value: 0,
                digits: 0,
            },
            Framing::Length(0) => State::Done,
            Framing::Length(left) => State::Length { left },
            Framing::UntilClose => State::UntilClose,
        })
    }

    /// Whether all of it was there; bytes behind it are not of it.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0 == State::Done
    }

    /// Whether the close of the connection is its end.
    #[must_use]
    pub fn ends_with_connection(&self) -> bool {
        self.0 == State::UntilClose
    }

    /// Takes bytes from the front of `rest` and gives the next part of the body; `None` once all of them are taken or the body
    /// is done.
    ///
    /// # Errors
    /// Chunks are not framed as RFC 9112, section 7.1 says.
    pub fn next<'a>(&mut self, rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, NotHttp> {
        loop {
            match self.0 {
                State::Done => return Ok(None),
                State::UntilClose => {
                    let part = std::mem::take(rest);
                    return Ok((!part.is_empty()).then_some(part));
                }
                State::Data { left } => {
                    return Ok(self.part(rest, left, |left| match left {
                        0 => State::DataCr,
                        left => State::Data { left },
                    }));
                }
                State::Length { left } => {
                    return Ok(self.part(rest, left, |left| match left {
                        0 => State::Done,
                        left => State::Length { left },
                    }));
                }
                _ => {}
            }
            let Some((&byte, behind)) = rest.split_first() else {
                return Ok(None);
            };
            *rest = behind;
            self.0 = self.0.after(byte)?;
        }
    }

    fn part<'a>(
        &mut self,
        rest: &mut &'a [u8],
        left: u64,
        then: impl Fn(u64) -> State,
    ) -> Option<&'a [u8]> {
        let length = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
        if length == 0 {
            return None;
        }
        let (part, behind) = rest.split_at(length);
        *rest = behind;
        self.0 = then(left - length as u64);
        Some(part)
    }
}

impl State {
    /// What comes behind one byte of the framing.
    fn after(self, byte: u8) -> Result<Self, NotHttp> {
        match (self, byte) {
            (Self::Size { value, digits }, _) if byte.is_ascii_hexdigit() => {
                // 15 digits are 2^60 bytes.
                if digits == 15 {
                    return Err(NotHttp("a chunk's size is too large"));
                }
                let digit = (byte as char).to_digit(16).unwrap_or_default();
                Ok(Self::Size {
                    value: value << 4 | u64::from(digit),
                    digits: digits + 1,
                })
            }
            (Self::Size { digits: 0, .. }, _) => Err(NotHttp("a chunk has no size")),
            (Self::Size { value, .. } | Self::Extension { value, .. }, b'\r') => {
                Ok(Self::SizeEnd { value })
            }
            (Self::Size { value, .. }, b';' | b' ' | b'\t') => {
                Ok(Self::Extension { value, length: 1 })
            }
            (Self::Extension { value, length }, _) if byte != b'\n' && length < MAX_HEAD_BYTES => {
                Ok(Self::Extension {
                    value,
                    length: length + 1,
                })
            }
            (Self::SizeEnd { value: 0 }, b'\n') => Ok(Self::Trailer { length: 0, line: 0 }),
            (Self::SizeEnd { value }, b'\n') => Ok(Self::Data { left: value }),
            (Self::DataCr, b'\r') => Ok(Self::DataLf),
            (Self::DataLf, b'\n') => Ok(Self::Size {
                value: 0,
                digits: 0,
            }),
            (Self::Trailer { line: 0, .. }, b'\n') => Ok(Self::Done),
            (Self::Trailer { length, .. }, b'\n') => Ok(Self::Trailer { length, line: 0 }),
            // The CR of a blank line does not make it a longer one.
            (Self::Trailer { length, line: 0 }, b'\r') => Ok(Self::Trailer { length, line: 0 }),
            (Self::Trailer { length, line }, _) if length < MAX_HEAD_BYTES => Ok(Self::Trailer {
                length: length + 1,
                line: line + 1,
            }),
            _ => Err(NotHttp(
                "the reply's chunks are not framed as HTTP/1.1 says",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body however the bytes are cut, whether it is done, and how many bytes lie behind it.
    fn read(framing: Framing, bytes: &[u8], cut: usize) -> Result<(String, bool, usize), NotHttp> {
        let mut body = Body::new(framing);
        let (mut text, mut behind) = (Vec::new(), 0);
        for part in bytes.chunks(cut) {
            let mut rest = part;
            while let Some(part) = body.next(&mut rest)? {
                text.extend_from_slice(part);
            }
            behind += rest.len();
        }
        Ok((String::from_utf8(text).unwrap(), body.is_done(), behind))
    }

    #[test]
    fn bodies_are_the_same_wherever_the_bytes_are_cut() {
        let chunked = b"3\r\nabc\r\n00A ;x=\"1\"\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\nbehind";
        for cut in 1..=chunked.len() {
            // Three and ten bytes in chunks, a trailer, and six bytes that are not of the body.
            assert_eq!(
                read(Framing::Chunked, chunked, cut),
                Ok(("abc0123456789".to_owned(), true, 6)),
                "cut every {cut} bytes"
            );
            assert_eq!(
                read(Framing::Length(5), b"abcdefg", cut),
                Ok(("abcde".to_owned(), true, 2))
            );
            assert_eq!(
                read(Framing::UntilClose, b"abc", cut),
                Ok(("abc".to_owned(), false, 0))
            );
        }
        assert_eq!(
            read(Framing::Length(0), b"", 1),
            Ok((String::new(), true, 0))
        );
    }

    #[test]
    fn a_body_that_ends_early_is_not_done() {
        for (framing, text) in [
            (Framing::Chunked, "3\r\nabc\r\n"),
            (Framing::Chunked, "3\r\nabc\r\n0\r\n"),
            (Framing::Length(5), "abc"),
        ] {
            assert_eq!(
                read(framing, text.as_bytes(), 2),
                Ok(("abc".to_owned(), false, 0))
            );
        }
    }

    #[test]
    fn wrong_chunks_are_refused() {
        for text in [
            "\r\nabc",
            "xyz\r\n",
            "3\nabc",
            "3\r\nabcd\r\n",
            "1000000000000000\r\n",
            "3 \nabc",
        ] {
            assert!(
                read(Framing::Chunked, text.as_bytes(), 1).is_err(),
                "{text}"
            );
        }
    }
}
