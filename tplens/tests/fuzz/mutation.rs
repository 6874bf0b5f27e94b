//! Files that are changed so that they hurt: a seed makes the same file again.

use std::ops::Range;

use stats::SplitMix;

/// Numbers that readers stumble over.
const NUMBERS: [&str; 18] = [
    "0",
    "-0",
    "-1",
    "1e300",
    "-1e300",
    "1e-320",
    "1e999",
    "NaN",
    "Infinity",
    "1e11",
    "0.1",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "4294967296",
    "65536",
    "null",
    "\"1\"",
];

/// What must not reach a terminal, raw and as JSON writes it: ESC, CSI of 8 and of 16 bits, NUL, bidi controls, no UTF-8.
const TEXTS: [&[u8]; 14] = [
    b"\x1b[2J\x1b]0;x\x07",
    b"\xc2\x9b31m",
    b"\x9b31m",
    b"\0",
    b"\r",
    b"\x08\x7f",
    b"\xe2\x80\xae",
    b"\xe2\x81\xa6",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\\u001b[31m",
    b"\\u202e\\u0000",
    b"\\ud800",
    b"\xef\xbb\xbf",
];

/// What opens a level.
const OPENING: [&[u8]; 5] = [b"[", b"{\"a\":", b"(", b"[[", b"\""];

/// Bytes of a file at most: limits on sizes have tests of their own.
const MOST_BYTES: usize = 3 << 20;

/// Random numbers of one input of a reader.
pub(super) struct Random(SplitMix);

impl Random {
    pub(super) fn of(reader: &str, index: u64) -> Self {
        let name = reader.bytes().fold(0, |hash: u64, byte| {
            hash.wrapping_mul(31).wrapping_add(byte.into())
        });
        Self(SplitMix::new(name ^ SplitMix::new(index).next()))
    }

    /// A number below another, 0 where that is 0.
    fn below(&mut self, end: usize) -> usize {
        self.0.below(end.max(1))
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn range(&mut self, end: usize) -> Range<usize> {
        let from = self.below(end);
        from..from + self.below(end - from + 1)
    }
}

/// A sample after one to four changes.
pub(super) fn mutated(sample: &[u8], random: &mut Random) -> Vec<u8> {
    let mut file = sample.to_vec();
    for _ in 0..=random.below(4) {
        change(&mut file, random);
        file.truncate(MOST_BYTES);
    }
    file
}

fn change(file: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(file.len());
    match random.below(13) {
        0 => file.truncate(at),
        1 => drop(file.drain(random.range(file.len()))),
        2 => {
            let piece = file[random.range(file.len())].to_vec();
            insert(file, at, &piece);
        }
        3 => swap_lines(file, random),
        4 => {
            let line = line_at(file, at);
            let copies = (1 << random.below(12)).min(MOST_BYTES / line.len().max(1));
            let piece = file[line.clone()].repeat(copies);
            insert(file, line.start, &piece);
        }
        5..=7 => {
            let number = pieces(file, |byte| {
                byte.is_ascii_digit() || b".-+e".contains(&byte)
            });
            replace(file, &number, random.one(&NUMBERS).as_bytes(), random);
        }
        8 => {
            let word = pieces(file, |byte| byte.is_ascii_alphabetic() || byte == b'_');
            let text = random.one(&TEXTS);
            replace(file, &word, text, random);
        }
        9 => insert(file, at, random.one(&TEXTS)),
        10 => {
            let depth = 1 << random.below(18);
            let piece = random.one(&OPENING).repeat(depth);
            let number = pieces(file, |byte| byte.is_ascii_digit() || byte == b'.');
            replace(file, &number, &piece, random);
        }
        11 => {
            let size = 1 << random.below(21);
            let piece: &[u8] = random.one(&[b"0,", b"a", b" ", b"0.5 ", b"{},"]);
            insert(file, at, &piece.repeat(size / piece.len()));
        }
        _ => {
            if let Some(byte) = file.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
    }
}

fn insert(file: &mut Vec<u8>, at: usize, piece: &[u8]) {
    file.splice(at..at, piece.iter().copied());
}

/// Replaces one of some pieces.
fn replace(file: &mut Vec<u8>, pieces: &[Range<usize>], by: &[u8], random: &mut Random) {
    if !pieces.is_empty() {
        let piece = pieces[random.below(pieces.len())].clone();
        file.splice(piece, by.iter().copied());
    }
}

/// The longest pieces of such bytes.
fn pieces(file: &[u8], is_part: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    for (at, byte) in file.iter().enumerate() {
        match pieces.last_mut() {
            Some(piece) if is_part(*byte) && piece.end == at => piece.end = at + 1,
            _ if is_part(*byte) => pieces.push(at..at + 1),
            _ => {}
        }
    }
    pieces
}

/// The line that a byte is in, with its end.
fn line_at(file: &[u8], at: usize) -> Range<usize> {
    let start = file[..at].iter().rposition(|byte| *byte == b'\n');
    let end = file[at..].iter().position(|byte| *byte == b'\n');
    start.map_or(0, |start| start + 1)..end.map_or(file.len(), |end| at + end + 1)
}

fn swap_lines(file: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = file
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let (a, b) = (random.below(lines.len()), random.below(lines.len()));
    if !lines.is_empty() {
        lines.swap(a, b);
    }
    *file = lines.concat();
}
