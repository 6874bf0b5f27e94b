//! The findings as text: what is bad first, each with what was seen, why it matters and what to do; what is ok as a count.

use std::fmt::Write as _;

use doctor::{Finding, RULES, Verdict};
use measure::control::replaced;

use super::shown::{Counts, Shown};

/// The longest line.
const WIDTH: usize = 100;
/// Where the words behind `seen`, `why` and so on begin.
const INDENT: usize = 8;

/// All findings but those that are ok, which are counted unless they are asked for.
pub(super) fn of(shown: &Shown, all: bool) -> String {
    // Writing to a String cannot fail.
    let mut text = format!("doctor: {}\n", replaced(&shown.source));
    for version in &shown.versions {
        let (component, number) = (&version.component, &version.version);
        let _ = writeln!(
            text,
            "  {component} {} ({})",
            replaced(number),
            replaced(&version.source)
        );
    }
    for verdict in Verdict::ALL {
        if verdict == Verdict::Ok && !all {
            continue;
        }
        let same = |finding: &&Finding| finding.verdict == verdict;
        let findings = shown.findings.iter().filter(same);
        if matches!(verdict, Verdict::Bad | Verdict::Warn) {
            for (finding, subjects) in alike(findings.collect()) {
                text.push('\n');
                fault(&mut text, finding, &subjects);
            }
        } else {
            brief(&mut text, verdict, &findings.collect::<Vec<_>>());
        }
    }
    if !shown.not_applicable.is_empty() {
        text.push('\n');
        wrapped(
            &mut text,
            "nothing to look at for",
            &shown.not_applicable.join(", "),
            INDENT,
        );
    }
    let _ = writeln!(text, "\n{}", summary(&shown.counts));
    text
}

/// Findings that differ in their subject only, as one with its subjects.
fn alike(findings: Vec<&Finding>) -> Vec<(&Finding, String)> {
    let mut groups: Vec<(&Finding, Vec<&str>)> = Vec::new();
    for finding in findings {
        let is_same = |other: &Finding| {
            (&other.rule, &other.seen, &other.why, &other.todo)
                == (&finding.rule, &finding.seen, &finding.why, &finding.todo)
        };
        match groups.iter_mut().find(|(other, _)| is_same(other)) {
            Some((_, subjects)) => subjects.push(&finding.subject),
            None => groups.push((finding, vec![&finding.subject])),
        }
    }
    let join = |(finding, subjects): (_, Vec<&str>)| (finding, subjects.join(", "));
    groups.into_iter().map(join).collect()
}

fn head(finding: &Finding) -> String {
    format!("{}  {}", finding.verdict.word(), finding.rule)
}

fn fault(text: &mut String, finding: &Finding, subjects: &str) {
    wrapped(text, &head(finding), subjects, INDENT);
    wrapped(text, "  seen", &finding.seen, INDENT);
    wrapped(text, "  why", &finding.why, INDENT);
    if let Some(todo) = &finding.todo {
        wrapped(text, "  do", todo, INDENT);
    }
    wrapped(text, "  from", &finding.source, INDENT);
}

/// A rule and the subjects that it says the same of.
type Of<'a> = (&'a str, Vec<&'a str>);

/// A line for each thing that was seen, with the rules and subjects that it is said of.
fn brief(text: &mut String, verdict: Verdict, findings: &[&Finding]) {
    let mut groups: Vec<(&Finding, Vec<Of<'_>>)> = Vec::new();
    for finding in findings {
        let is_same =
            |other: &Finding| (&other.seen, &other.todo) == (&finding.seen, &finding.todo);
        let known = groups.iter().position(|(other, _)| is_same(other));
        let place = known.unwrap_or(groups.len());
        if known.is_none() {
            groups.push((finding, Vec::new()));
        }
        let rules = &mut groups[place].1;
        match rules.iter_mut().find(|(rule, _)| *rule == finding.rule) {
            Some((_, subjects)) => subjects.push(&finding.subject),
            None => rules.push((&finding.rule, vec![&finding.subject])),
        }
    }
    if !groups.is_empty() {
        text.push('\n');
    }
    for (finding, rules) in groups {
        let of: Vec<String> = rules
            .iter()
            .map(|(rule, subjects)| match rules.len() {
                1 => format!("{rule} of {}", subjects.join(", ")),
                _ => (*rule).to_owned(),
            })
            .collect();
        let words = format!("{}: {}", of.join(", "), finding.seen);
        wrapped(text, verdict.word(), &words, INDENT);
        if let (Verdict::CannotTell, Some(todo)) = (verdict, &finding.todo) {
            wrapped(text, "  do", todo, INDENT);
        }
    }
}

/// A label and words behind it, over as many lines as they need; a word longer than a line stays whole.
fn wrapped(text: &mut String, label: &str, words: &str, indent: usize) {
    let mut line = format!("{label:<indent$}");
    if !line.ends_with(' ') {
        line.push_str("  ");
    }
    let mut used = line.chars().count();
    let mut is_first = true;
    text.push_str(&line);
    for word in replaced(words).split_whitespace() {
        let length = word.chars().count();
        if !is_first && used + 1 + length > WIDTH {
            let _ = write!(text, "\n{:indent$}", "");
            used = indent;
            is_first = true;
        }
        if !is_first {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += length;
        is_first = false;
    }
    text.push('\n');
}

/// `2 bad, 1 warning, 5 cannot tell, 17 ok`.
fn summary(counts: &Counts) -> String {
    let warnings = if counts.warn == 1 {
        "warning"
    } else {
        "warnings"
    };
    format!(
        "{} bad, {} {warnings}, {} cannot tell, {} ok",
        counts.bad, counts.warn, counts.cannot_tell, counts.ok
    )
}

/// The rules, or some of them, with what each reads.
pub(super) fn rules(only: &[&str]) -> String {
    let mut text = String::new();
    for rule in RULES {
        if only.is_empty() || only.contains(&rule.id) {
            wrapped(&mut text, rule.id, rule.title, 24);
            wrapped(&mut text, "", &format!("reads {}", rule.reads), 24);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(subject: &str, verdict: Verdict) -> Finding {
        Finding {
            rule: "large-bar".to_owned(),
            subject: subject.to_owned(),
            verdict,
            seen: "its window is small (256 MiB)\u{1b}[2J".to_owned(),
            why: "peers and the CPU reach no more of a GPU's memory than its window shows, and so copies beyond it go another way"
                .to_owned(),
            source: "a document".to_owned(),
            todo: Some("switch on Resizable BAR".to_owned()),
        }
    }

    fn shown() -> Shown {
        Shown {
            schema: 1,
            source: "this machine".to_owned(),
            versions: Vec::new(),
            counts: Counts {
                bad: 2,
                warn: 1,
                cannot_tell: 0,
                ok: 1,
            },
            findings: vec![
                finding("GPU0", Verdict::Bad),
                finding("GPU1", Verdict::Bad),
                finding("GPU2", Verdict::Ok),
            ],
            not_applicable: vec!["gid-index"],
        }
    }

    #[test]
    fn what_is_bad_is_shown_whole_and_what_is_ok_is_counted() {
        assert_eq!(
            of(&shown(), false),
            "doctor: this machine\n\
             \n\
             bad  large-bar  GPU0, GPU1\n  \
               seen  its window is small (256 MiB)\u{fffd}[2J\n  \
               why   peers and the CPU reach no more of a GPU's memory than its window shows, and so copies\n        \
                     beyond it go another way\n  \
               do    switch on Resizable BAR\n  \
               from  a document\n\
             \n\
             nothing to look at for  gid-index\n\
             \n\
             2 bad, 1 warning, 0 cannot tell, 1 ok\n"
        );
    }

    #[test]
    fn what_is_ok_is_shown_where_it_is_asked_for() {
        let text = of(&shown(), true);
        assert!(
            text.contains("ok      large-bar of GPU2: its window"),
            "{text}"
        );
    }
}
