//! The findings as text: what is bad first, each with what was seen, why it matters and what to do; what is ok as a count.

use std::fmt::Write as _;

use doctor::{Finding, RULES, Verdict};
use measure::control::replaced;

use super::brief::brief;
use super::shown::{Counts, Shown};

/// The longest line.
const WIDTH: usize = 100;
/// Where the words behind `seen`, `why` and so on begin.
pub(super) const INDENT: usize = 8;

/// What is shown of what is ok, which is counted otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sound<'a> {
    /// All of it.
    All,
    /// Of the paths between GPUs that were named, `--gpus 0,1`.
    Paths(&'a str),
    /// Nothing.
    Counted,
}

/// Rules that say nothing of the ways between GPUs.
const ELSEWHERE: [&str; 4] = [
    "gpu-nic-memory",
    "nic-link",
    "gid-index",
    "gpu-nic-distance",
];

/// All findings, of those that are ok as many as are asked for.
pub(super) fn of(shown: &Shown, sound: Sound<'_>) -> String {
    // Writing to a String cannot fail.
    let mut text = format!("doctor: {}\n", replaced(&shown.source));
    if shown.simulated {
        text.push_str(
            "  SIMULATED: what it has is what its file says; variables are those of this process\n",
        );
    }
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
        let same = |finding: &&Finding| {
            let is_shown = verdict != Verdict::Ok
                || match sound {
                    Sound::All => true,
                    Sound::Paths(_) => is_of_pair(finding),
                    Sound::Counted => false,
                };
            finding.verdict == verdict && is_shown
        };
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
    if let Sound::Paths(gpus) = sound {
        let explains = |finding: &Finding| {
            finding.verdict < Verdict::CannotTell && !ELSEWHERE.contains(&finding.rule.as_str())
        };
        if !shown.findings.iter().any(explains) {
            let _ = writeln!(
                text,
                "nothing here explains a loss between these GPUs; next: `cargo xtask p2p{gpus}`, `cargo xtask allreduce{gpus}`"
            );
        }
    }
    text
}

/// Whether a finding is of two GPUs: `GPU0-GPU1`.
fn is_of_pair(finding: &Finding) -> bool {
    let is_device = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.ends_with(|c: char| c.is_ascii_digit())
            && !word.contains(' ')
    };
    let ends = finding.subject.split_once('-');
    ends.is_some_and(|(a, b)| is_device(a) && is_device(b))
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
    let join = |(finding, subjects): (_, Vec<&str>)| (finding, counted(&subjects));
    groups.into_iter().map(join).collect()
}

fn head(finding: &Finding) -> String {
    let rules = std::iter::once(&finding.rule).chain(&finding.also);
    let rules: Vec<&str> = rules.map(String::as_str).collect();
    format!("{}  {}", finding.verdict.word(), rules.join(", "))
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

/// All subjects, and how many findings that are where there are several.
pub(super) fn counted(subjects: &[&str]) -> String {
    match subjects {
        [one] => (*one).to_owned(),
        several => format!("{} ({} findings)", several.join(", "), several.len()),
    }
}

/// A label and words behind it, over as many lines as they need; a word longer than a line stays whole.
pub(super) fn wrapped(text: &mut String, label: &str, words: &str, indent: usize) {
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

/// `findings: 2 bad, 1 warning, 5 cannot tell, 17 ok`.
fn summary(counts: &Counts) -> String {
    let warnings = if counts.warn == 1 {
        "warning"
    } else {
        "warnings"
    };
    format!(
        "findings: {} bad, {} {warnings}, {} cannot tell, {} ok",
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
            also: Vec::new(),
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
            simulated: false,
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
            of(&shown(), Sound::Counted),
            "doctor: this machine\n\
             \n\
             bad  large-bar  GPU0, GPU1 (2 findings)\n  \
               seen  its window is small (256 MiB)\u{fffd}[2J\n  \
               why   peers and the CPU reach no more of a GPU's memory than its window shows, and so copies\n        \
                     beyond it go another way\n  \
               do    switch on Resizable BAR\n  \
               from  a document\n\
             \n\
             nothing to look at for  gid-index\n\
             \n\
             findings: 2 bad, 1 warning, 0 cannot tell, 1 ok\n"
        );
    }

    #[test]
    fn reasons_that_differ_in_a_file_or_an_address_are_one() {
        let reason = |rule: &str, subject: &str, seen: &str| Finding {
            rule: rule.to_owned(),
            seen: seen.to_owned(),
            todo: None,
            ..finding(subject, Verdict::CannotTell)
        };
        let findings = [
            reason("acs", "GPU0", "ACS of 0000:15:01.0: it is not shown"),
            reason("acs", "GPU1", "ACS of 0000:38:01.0: it is not shown"),
            reason("boost", "this machine", "/sys/boost: it is not shown"),
            reason("pages", "this machine", "/proc/meminfo: it is not shown"),
        ];
        let mut text = String::new();
        let findings: Vec<&Finding> = findings.iter().collect();
        brief(&mut text, Verdict::CannotTell, &findings);
        assert_eq!(
            text,
            "\ncannot tell  acs of GPU0, GPU1 (2 findings): ACS of 0000:15:01.0: it is not shown, and alike at 1\n        \
             more addresses\n\
             cannot tell  boost, pages: /sys/boost, /proc/meminfo: it is not shown\n"
        );
    }

    #[test]
    fn what_is_ok_is_shown_where_it_is_asked_for() {
        let text = of(&shown(), Sound::All);
        assert!(
            text.contains("ok      large-bar of GPU2: its window"),
            "{text}"
        );
    }

    #[test]
    fn of_named_gpus_the_paths_are_shown_and_what_comes_next_where_nothing_explains_a_loss() {
        let mut shown = shown();
        shown.findings[2].subject = "GPU0-GPU1".to_owned();
        let text = of(&shown, Sound::Paths(" --gpus 0,1"));
        assert!(text.contains("ok      large-bar of GPU0-GPU1"), "{text}");
        assert!(!text.contains("nothing here explains"), "{text}");
        shown.findings.drain(..2);
        shown.findings.push(Finding {
            rule: "nic-link".to_owned(),
            ..finding("mlx5_0 port 1", Verdict::Warn)
        });
        let text = of(&shown, Sound::Paths(" --gpus 0,1"));
        assert!(
            text.ends_with("`cargo xtask p2p --gpus 0,1`, `cargo xtask allreduce --gpus 0,1`\n"),
            "{text}"
        );
    }
}
