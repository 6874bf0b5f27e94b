//! Inputs for the readers of links: valid files, changed where a writer, a disk or a hand could change them.
//!
//! The generator is seeded by the input's number, so that a number is enough to make an input again.

/// Marsaglia's xorshift64* generator (Vigna, 2016); the seed is stirred first, so that neighbours differ.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(number: u64) -> Self {
        let mut dice = Self(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..4).for_each(|_| {
            dice.roll();
        });
        dice
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`, which is not zero.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() % limit.max(1) as u64).unwrap_or_default()
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// What a number is replaced by.
const NUMBERS: [&str; 16] = [
    "0",
    "-1",
    "0.00",
    "1e308",
    "1e999",
    "-0",
    "nan",
    "inf",
    "N/A",
    "18446744073709551616",
    "4294967296",
    "1e-320",
    "0x10",
    "",
    "null",
    "99999999999999999999999999",
];

/// What a word is replaced by.
const WORDS: [&str; 18] = [
    "host_to_device_memcpy_ce",
    "device_to_device_bidirectional_memcpy_read_ce",
    "all_to_one_read_sm",
    "device_to_device_latency_sm",
    "share_0_1",
    "share_18446744073709551616",
    "Running",
    "Waived",
    "Error",
    "bandwidth_matrix",
    "nvbandwidth",
    "header",
    "host",
    "all",
    "\u{1b}[2J",
    "device",
    "total",
    "null",
];

/// Pieces that mean something to one of the readers.
const PIECES: [&str; 16] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "\n",
    "\n\n",
    "\t",
    "N/A",
    "Running x.\n",
    "Waived: \n",
    "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n",
    "\u{0}",
    "é",
];

/// An input: one of the files, changed up to eight times.
pub(crate) fn input(number: u64, files: &[String]) -> String {
    let mut dice = Dice::new(number);
    let mut text = files[dice.below(files.len())].clone();
    for _ in 0..=dice.below(8) {
        text = changed(&mut dice, text, files);
    }
    text
}

fn changed(dice: &mut Dice, text: String, files: &[String]) -> String {
    match dice.below(11) {
        0 => cut(dice, text),
        1 => lines(dice, &text, |lines, at, _| {
            lines.remove(at);
        }),
        2 => lines(dice, &text, |lines, at, _| lines.insert(at, lines[at])),
        3 => lines(dice, &text, |lines, at, to| lines.swap(at, to)),
        4 | 5 => replaced(
            dice,
            &text,
            |c| c.is_ascii_digit() || ".-+e".contains(c),
            &NUMBERS,
        ),
        6 | 7 => replaced(dice, &text, |c| c.is_alphanumeric() || c == '_', &WORDS),
        8 => {
            let at = place(dice, &text);
            let piece = dice.of(&PIECES).repeat(1 + dice.below(3));
            [&text[..at], &piece, &text[at..]].concat()
        }
        9 => {
            // The beginning of one file and the end of another.
            let other = &files[dice.below(files.len())];
            let (here, there) = (place(dice, &text), place(dice, other));
            [&text[..here], &other[there..]].concat()
        }
        _ => {
            let mut bytes = text.into_bytes();
            if !bytes.is_empty() {
                let at = dice.below(bytes.len());
                bytes[at] = u8::try_from(dice.below(256)).unwrap_or_default();
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }
}

/// A place between two characters.
fn place(dice: &mut Dice, text: &str) -> usize {
    let at = dice.below(text.len() + 1);
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

fn cut(dice: &mut Dice, mut text: String) -> String {
    let at = place(dice, &text);
    text.truncate(at);
    text
}

fn lines(dice: &mut Dice, text: &str, change: fn(&mut Vec<&str>, usize, usize)) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if !lines.is_empty() {
        let (at, to) = (dice.below(lines.len()), dice.below(lines.len()));
        change(&mut lines, at, to);
    }
    lines.concat()
}

/// Replaces the run of such characters that is nearest after some place.
fn replaced(dice: &mut Dice, text: &str, is_part: fn(char) -> bool, by: &[&str]) -> String {
    let from = place(dice, text);
    let Some(start) = text[from..].find(is_part).map(|at| from + at) else {
        return text.to_owned();
    };
    let length = text[start..]
        .find(|c| !is_part(c))
        .unwrap_or(text.len() - start);
    [&text[..start], dice.of(by), &text[start + length..]].concat()
}
