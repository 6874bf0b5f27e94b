//! What every judge needs: the profile's rows, what is required, and the check of what has no figure.

use record::Busy;
use record::unit::ByteCount;

use super::pool::{Device, Pool};
use super::trouble::Trouble;
use crate::checks::{self, Group};
use crate::cli::Level;
use crate::findings::Findings;
use crate::profile::{LimitRow, Profile};
use crate::report::{Check, Evidence, Limit, ReasonCode, Seen, Subject, Verdict};

/// A device that holds so much for others is in use (our choice: drivers of an idle device hold less).
const HELD_BYTES: u64 = 1 << 30;

/// A device that is busier than this is in use (our choice).
const BUSY_PERCENT: u32 = 5;

/// What a run found, beside what its profile expects.
pub(super) struct Judging<'a> {
    pub(super) profile: &'a Profile,
    pub(super) level: Level,
    pub(super) findings: &'a Findings,
    pub(super) pool: Pool,
}

/// One of several figures of a check.
pub(super) struct Piece {
    pub(super) came: (Verdict, ReasonCode),
    pub(super) detail: String,
    pub(super) limit: Option<Limit>,
    pub(super) evidence: Evidence,
}

/// Evidence of something that was looked at once.
pub(super) fn seen(
    what: &str,
    value: impl Into<String>,
    expected: Option<String>,
    source: &str,
) -> Evidence {
    seen_times(1, what, value, expected, source)
}

/// Evidence of something that was looked at several times.
pub(super) fn seen_times(
    n: usize,
    what: &str,
    value: impl Into<String>,
    expected: Option<String>,
    source: &str,
) -> Evidence {
    Evidence::Seen {
        what: what.to_owned(),
        value: value.into(),
        expected,
        n,
        own: true,
        source: source.to_owned(),
    }
}

/// Evidence in words of drivers, kernels or other programs.
pub(super) fn quoted(what: &str, value: &str, expected: Option<&str>, source: &str) -> Evidence {
    Evidence::Seen {
        what: what.to_owned(),
        value: value.to_owned(),
        expected: expected.map(str::to_owned),
        n: 1,
        own: false,
        source: source.to_owned(),
    }
}

impl<'a> Judging<'a> {
    /// What a check is about, required where the profile says so for this level.
    pub(super) fn subject(&self, kind: &str, about: impl IntoIterator<Item = String>) -> Subject {
        Subject::new(kind, about, self.is_required(kind))
    }

    fn is_required(&self, kind: &str) -> bool {
        let mut required = self.profile.required.at(self.level).iter();
        required.any(|required| required == kind)
            || (self.level == Level::Soak && self.has_lost_its_monitor(kind))
    }

    fn has_lost_its_monitor(&self, kind: &str) -> bool {
        let missing = self.findings.missing.get(&Group::Watch);
        checks::kind(kind).is_some_and(|kind| kind.group == Group::Watch)
            && missing.is_some_and(|missing| missing.code == ReasonCode::Unreadable)
    }

    /// A check on a device that nobody watched: a soak must be watched.
    pub(super) fn unwatched(&self, kind: &str, label: &str) -> Subject {
        let required = self.level == Level::Soak || self.is_required(kind);
        Subject::new(kind, [label.to_owned()], required)
    }

    /// A check with a verdict. What sees faults rejects though nobody requires it.
    pub(super) fn judged(
        &self,
        kind: &str,
        about: impl IntoIterator<Item = String>,
        (verdict, code, detail): (Verdict, ReasonCode, String),
        limit: Option<Limit>,
        seen: Seen,
    ) -> Check {
        let sees_faults = verdict == Verdict::Fail && checks::sees_faults(kind);
        let required = self.is_required(kind) || sees_faults;
        Subject::new(kind, about, required).judged(verdict, code, detail, limit, seen)
    }

    /// A check of several figures, one at least: the worst decides and stands first, with its limit and the details of all that are not good.
    pub(super) fn worst(&self, kind: &str, about: Vec<String>, mut pieces: Vec<Piece>) -> Check {
        pieces.sort_by_key(|piece| std::cmp::Reverse(piece.came.0.severity()));
        let bad = pieces.iter().filter(|piece| piece.came.0 != Verdict::Pass);
        let details = bad.map(|piece| piece.detail.as_str());
        let details: Vec<&str> = details.filter(|detail| !detail.is_empty()).collect();
        let detail = details.join("; ");
        let mut pieces = pieces.into_iter();
        let Some(first) = pieces.next() else {
            return self.lacking(kind, about);
        };
        let (verdict, code) = first.came;
        let seen = Seen::new(first.evidence, pieces.map(|piece| piece.evidence));
        match verdict {
            Verdict::Pass | Verdict::Warn | Verdict::Fail => {
                self.judged(kind, about, (verdict, code, detail), first.limit, seen)
            }
            _ => self
                .subject(kind, about)
                .open(code, &detail, first.limit, seen.into()),
        }
    }

    /// A check of what was seen, which says all.
    pub(super) fn noted(
        &self,
        kind: &str,
        about: &str,
        (verdict, code): (Verdict, ReasonCode),
        seen: Seen,
    ) -> Check {
        let came = (verdict, code, String::new());
        self.judged(kind, [about.to_owned()], came, None, seen)
    }

    /// A check that found what was expected.
    pub(super) fn pass(&self, kind: &str, about: &str, evidence: Evidence) -> Check {
        let came = (Verdict::Pass, ReasonCode::AsExpected);
        self.noted(kind, about, came, Seen::new(evidence, []))
    }

    /// A check that found a fault.
    pub(super) fn fail(
        &self,
        kind: &str,
        about: &str,
        code: ReasonCode,
        evidence: Evidence,
    ) -> Check {
        self.noted(kind, about, (Verdict::Fail, code), Seen::new(evidence, []))
    }

    /// A check that could not look.
    pub(super) fn open(&self, kind: &str, about: &str, code: ReasonCode, detail: &str) -> Check {
        self.subject(kind, [about.to_owned()])
            .open(code, detail, None, vec![])
    }

    /// A check that was not to look.
    pub(super) fn skip(&self, kind: &str, about: &str, code: ReasonCode) -> Check {
        self.subject(kind, [about.to_owned()]).skipped(code, "")
    }

    /// The limit on a figure: that of its class, else that of the kind.
    pub(super) fn row(&self, kind: &str, of: Option<&str>) -> Option<&'a LimitRow> {
        let rows = || self.profile.limit.iter().filter(|row| row.check == kind);
        of.and_then(|of| rows().find(|row| row.of.as_deref() == Some(of)))
            .or_else(|| rows().find(|row| row.of.is_none()))
    }

    /// The limit on exactly this figure.
    pub(super) fn row_of(&self, kind: &str, of: &str) -> Option<&'a LimitRow> {
        self.row(kind, Some(of))
            .filter(|row| row.of.as_deref() == Some(of))
    }

    /// Whether the devices are memory of the host.
    pub(super) fn is_host(&self) -> bool {
        self.pool.backend.as_deref() == Some("host")
    }

    /// Whether the machine is a guest of a hypervisor.
    pub(super) fn is_guest(&self) -> bool {
        self.pool.is_guest == Some(true)
    }

    /// The check of something that has no figure, and why.
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
        match verdict {
            Verdict::Skip => self.subject(kind, about).skipped(*code, text),
            Verdict::Inconclusive => self.subject(kind, about).open(*code, text, None, vec![]),
            verdict => {
                let seen = seen("outcome", view::codes::line(code.code()), None, source);
                let came = (*verdict, *code, text.clone());
                self.judged(kind, about, came, None, Seen::new(seen, []))
            }
        }
    }

    /// The check of something of which there is no evidence. It is never a pass.
    pub(super) fn lacking(&self, kind: &str, about: Vec<String>) -> Check {
        let group = checks::kind(kind).map(|kind| kind.group);
        let subject = self.subject(kind, about.clone());
        if let Some(missing) = group.and_then(|group| self.findings.missing.get(&group)) {
            let trouble = Trouble {
                verdict: missing.verdict,
                code: missing.code,
                text: missing.text.clone(),
            };
            return self.troubled(kind, about, &trouble, "the run");
        }
        match self.is_required(kind) {
            true => subject.open(ReasonCode::NotMeasured, "not measured", None, vec![]),
            false => subject.skipped(ReasonCode::LeftOut, ""),
        }
    }

    /// Whether others use one of these devices.
    pub(super) fn is_any_busy(&self, labels: &[String]) -> bool {
        let devices = labels.iter().filter_map(|label| self.pool.device(label));
        let mut busy = devices.filter_map(|device| device.it.busy.as_ref());
        busy.any(|busy| in_use(busy).is_some())
    }

    /// The devices in the order of their addresses, where they have some.
    pub(super) fn by_address(&self) -> Vec<&Device> {
        let mut devices: Vec<&Device> = self.pool.devices.iter().collect();
        if devices.iter().all(|device| device.it.address.is_some()) {
            devices.sort_by_key(|device| device.it.address);
        }
        devices
    }
}

/// Who uses a device, where somebody does.
pub(super) fn in_use(busy: &Busy) -> Option<String> {
    let held = ByteCount(busy.used_bytes);
    let percent = busy.utilisation_percent.unwrap_or_default();
    match () {
        () if !busy.processes.is_empty() => {
            Some(format!("{held} held by {}", busy.processes.join(", ")))
        }
        () if percent > BUSY_PERCENT => Some(format!("{percent}% utilised")),
        () if busy.used_bytes > HELD_BYTES => Some(format!("{held} held")),
        () => None,
    }
}
