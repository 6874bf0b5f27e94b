//! What was read of a log so far, and how a rule adds to it.

use super::facts::{Counted, EngineLog, Said, Warned};
use crate::engine::Engine;

/// Of each list as many entries are kept; a log has no use for more.
const MOST: usize = 64;

/// Signs of a line that are shown.
const SHOWN: usize = 200;

/// A row of the table of words: what a line holds, and what to read of it.
pub(super) struct Rule {
    pub(super) needle: &'static str,
    pub(super) read: fn(&mut Reading, &Rule, Hit<'_>),
    /// What a warning means; empty for all else.
    pub(super) meaning: &'static str,
}

pub(super) const fn rule(needle: &'static str, read: fn(&mut Reading, &Rule, Hit<'_>)) -> Rule {
    Rule {
        needle,
        read,
        meaning: "",
    }
}

pub(super) const fn warning(needle: &'static str, meaning: &'static str) -> Rule {
    Rule {
        needle,
        read: |reading, rule, hit| warn(&mut reading.log.warnings, rule.meaning, hit),
        meaning,
    }
}

/// What was read so far.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) log: EngineLog,
    pub(super) starts: u32,
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
