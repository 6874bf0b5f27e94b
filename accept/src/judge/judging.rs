//! What all judges share: the profile, what was found, and how something without a number becomes a check.

use measure::record::Busy;
use measure::unit::ByteCount;

use super::pool::{Device, Pool};
use super::trouble::Trouble;
use crate::checks::{self, Group};
use crate::cli::Level;
use crate::findings::Findings;
use crate::profile::{LimitRow, Profile};
use crate::report::{Check, Evidence, Limit, ReasonCode, Seen, Subject, Verdict};

/// A device counts as in use by others from so much memory held without a known process (our choice: drivers themselves hold up to
/// about half of it), or from so much utilisation.
const HELD_BYTES: u64 = 1 << 30;
const BUSY_PERCENT: u32 = 5;

/// What judges work on.
pub(super) struct Judging<'a> {
    pub(super) profile: &'a Profile,
    pub(super) level: Level,
    pub(super) findings: &'a Findings,
    pub(super) pool: Pool,
    /// Whether the baseline's figures may be held against.
    pub(super) has_baseline: bool,
}

impl<'a> Judging<'a> {
    /// A check to be, required where the profile demands its kind at this level.
    pub(super) fn subject(&self, kind: &str, about: impl IntoIterator<Item = String>) -> Subject {
        Subject::new(kind, about, self.is_required(kind))
    }

    /// The same for one that fails: what is a fault rejects whether or not the profile demands that it be looked for.
    pub(super) fn failing(&self, kind: &str, about: impl IntoIterator<Item = String>) -> Subject {
        Subject::new(
            kind,
            about,
            self.is_required(kind) || checks::sees_faults(kind),
        )
    }

    /// A check that the driver tells nothing of: a profile demands such a kind only where it is told ([`checks::only_where_told`]).
    pub(super) fn untold(&self, kind: &str, about: impl IntoIterator<Item = String>) -> Subject {
        let required = self.is_required(kind) && !checks::only_where_told(kind);
        Subject::new(kind, about, required)
    }

    fn is_required(&self, kind: &str) -> bool {
        let level = match self.level {
            Level::Quick => "quick",
            Level::Standard => "standard",
            Level::Soak => "soak",
        };
        let required = self.profile.required.get(level);
        required.is_some_and(|kinds| kinds.iter().any(|required| required == kind))
            || (matches!(self.level, Level::Soak) && self.has_lost_its_monitor(kind))
    }

    /// Whether a kind is watched for and the monitor was lost: to be watched is what a soak is for.
    fn has_lost_its_monitor(&self, kind: &str) -> bool {
        let missing = self.findings.missing.get(&Group::Watch);
        checks::kind(kind).is_some_and(|kind| kind.group == Group::Watch)
            && missing.is_some_and(|missing| missing.code == ReasonCode::MonitorLost)
    }

    /// A check that nobody watched for long enough: of a soak it is required.
    pub(super) fn unwatched(&self, kind: &str, about: impl IntoIterator<Item = String>) -> Subject {
        let is_soak = matches!(self.level, Level::Soak);
        Subject::new(kind, about, is_soak || self.is_required(kind))
    }

    /// A verdict on evidence, with what to do where it is not good.
    pub(super) fn judged(
        &self,
        kind: &str,
        about: impl IntoIterator<Item = String>,
        (verdict, code, text): (Verdict, ReasonCode, String),
        limit: Option<Limit>,
        seen: Seen,
    ) -> Check {
        let subject = match verdict {
            Verdict::Fail => self.failing(kind, about),
            _ => self.subject(kind, about),
        };
        let check = subject.judged(verdict, code, text, limit, seen);
        let advice = match self.is_host() {
            true => advice_of_host(kind),
            false => checks::kind(kind).map_or("", |kind| kind.advice),
        };
        match verdict {
            // A fault has advice of its own.
            Verdict::Fail | Verdict::Warn if !advice.is_empty() && check.advice.is_none() => {
                check.advised(advice)
            }
            _ => check,
        }
    }

    /// The limit on a figure of a kind: the profile's own for it, else that on all figures of the kind.
    pub(super) fn row(&self, kind: &str, of: Option<&str>) -> Option<&'a LimitRow> {
        let rows = || self.profile.limit.iter().filter(|row| row.check == kind);
        of.and_then(|of| rows().find(|row| row.of.as_deref() == Some(of)))
            .or_else(|| rows().find(|row| row.of.is_none()))
    }

    /// Whether there is no GPU behind it, so that there is no link either.
    pub(super) fn is_host(&self) -> bool {
        self.pool.backend.as_deref() == Some("host")
    }

    /// Whether this is known to be a virtual machine.
    pub(super) fn is_guest(&self) -> bool {
        self.pool.is_guest == Some(true)
    }

    /// The check of something that has no number.
    pub(super) fn troubled(
        &self,
        kind: &str,
        about: Vec<String>,
        trouble: &Trouble,
        source: &str,
    ) -> Check {
        let Trouble {
            verdict,
            code,
            text,
        } = trouble;
        // Of what was not come to nothing was seen.
        if *code == ReasonCode::Interrupted {
            let subject = self.subject(kind, about);
            return subject.inconclusive(*code, text.clone(), None, vec![]);
        }
        let seen = Evidence::Seen {
            what: "what came of it".to_owned(),
            value: text.clone(),
            expected: Some("a number".to_owned()),
            n: 1,
            source: source.to_owned(),
        };
        match verdict {
            Verdict::Skip => self.subject(kind, about).skipped(*code, text.clone()),
            Verdict::Inconclusive => {
                self.subject(kind, about)
                    .inconclusive(*code, text.clone(), None, vec![seen])
            }
            verdict => self.judged(
                kind,
                about,
                (*verdict, *code, text.clone()),
                None,
                Seen::new(seen, []),
            ),
        }
    }

    /// The check of something that nobody measured: for the reason that its group is missing, else because the level does not
    /// ask for it, else for no known reason.
    pub(super) fn lacking(&self, kind: &str, about: Vec<String>) -> Check {
        let group = checks::kind(kind).map(|kind| kind.group);
        if let Some(missing) = group.and_then(|group| self.findings.missing.get(&group)) {
            let verdict = missing
                .code
                .verdicts()
                .first()
                .copied()
                .unwrap_or(Verdict::Inconclusive);
            let trouble = Trouble {
                // What may stand with a verdict on evidence and not with a fault is not known.
                verdict: if verdict == Verdict::Pass {
                    Verdict::Inconclusive
                } else {
                    verdict
                },
                code: missing.code,
                text: missing.text.clone(),
            };
            let check = self.troubled(kind, about, &trouble, "what the run noted");
            return match missing.advice() {
                Some(advice) => check.advised(advice),
                None => check,
            };
        }
        if group.is_some() && group == self.findings.cut {
            let text = "interrupted before it was measured".to_owned();
            return self.subject(kind, about).inconclusive(
                ReasonCode::Interrupted,
                text,
                None,
                vec![],
            );
        }
        let is_asked = group.is_some_and(|group| is_asked(group, self.level));
        if self.is_required(kind) {
            let text = "the profile demands it, and no record holds it".to_owned();
            return self.subject(kind, about).inconclusive(
                ReasonCode::WorkerFailed,
                text,
                None,
                vec![],
            );
        }
        let text = match is_asked {
            true => "not measured in this run, and not demanded by the profile",
            false => "not part of this level",
        };
        self.subject(kind, about)
            .skipped(ReasonCode::NotAsked, text.to_owned())
    }

    /// In words, which of these devices others use; `None` where none is known to be.
    pub(super) fn busy_among(&self, labels: &[String]) -> Option<String> {
        labels.iter().find_map(|label| {
            let busy = self.pool.device(label)?.it.busy.as_ref()?;
            in_use(busy).map(|by| format!("{label} is in use by others ({by})"))
        })
    }

    /// All devices' labels that are sorted by PCI address; by label where one has none.
    pub(super) fn by_address(&self) -> Vec<&Device> {
        let mut devices: Vec<&Device> = self.pool.devices.iter().collect();
        if devices.iter().all(|device| device.it.address.is_some()) {
            devices.sort_by_key(|device| device.it.address);
        }
        devices
    }
}

/// What to do where a check on the host backend is not good, whose devices are cores and whose links are memory.
fn advice_of_host(kind: &str) -> &'static str {
    match kind {
        "inventory" => "look which processors this process may use, or correct the profile",
        "numa_node" | "numa_penalty" => "look at the machine's NUMA nodes (p2p-bw topo)",
        "data" | "memory" | "arithmetic" => "run a memory test of this machine",
        "kernel_log" | "counters" => "look the event up: it is of this machine, not of a GPU",
        "serving" => checks::kind(kind).map_or("", |kind| kind.advice),
        _ => {
            "stop other work on this machine's processors and run again: cores stand in for devices, and no card or link is behind this figure"
        }
    }
}

/// By what a device is in use; `None` where it is free.
pub(super) fn in_use(busy: &Busy) -> Option<String> {
    let held = ByteCount(busy.used_bytes);
    if !busy.processes.is_empty() {
        return Some(format!("{held} held; {}", busy.processes.join(", ")));
    }
    if busy
        .utilisation_percent
        .is_some_and(|percent| percent > BUSY_PERCENT)
    {
        return Some(format!(
            "{}% utilised",
            busy.utilisation_percent.unwrap_or_default()
        ));
    }
    (busy.used_bytes > HELD_BYTES).then(|| format!("{held} held, by whom is not shown"))
}

/// Whether a level measures a group.
pub(crate) fn is_asked(group: Group, level: Level) -> bool {
    match group {
        Group::Concurrent | Group::Numa => level >= Level::Standard,
        Group::Soak => level == Level::Soak,
        Group::Serving => false,
        _ => true,
    }
}
