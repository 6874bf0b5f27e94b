//! Several findings as one entry: what many rules or many devices say alike is said once.

use doctor::{Finding, Verdict};
use topology::PciAddress;

use super::text::{INDENT, counted, wrapped};

/// What several findings say in one entry.
struct Entry<'a> {
    first: &'a Finding,
    /// The rules that say so, each with the subjects it says it of.
    of: Vec<(&'a str, Vec<&'a str>)>,
    /// What they saw, the same one once.
    seen: Vec<&'a str>,
}

/// An entry for each thing that was seen, with the rules and subjects that it is said of. Reasons why something could not be told
/// that differ in the file or in a PCI address are one.
pub(super) fn brief(text: &mut String, verdict: Verdict, findings: &[&Finding]) {
    let is_folded = verdict == Verdict::CannotTell;
    let shape = |finding: &Finding| {
        let seen = &finding.seen;
        match is_folded {
            true => without_addresses(reason(seen).1),
            false => seen.clone(),
        }
    };
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for finding in findings {
        let is_same = |entry: &Entry<'_>| {
            (shape(entry.first), &entry.first.todo) == (shape(finding), &finding.todo)
        };
        let known = entries.iter().position(is_same);
        let place = known.unwrap_or(entries.len());
        if known.is_none() {
            entries.push(Entry {
                first: finding,
                of: Vec::new(),
                seen: Vec::new(),
            });
        }
        let Entry { of, seen, .. } = &mut entries[place];
        match of.iter_mut().find(|(rule, _)| *rule == finding.rule) {
            Some((_, subjects)) => subjects.push(&finding.subject),
            None => of.push((&finding.rule, vec![&finding.subject])),
        }
        if !seen.contains(&finding.seen.as_str()) {
            seen.push(&finding.seen);
        }
    }
    if !entries.is_empty() {
        text.push('\n');
    }
    for entry in entries {
        wrapped(text, verdict.word(), &entry.words(is_folded), INDENT);
        if let (true, Some(todo)) = (is_folded, &entry.first.todo) {
            wrapped(text, "  do", todo, INDENT);
        }
    }
}

impl Entry<'_> {
    /// `memlock, open-files: the reason`, or `large-bar of GPU0, GPU1 (2 findings): what was seen`.
    fn words(&self, is_folded: bool) -> String {
        let of = match &self.of[..] {
            [(rule, subjects)] if is_folded => format!("{rule} of {}", shortened(subjects)),
            [(rule, subjects)] => format!("{rule} of {}", counted(subjects)),
            several => {
                let rules: Vec<&str> = several.iter().map(|(rule, _)| *rule).collect();
                rules.join(", ")
            }
        };
        if !is_folded {
            return format!("{of}: {}", self.first.seen);
        }
        let mut files: Vec<&str> = Vec::new();
        for file in self.seen.iter().filter_map(|seen| reason(seen).0) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        let why = reason(&self.first.seen).1;
        match (files.len(), self.seen.len()) {
            (0, 1) => format!("{of}: {why}"),
            (0, seen) => format!("{of}: {why}, and alike at {} more addresses", seen - 1),
            _ => format!("{of}: {}: {why}", files.join(", ")),
        }
    }
}

/// The file that a reason begins with, and the reason itself.
fn reason(seen: &str) -> (Option<&str>, &str) {
    match seen.split_once(": ") {
        Some((file, why)) if file.starts_with('/') && !file.contains(' ') => (Some(file), why),
        _ => (None, seen),
    }
}

/// The words with each PCI address as a star.
fn without_addresses(words: &str) -> String {
    let plain = |word: &str| {
        let bare = word.trim_end_matches([':', ',', ';']);
        match bare.parse::<PciAddress>() {
            Ok(_) => "*".to_owned(),
            Err(_) => word.to_owned(),
        }
    };
    let words: Vec<String> = words.split_whitespace().map(plain).collect();
    words.join(" ")
}

/// As [`counted`], with the first of many only.
fn shortened(subjects: &[&str]) -> String {
    const SHOWN: usize = 6;
    if subjects.len() <= SHOWN {
        return counted(subjects);
    }
    format!("{} and others ({} findings)", subjects[0], subjects.len())
}
