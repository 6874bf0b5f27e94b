//! Bytes of a log as lines of text, in bounded memory.
//!
//! A carriage return ends a piece of a line, as progress bars use it; colours are taken out; what is not UTF-8 becomes a
//! replacement character; of a line only a beginning is kept.

use std::io::{self, Read};

use bounded::other_encoding;

/// Bytes of one line that are kept. SGLang's line of arguments has about 12 KiB, vLLM's of its configuration 6.
const LONGEST: usize = 256 << 10;

/// Calls `each` with the number of each line, from 1, and its text, and gives the number of lines.
///
/// # Errors
/// The source cannot be read.
pub(super) fn lines(mut source: impl Read, mut each: impl FnMut(u64, &str)) -> io::Result<u64> {
    let mut buffer = vec![0; 64 << 10];
    let mut piece = Vec::new();
    let (mut number, mut begun) = (1, false);
    loop {
        let got = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let read = buffer.get(..got).unwrap_or_default();
        // Some shells of Windows write what a program prints so.
        let encoding = (number == 1 && !begun).then(|| other_encoding(read));
        if let Some(encoding) = encoding.flatten() {
            let why = format!("it is {encoding} text; save it as UTF-8");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        for part in read.split_inclusive(|byte| ends(*byte)) {
            let (text, end) = match part.split_last() {
                Some((end, text)) if ends(*end) => (text, Some(*end)),
                _ => (part, None),
            };
            let room = LONGEST.saturating_sub(piece.len());
            piece.extend_from_slice(text.get(..room).unwrap_or(text));
            begun = true;
            if let Some(end) = end {
                say(&mut piece, number, &mut each);
                if end == b'\n' {
                    number += 1;
                    begun = false;
                }
            }
        }
    }
    say(&mut piece, number, &mut each);
    Ok(if begun { number } else { number - 1 })
}

fn ends(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

fn say(piece: &mut Vec<u8>, number: u64, each: &mut impl FnMut(u64, &str)) {
    if !piece.is_empty() {
        if piece.contains(&0x1b) {
            without_colours(piece);
        }
        each(number, &String::from_utf8_lossy(piece));
        piece.clear();
    }
}

/// Takes out control sequences (ECMA-48): ESC, `[`, parameters, one final byte; of others the two bytes that begin them.
fn without_colours(piece: &mut Vec<u8>) {
    let mut plain = Vec::with_capacity(piece.len());
    let mut bytes = piece.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != 0x1b {
            plain.push(byte);
        } else if bytes.next() == Some(b'[') {
            // Parameters are below 0x40; the final byte ends the sequence, and so does the line.
            for byte in bytes.by_ref() {
                if byte >= 0x40 {
                    break;
                }
            }
        }
    }
    *piece = plain;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> (u64, Vec<(u64, String)>) {
        let mut seen = Vec::new();
        let count = lines(text, |number, line| seen.push((number, line.to_owned()))).unwrap();
        (count, seen)
    }

    #[test]
    fn a_progress_bar_is_one_line_in_pieces() {
        let (count, seen) = read(b"a\nbar: 0%\rbar: 100%\nc");
        assert_eq!(count, 3);
        let said: Vec<_> = seen
            .iter()
            .map(|(number, line)| (*number, line.as_str()))
            .collect();
        assert_eq!(said, [(1, "a"), (2, "bar: 0%"), (2, "bar: 100%"), (3, "c")]);
    }

    #[test]
    fn windows_line_ends_do_not_count_twice() {
        let (count, seen) = read(b"a\r\nb\r\n");
        assert_eq!(count, 2);
        assert_eq!(seen, [(1, "a".to_owned()), (2, "b".to_owned())]);
    }

    #[test]
    fn colours_are_taken_out_and_bytes_that_are_no_text_replaced() {
        let (_, seen) = read(b"\x1b[1;36m(Worker)\x1b[0;0m x\xff\x1b[");
        assert_eq!(seen, [(1, "(Worker) x\u{fffd}".to_owned())]);
    }

    #[test]
    fn of_a_line_without_end_only_a_beginning_is_kept() {
        let text = vec![b'x'; LONGEST + 5];
        let (count, seen) = read(&text);
        assert_eq!((count, seen[0].1.len()), (1, LONGEST));
        assert_eq!(read(b"").0, 0);
    }
}
