//! Reads a log in one pass and in bounded memory: which lines matter, and which start of an engine they belong to.

use std::collections::HashMap;
use std::io::{self, Read};

use super::facts::{Counted, EngineLog, Said, Warned};
use super::lines::lines;
use super::rules::RULES;
use crate::engine::Engine;

/// Of each list as many entries are kept; a log has no use for more.
const MOST: usize = 64;

/// Signs of a line that are shown.
const SHOWN: usize = 200;

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
        let count = lines(source, |number, line| reading.line(&needles, number, line))?;
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

/// What was read so far.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) log: EngineLog,
    starts: u32,
    /// This start has its line of configuration already.
    pub(super) configured: bool,
    /// Tokens of a step that a line after the configuration said: they belong to the next start, if there is one.
    pub(super) next_tokens: Option<Said<u32>>,
}

/// The piece of a line that a rule looks at.
#[derive(Clone, Copy)]
pub(super) struct Hit<'a> {
    pub(super) number: u64,
    /// From the needle on.
    pub(super) found: &'a str,
    /// After the needle.
    pub(super) rest: &'a str,
}

impl Hit<'_> {
    pub(super) fn said<T>(&self, value: T) -> Said<T> {
        Said {
            value,
            line: self.number,
            text: shown(self.found),
        }
    }

    /// A fact that one key of a long line says.
    pub(super) fn keyed<T>(&self, key: &str, word: &str, value: T) -> Said<T> {
        Said {
            value,
            line: self.number,
            text: shown(&format!("{key}={word}")),
        }
    }
}

impl Reading {
    fn line(&mut self, needles: &Needles, number: u64, line: &str) {
        for (index, at) in needles.hits(line) {
            let rule = &RULES[index];
            let (Some(found), Some(rest)) = (line.get(at..), line.get(at + rule.needle.len()..))
            else {
                continue;
            };
            (rule.read)(
                self,
                rule,
                Hit {
                    number,
                    found,
                    rest,
                },
            );
        }
    }

    /// A line that an engine begins with: what was said before was of an earlier start.
    pub(super) fn start(&mut self, engine: Engine, hit: Hit<'_>) {
        let at = hit.number;
        self.log = EngineLog {
            engine: Some(hit.said(engine)),
            start_line: at,
            ..EngineLog::default()
        };
        self.starts = self.starts.saturating_add(1);
        self.configured = false;
        self.next_tokens = None;
    }

    /// A line that only this engine writes.
    pub(super) fn of(&mut self, engine: Engine, hit: Hit<'_>) {
        if self.log.engine.is_none() {
            self.log.engine = Some(hit.said(engine));
        }
    }

    pub(super) fn note(&mut self, note: String) {
        if self.log.notes.len() < MOST && !self.log.notes.contains(&note) {
            self.log.notes.push(note);
        }
    }

    /// Says a fact again or for the first time; where two lines differ the later holds, and that is noted.
    pub(super) fn say<T: PartialEq>(
        &mut self,
        name: &str,
        field: impl Fn(&mut EngineLog) -> &mut Option<Said<T>>,
        said: Said<T>,
    ) {
        let held = field(&mut self.log);
        let other = match held {
            Some(before) if before.value == said.value => return,
            Some(before) => Some((before.line, before.text.clone())),
            None => None,
        };
        let (line, text) = (said.line, said.text.clone());
        *held = Some(said);
        if let Some((before, words)) = other {
            self.note(format!(
                "{name}: line {before} says `{words}`, line {line} says `{text}`; the later holds"
            ));
        }
    }
}

/// Counts a line under a name; `add` at each.
pub(super) fn count(list: &mut Vec<Counted>, name: &str, add: u32, hit: Hit<'_>) {
    if let Some(entry) = list.iter_mut().find(|entry| entry.name == name) {
        entry.count = entry.count.saturating_add(add);
    } else if list.len() < MOST {
        list.push(Counted {
            name: name.to_owned(),
            count: add,
            line: hit.number,
            text: shown(hit.found),
        });
    }
}

/// Counts a warning.
pub(super) fn warn(list: &mut Vec<Warned>, meaning: &str, hit: Hit<'_>) {
    if let Some(entry) = list.iter_mut().find(|entry| entry.meaning == meaning) {
        entry.count = entry.count.saturating_add(1);
    } else if list.len() < MOST {
        list.push(Warned {
            meaning: meaning.to_owned(),
            count: 1,
            line: hit.number,
            text: shown(hit.found),
        });
    }
}

/// Adds a variable of the environment once.
pub(super) fn set_variable(list: &mut Vec<Said<String>>, said: Said<String>) {
    if list.len() < MOST && !list.iter().any(|known| known.value == said.value) {
        list.push(said);
    }
}

/// The beginning of a text, on one line and without control signs.
pub(super) fn shown(text: &str) -> String {
    let plain = |sign: char| if sign.is_control() { ' ' } else { sign };
    let mut signs = text.chars();
    let mut cut: String = signs.by_ref().take(SHOWN).map(plain).collect();
    if signs.next().is_some() {
        cut.push('…');
    }
    cut.trim_end().to_owned()
}
