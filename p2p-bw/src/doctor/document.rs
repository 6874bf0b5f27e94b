//! The findings of `doctor` as a document: what is wrong first, each with what to do.

use std::collections::BTreeMap;

use doctor::{Finding, Verdict, Version};
use serde::Serialize;
use view::{Block, Document, Item, Next, Section, Table, Tone, codes, counted};

/// The findings and where they come from, as they are printed.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    /// 1.
    pub(super) schema: u32,
    /// `this machine`, `simulated machine l40x4`, or a folder.
    pub(super) source: String,
    /// Whether it is a simulated machine.
    pub(super) simulated: bool,
    /// How many GPUs there are.
    pub(super) gpus: usize,
    /// What drivers and libraries say of themselves.
    pub(super) versions: Vec<Version>,
    /// How many findings there are of each verdict.
    pub(super) counts: BTreeMap<Verdict, usize>,
    /// The findings, the worst first.
    pub(super) findings: Vec<Finding>,
    /// Rules that found nothing to look at.
    pub(super) not_applicable: Vec<&'static str>,
}

/// Things to do that a screen lists.
const MOST: usize = 4;

/// The command that reads links under load.
const WATCH: &str = "tplens monitor";

/// Rules that could not be read that a screen lists.
const MOST_UNREAD: usize = 4;

/// All findings; those that are ok as a count, and as a detail.
///
/// Commands to go on with are for the simulated machine that was asked for, if it was one.
pub(super) fn document(shown: &Shown, sim: Option<&str>) -> Document {
    let faults: Vec<Group<'_>> = groups(shown, &[Verdict::Bad, Verdict::Warn]);
    let is_bad = |group: &&Group<'_>| group.first.verdict == Verdict::Bad;
    let bad = faults.iter().filter(is_bad).count();
    let (tone, head) = match (bad, faults.len() - bad) {
        (0, 0) => (Tone::Good, "Nothing wrong found".to_owned()),
        (0, warn) => (Tone::Warning, format!("None wrong, {warn} to look at")),
        (_, 0) => (Tone::Bad, format!("{bad} wrong")),
        (_, warn) => (Tone::Bad, format!("{bad} wrong, {warn} to look at")),
    };
    let ok = counted(shown.counts[&Verdict::Ok], "check");
    let none = if shown.gpus == 0 { "No GPU. " } else { "" };
    let mut next: Vec<Next> = Vec::new();
    for group in &faults {
        let code = &group.first.code;
        let text = codes::todo(code).map(|todo| format!("{code}: {todo}"));
        let text = text.map(|text| match sim {
            Some(name) => text.replace(WATCH, &format!("{WATCH} --sim {name}")),
            None => text,
        });
        let text = text.filter(|text| !next.iter().any(|known| known.text == *text));
        next.extend(text.map(Next::plain));
    }
    next.truncate(MOST);
    let mut findings: Vec<Item> = faults.iter().map(Group::item).collect();
    findings.extend(unread(shown));
    let of = |verdict| vec![Block::Table(table(&groups(shown, &[verdict])))];
    let mut sections = vec![
        Section::detail("Could not be read", of(Verdict::Unknown)),
        Section::detail("Ok", of(Verdict::Ok)),
    ];
    let version = |one: &Version| format!("{} {} ({})", one.component, one.text, one.source);
    if !shown.versions.is_empty() {
        let versions = Block::list(shown.versions.iter().map(version));
        sections.push(Section::detail("Versions", vec![versions]));
    }
    Document {
        title: format!("Doctor: {}", shown.source),
        simulated: shown
            .simulated
            .then(|| shown.source.replace("simulated machine ", "")),
        tone,
        answer: vec![format!("{none}{head}; {ok} ok.")],
        findings,
        next,
        sections,
        ..Document::default()
    }
}

/// What could not be read, in one line; the table says why.
fn unread(shown: &Shown) -> Option<Item> {
    let unread = groups(shown, &[Verdict::Unknown]);
    let mut rules: Vec<&str> = unread.iter().map(|of| of.first.rule.as_str()).collect();
    rules.dedup();
    let count = shown.counts[&Verdict::Unknown];
    let more = rules.len().saturating_sub(MOST_UNREAD);
    let more = (more > 0).then(|| format!(" and {more} more"));
    rules.truncate(MOST_UNREAD);
    let (rules, more) = (rules.join(", "), more.unwrap_or_default());
    let text = format!("{count} could not be read (-v says why): {rules}{more}.");
    (count > 0).then(|| Item::plain(text))
}

/// Findings of one rule with the same sight, and what they are of.
struct Group<'a> {
    first: &'a Finding,
    subjects: Vec<&'a str>,
}

fn groups<'a>(shown: &'a Shown, verdicts: &[Verdict]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in &shown.findings {
        if !verdicts.contains(&finding.verdict) {
            continue;
        }
        let is_same = |group: &&mut Group<'_>| {
            let first = group.first;
            let same = (&first.code, first.verdict) == (&finding.code, finding.verdict);
            same && first.evidence == finding.evidence
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.subjects.push(&finding.subject),
            None => groups.push(Group {
                first: finding,
                subjects: vec![&finding.subject],
            }),
        }
    }
    groups
}

impl Group<'_> {
    fn item(&self) -> Item {
        let tone = match self.first.verdict {
            Verdict::Bad => Tone::Bad,
            _ => Tone::Warning,
        };
        let Finding { code, evidence, .. } = self.first;
        let line = codes::line(code).trim_end_matches('.');
        let item = Item::of(tone, format!("{}: {line} ({evidence}).", self.subjects()));
        match codes::all().find(|(known, _)| known == code) {
            Some((code, _)) => item.coded(code),
            None => item,
        }
    }

    fn subjects(&self) -> String {
        match self.subjects.as_slice() {
            [first, second, third, rest @ ..] if rest.len() > 1 => {
                format!("{first}, {second}, {third} and {} more", rest.len())
            }
            few => few.join(", "),
        }
    }
}

fn table(groups: &[Group<'_>]) -> Table {
    let mut table = Table::under(["rule", "of", "seen"]);
    for group in groups {
        let first = group.first;
        table.row([
            first.rule.clone(),
            group.subjects(),
            first.evidence.to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use doctor::RULES;

    use super::*;

    #[test]
    fn every_rule_has_a_page() {
        for rule in RULES {
            assert!(codes::page(rule.id).is_some(), "{}", rule.id);
        }
    }
}
