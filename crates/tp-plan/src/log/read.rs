//! Reads a log in one pass and in bounded memory: which lines matter, and which start of an engine they belong to.

use std::collections::HashMap;
use std::io::{self, Read};

use super::facts::EngineLog;
use super::lines::lines;
use super::reading::{Hit, Reading};
use super::rules::RULES;

impl EngineLog {
    /// Reads a log from memory.
    #[must_use]
    pub fn read(text: &str) -> Self {
        // A slice can always be read.
        Self::read_from(text.as_bytes()).unwrap_or_default()
    }

    /// Reads a log of any length: of several starts the last counts, and bytes that are no text do not matter.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn read_from(source: impl Read) -> io::Result<Self> {
        let needles = Needles::new();
        let mut reading = Reading::default();
        let count = lines(source, |number, line| {
            read_line(&mut reading, &needles, number, line)
        })?;
        let mut log = reading.log;
        log.lines = count;
        log.starts = reading.starts;
        if reading.starts > 1 {
            log.notes.insert(
                0,
                format!(
                    "the log holds {} starts of an engine; all is said of the last, from line {}",
                    reading.starts, log.start_line
                ),
            );
        }
        Ok(log)
    }

    /// Whether any line told something.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let blank = Self {
            lines: self.lines,
            ..Self::default()
        };
        *self == blank
    }
}

/// The needles by their first byte, so that a line is looked at once and not once for each rule.
struct Needles {
    by_first: HashMap<u8, Vec<usize>>,
    is_first: [bool; 256],
}

impl Needles {
    fn new() -> Self {
        let mut by_first: HashMap<u8, Vec<usize>> = HashMap::new();
        let mut is_first = [false; 256];
        for (index, rule) in RULES.iter().enumerate() {
            if let Some(first) = rule.needle.bytes().next() {
                by_first.entry(first).or_default().push(index);
                is_first[usize::from(first)] = true;
            }
        }
        Self { by_first, is_first }
    }

    /// Rules whose needle is in the line, each with the place of the first.
    fn hits(&self, line: &str) -> Vec<(usize, usize)> {
        let bytes = line.as_bytes();
        let mut hits: Vec<(usize, usize)> = Vec::new();
        for (at, byte) in bytes.iter().enumerate() {
            if !self.is_first[usize::from(*byte)] {
                continue;
            }
            for index in self.by_first.get(byte).into_iter().flatten() {
                let needle = RULES[*index].needle.as_bytes();
                if bytes[at..].starts_with(needle) && !hits.iter().any(|(seen, _)| seen == index) {
                    hits.push((*index, at));
                }
            }
        }
        hits
    }
}

fn read_line(reading: &mut Reading, needles: &Needles, number: u64, line: &str) {
    for (index, at) in needles.hits(line) {
        let rule = &RULES[index];
        let (Some(found), Some(rest)) = (line.get(at..), line.get(at + rule.needle.len()..)) else {
            continue;
        };
        (rule.read)(
            reading,
            rule,
            Hit {
                number,
                found,
                rest,
            },
        );
    }
}
