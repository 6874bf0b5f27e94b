//! Bytes of a log as lines of text, in bounded memory.
//!
//! A carriage return ends a piece of a line, as progress bars use it; colours and Ray's counts of repeated lines are taken out; what
//! is not UTF-8 becomes a replacement character; of a line only a beginning is kept. A line of arguments that a terminal wrapped is
//! one line.

use std::io::{self, Read};

use bounded::{other_encoding, pasted};

/// Bytes of one line that are kept. SGLang's line of arguments has about 12 KiB, vLLM's of its configuration 6.
const LONGEST: usize = 256 << 10;

/// How lines go on that hold an engine's arguments in brackets.
const ARGUMENTS: [&str; 4] = [
    "args: {",
    "args: Namespace(",
    "server_args=",
    "with config:",
];

/// How lines of engines' logs begin, also those of workers, such as `(EngineCore_0 pid=1812)`.
const BEGINS: [&str; 8] = [
    "INFO",
    "WARNING",
    "ERROR",
    "DEBUG",
    "[20",
    "20",
    "(APIServer",
    "(EngineCore",
];

/// Calls `each` with the number of each line, from 1, and its text, and gives the number of lines.
///
/// # Errors
/// The source cannot be read.
pub(super) fn lines(mut source: impl Read, each: impl FnMut(u64, &str)) -> io::Result<u64> {
    let mut wrapped = Wrapped { held: None, each };
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
                wrapped.piece(&mut piece, number);
                if end == b'\n' {
                    number += 1;
                    begun = false;
                }
            }
        }
    }
    wrapped.piece(&mut piece, number);
    wrapped.flush();
    Ok(if begun { number } else { number - 1 })
}

fn ends(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// Puts the lines of arguments together that a terminal or a paste wrapped.
struct Wrapped<F> {
    held: Option<(u64, String)>,
    each: F,
}

impl<F: FnMut(u64, &str)> Wrapped<F> {
    fn piece(&mut self, piece: &mut Vec<u8>, number: u64) {
        if piece.is_empty() {
            return;
        }
        let text = pasted::without_codes(&String::from_utf8_lossy(piece));
        piece.clear();
        let text = text
            .split_once(" [repeated ")
            .map_or(text.as_str(), |(text, _)| text);
        let begins = BEGINS.iter().any(|word| text.starts_with(word));
        match &mut self.held {
            Some((_, held))
                if (is_open(held) && !begins || is_unfinished(held) && has_settings(text))
                    && held.len() + text.len() <= LONGEST =>
            {
                held.push_str(text);
            }
            _ => {
                self.flush();
                self.held = Some((number, text.to_owned()));
            }
        }
        let is_whole = |held: &str| !is_open(held) && !is_unfinished(held);
        if self.held.as_ref().is_some_and(|(_, held)| is_whole(held)) {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if let Some((number, text)) = self.held.take() {
            (self.each)(number, &text);
        }
    }
}

/// Whether a line of arguments ends before its brackets do. What stands before the arguments may have a bracket of its own.
fn is_open(line: &str) -> bool {
    let begins = ARGUMENTS.iter().filter_map(|word| line.find(word)).min();
    let Some(arguments) = begins.and_then(|at| line.get(at..)) else {
        return false;
    };
    let count = |sign: &[char]| arguments.matches(sign).count();
    count(&['(', '{', '[']) > count(&[')', '}', ']'])
}

/// Whether a line of vLLM's configuration may go on: it has no brackets around it, but older versions end it with one.
fn is_unfinished(line: &str) -> bool {
    line.contains("with config: model=") && !line.trim_end().ends_with(')')
}

/// Whether a line begins in the middle of settings with commas between them, as the rest of a wrapped line does.
fn has_settings(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.contains('=') || first.starts_with(',') || first.ends_with(',')
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
    fn arguments_that_a_terminal_wrapped_are_one_line_and_rays_counts_go() {
        let (_, seen) = read(
            b"INFO args: {'model': 'Qwe\nn2', 'tp': 2}\nINFO b [repeated 3x across cluster]\n",
        );
        let said: Vec<_> = seen
            .iter()
            .map(|(number, line)| (*number, line.as_str()))
            .collect();
        assert_eq!(
            said,
            [(1, "INFO args: {'model': 'Qwen2', 'tp': 2}"), (3, "INFO b")]
        );
        let (_, cut) = read(b"server_args=ServerArgs(model='a\n[2026-01-28] b");
        assert_eq!(cut.len(), 2);
    }

    #[test]
    fn of_a_line_without_end_only_a_beginning_is_kept() {
        let text = vec![b'x'; LONGEST + 5];
        let (count, seen) = read(&text);
        assert_eq!((count, seen[0].1.len()), (1, LONGEST));
        assert_eq!(read(b"").0, 0);
    }
}
