//! What a journal adds up to, read line by line: the run's report, or what its checks had come to.
//!
//! A torn last line is passed over and told; anything else that no run writes is refused. Nothing is written here.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::counters::Reading;
use super::journal::{Done, Entry, SCHEMA};
use super::key::Key;
use crate::checks::{self, Group};
use crate::plural::plural;
use crate::report::{BoxVerdict, Check, ReasonCode, Report, RunStatus, Verdict};

/// A journal above this is none of ours.
const MAX_BYTES: u64 = 256 << 20;

/// A line above this is none of ours: the longest holds a report.
const MAX_LINE: u64 = 64 << 20;

/// What a journal adds up to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kept {
    /// What must be equal for the run to be gone on with.
    pub(crate) key: Key,
    /// The report without checks, or the whole one of a run that ended.
    pub(crate) report: Report,
    /// Boots of the processes that took the run up.
    pub(crate) boots: Vec<Option<String>>,
    /// Counters before the first load.
    pub(crate) before: Option<Reading>,
    /// Steps that came to their end, in their order.
    pub(crate) done: Vec<Done>,
    /// Steps that broke, which are done again.
    pub(crate) broken: Vec<Done>,
    /// Seconds that they took together.
    pub(crate) took_s: f64,
    /// What checks came to last, in the order in which they were told first.
    pub(crate) checks: Vec<Check>,
    /// Whether the run ended by itself or was told to.
    pub(crate) is_ended: bool,
    /// The reports with which it ended until now, the last two of them: the last is on the disk here before it is in a file of its own.
    pub(crate) ends: Vec<Report>,
    /// Bytes behind the last whole line, which are passed over.
    pub(crate) torn_bytes: u64,
    /// Bytes up to the end of the last whole line.
    pub(super) whole_bytes: u64,
}

/// Reads a journal; a torn last line is passed over, and counted.
///
/// # Errors
/// In one sentence: it cannot be read, has no first line, or a line that is none or stands where no run writes it.
pub(crate) fn read(path: &Path) -> Result<Kept, String> {
    let shown = path.display();
    let unread = |error: std::io::Error| format!("cannot read {shown}: {error}");
    let file = File::open(path).map_err(unread)?;
    if file.metadata().map_err(unread)?.len() > MAX_BYTES {
        return Err(format!(
            "{shown} is larger than 256 MiB, which no journal of a run is"
        ));
    }
    kept(BufReader::new(file.take(MAX_BYTES))).map_err(|why| format!("{shown}{why}"))
}

fn kept(mut lines: impl BufRead) -> Result<Kept, String> {
    let mut kept: Option<Kept> = None;
    let (mut line, mut whole_bytes) = (Vec::new(), 0);
    for number in 1.. {
        line.clear();
        let read = (&mut lines).take(MAX_LINE).read_until(b'\n', &mut line);
        let length = read.map_err(|error| format!(", line {number}, cannot be read: {error}"))?;
        let length = u64::try_from(length).unwrap_or(MAX_LINE);
        if length == MAX_LINE {
            return Err(format!(
                ", line {number}, is longer than 64 MiB, which no line of a run's journal is"
            ));
        }
        if line.last() != Some(&b'\n') {
            if let Some(kept) = &mut kept {
                (kept.torn_bytes, kept.whole_bytes) = (length, whole_bytes);
                kept.not_torn_behind_its_end()
                    .map_err(|what| format!(", line {number}, {what}"))?;
            }
            break;
        }
        whole_bytes += length;
        let entry: Entry = serde_json::from_slice(&line)
            .map_err(|error| format!(", line {number}, is no line of a run's journal ({error}): it was damaged or changed; run the box again with another --out"))?;
        match (entry, &mut kept) {
            (Entry::Begin { schema, .. }, None) if schema > SCHEMA => {
                return Err(format!(
                    " has schema {schema}, this program reads up to {SCHEMA}; use a newer tplens"
                ));
            }
            (Entry::Begin { key, report, .. }, None) => {
                kept = Some(Kept {
                    key: *key,
                    report: *report,
                    boots: Vec::new(),
                    before: None,
                    done: Vec::new(),
                    broken: Vec::new(),
                    took_s: 0.0,
                    checks: Vec::new(),
                    is_ended: false,
                    ends: Vec::new(),
                    torn_bytes: 0,
                    whole_bytes: 0,
                });
            }
            (Entry::Begin { .. }, Some(_)) => {
                return Err(format!(
                    ", line {number}, begins another run; was another journal appended?"
                ));
            }
            (entry, Some(kept)) => kept
                .apply(entry)
                .map_err(|what| format!(", line {number}, {what}"))?,
            (_, None) => break,
        }
    }
    kept.ok_or_else(|| {
        " has no first line, so nothing of it can be used; start the run anew with another --out"
            .to_owned()
    })
}

/// What stands behind the end of a run, of which there is nothing more to tell.
const BEHIND: &str = "stands behind the end of the run, where no run writes one: the journal was changed, or two runs wrote it at once; run the box again with another --out";

impl Kept {
    /// A run that is complete is gone on with only for what broke in it or had no time; that, and what follows where one was told to
    /// stop, begins by saying who took it up.
    fn apply(&mut self, entry: Entry) -> Result<(), String> {
        let may = !self.is_complete() || self.is_open();
        let goes_on = matches!(entry, Entry::Segment { .. }) && may;
        if self.is_ended && !goes_on {
            return Err(BEHIND.to_owned());
        }
        match entry {
            // Told apart by the caller.
            Entry::Begin { .. } => {}
            Entry::Segment { boot, .. } => {
                self.boots.push(boot);
                self.is_ended = false;
            }
            Entry::Before { reading } => self.before = Some(*reading),
            Entry::Step {
                group,
                name,
                folder,
                took_s,
                missing,
                unwatched,
            } => {
                self.took_s += took_s;
                let is_broken = missing.as_ref().is_some_and(|missing| missing.is_open);
                let of = match is_broken {
                    true => &mut self.broken,
                    false => &mut self.done,
                };
                of.push(Done {
                    group,
                    name,
                    folder,
                    took_s,
                    missing,
                    unwatched,
                });
            }
            Entry::Check { check } => {
                match self.checks.iter_mut().find(|known| known.id == check.id) {
                    Some(known) => *known = *check,
                    None => self.checks.push(*check),
                }
            }
            Entry::End { report } => {
                self.checks.clone_from(&report.checks);
                self.report = *report;
                self.is_ended = true;
                if self.ends.len() > 1 {
                    self.ends.remove(0);
                }
                self.ends.push(self.report.clone());
            }
        }
        Ok(())
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.is_ended && self.report.status == RunStatus::Complete
    }

    /// Whether a step broke and was not done again.
    pub(crate) fn has_broken(&self) -> bool {
        let is_done = |step: &Done| self.done.iter().any(|done| done.name == step.name);
        self.broken.iter().any(|step| !is_done(step))
    }

    /// Whether there is something to do in a run that is complete: a step that broke, or one for which there was no time. A box that was
    /// rejected stays so, whatever is measured besides.
    pub(crate) fn is_open(&self) -> bool {
        let mut checks = self.report.checks.iter();
        self.report.verdict != BoxVerdict::Rejected
            && (self.has_broken() || checks.any(|check| check.reason.code == ReasonCode::Budget))
    }

    /// A line that was begun and not ended may stand behind whatever is gone on with.
    fn not_torn_behind_its_end(&self) -> Result<(), String> {
        match self.torn_bytes > 0 && self.is_complete() && !self.is_open() {
            true => Err(BEHIND.to_owned()),
            false => Ok(()),
        }
    }

    /// The checks that stand: what stood for a group until its step was done is told by the checks that took its place, and what was not
    /// come to when the run was taken up again by those with which it ended before.
    fn standing(&self) -> Vec<Check> {
        let is_done = |group: Group| {
            let mut steps = self.done.iter();
            steps.any(|step| step.group == group && step.missing.is_none())
        };
        let is_replaced = |check: &Check| {
            let kind = checks::kind(&check.kind);
            let is_taken_up = kind.is_some_and(|kind| is_done(kind.group));
            let mut others = self.checks.iter().filter(|other| other.kind == check.kind);
            // What was measured, and not again, stands.
            check.reason.code == ReasonCode::Interrupted
                && check.evidence.is_empty()
                && (self.has_ended_with(check)
                    || is_taken_up
                        && others.any(|other| other.reason.code != ReasonCode::Interrupted))
        };
        let all = self.checks.iter();
        all.filter(|check| !is_replaced(check)).cloned().collect()
    }

    /// Whether the end before tells all of a kind by other checks than this one, so that it would count a second time.
    fn has_ended_with(&self, check: &Check) -> bool {
        let end = self.ends.last().map_or(&[][..], |end| &end.checks);
        let mut of_kind = end.iter().filter(|other| other.kind == check.kind);
        of_kind.clone().next().is_some() && of_kind.all(|other| other.id != check.id)
    }

    /// The report of the run: the one that was written, or, where the run did not end by itself, what its checks had come to. Such
    /// a box is never accepted.
    pub(crate) fn report(&self) -> Report {
        if self.is_ended {
            return self.report.clone();
        }
        let mut report = self.until_now();
        report.notes.push(
            "the run did not end by itself: killed, or the machine went down; `accept run --resume` goes on with it".to_owned(),
        );
        if self.torn_bytes > 0 {
            report.notes.push(format!(
                "the last line of its journal is torn and passed over ({})",
                plural(self.torn_bytes, "byte")
            ));
        }
        report
    }

    /// The report that takes the place of an earlier one while the run is gone on with: what stood before, and no box is accepted by it.
    pub(crate) fn taken_up(&self) -> Report {
        let mut report = self.until_now();
        report.notes.push(
            "the run was taken up again, and this is what stood before: it goes on, or was killed since, and then `accept run --resume` goes on with it".to_owned(),
        );
        report
    }

    /// What the checks had come to.
    fn until_now(&self) -> Report {
        let mut report = self.report.clone();
        report.status = RunStatus::Broken;
        report.took_s = self.took_s;
        report.checks = self.standing();
        let is_failed = |check: &Check| check.required && check.verdict == Verdict::Fail;
        report.verdict = match report.checks.iter().any(is_failed) {
            true => BoxVerdict::Rejected,
            false => BoxVerdict::Inconclusive,
        };
        report.exit_code = report.verdict.exit_code();
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Missing;
    use crate::made;
    use crate::report::Subject;

    fn open(kind: &str, about: &str, code: ReasonCode) -> Check {
        let subject = Subject::new(kind, [about.to_owned()], true);
        subject.inconclusive(code, String::new(), None, vec![])
    }

    #[test]
    fn what_a_killed_resume_did_not_come_to_counts_once() {
        let report = made::report("n1", vec![]);
        let key = serde_json::json!({
            "profile": "", "program": null, "measuring": null, "driver": "", "devices": [], "asked": [],
        });
        let segment = || Entry::Segment {
            at: "2026-11-20T08:00:00Z".to_owned(),
            boot: None,
        };
        let pass = made::bandwidth("spread", "h2d_pinned", 25.0);
        let ended = vec![
            pass.clone(),
            open("peer_access", "peer-links", ReasonCode::OutOfMemory),
            open("spread", "peer-links", ReasonCode::OutOfMemory),
        ];
        let entries = [
            Entry::Begin {
                schema: SCHEMA,
                key: Box::new(serde_json::from_value(key).unwrap()),
                report: Box::new(report),
            },
            segment(),
            Entry::Step {
                group: Group::PeerLinks,
                name: "peer-links".to_owned(),
                folder: "groups/peer-links-1".to_owned(),
                took_s: 1.0,
                missing: Some(Missing {
                    code: ReasonCode::OutOfMemory,
                    text: String::new(),
                    is_open: true,
                }),
                unwatched: None,
            },
            Entry::End {
                report: Box::new(made::report("n1", ended.clone())),
            },
            segment(),
            Entry::Check {
                check: Box::new(open("peer_access", "box", ReasonCode::Interrupted)),
            },
            Entry::Check {
                check: Box::new(open("spread", "peer-links", ReasonCode::Interrupted)),
            },
        ];
        let lines: Vec<String> = entries
            .iter()
            .map(|entry| serde_json::to_string(entry).unwrap() + "\n")
            .collect();
        let report = kept(lines.concat().as_bytes()).unwrap().report();
        let came: Vec<(&str, ReasonCode)> = report
            .checks
            .iter()
            .map(|check| (check.id.as_str(), check.reason.code))
            .collect();
        // As many as at the end before; what is measured again says that it was not come to.
        assert_eq!(
            came,
            [
                ("spread h2d_pinned", ReasonCode::WithinLimit),
                ("peer_access peer-links", ReasonCode::OutOfMemory),
                ("spread peer-links", ReasonCode::Interrupted),
            ]
        );
        assert_eq!(report.verdict, BoxVerdict::Inconclusive);
    }
}
