//! What every judge needs: the profile's rows, what is required, and what a check comes to that has no evidence.

use record::Busy;
use record::unit::ByteCount;

use super::pool::{Device, Pool};
use crate::checks::{self, Group};
use crate::cli::Level;
use crate::findings::Findings;
use crate::profile::{LimitRow, Profile};
use crate::report::{Came, Check, ReasonCode};

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

impl<'a> Judging<'a> {
    /// A check, required where the profile says so for this level. A soak must be watched.
    pub(super) fn check(&self, kind: &str, about: &[&str], came: Came) -> Check {
        let is_unwatched = self.level == Level::Soak
            && checks::kind(kind).is_some_and(|kind| kind.group == Group::Watch)
            && self.lost_monitor().is_some();
        came.check(kind, about, self.is_required(kind) || is_unwatched)
    }

    /// A check of a kind for each device.
    pub(super) fn each(&self, kind: &str, came: impl Fn(&Device) -> Came) -> Vec<Check> {
        let devices = self.pool.devices.iter();
        devices
            .map(|device| self.check(kind, &[&device.it.label], came(device)))
            .collect()
    }

    fn is_required(&self, kind: &str) -> bool {
        let mut required = self.profile.required.at(self.level).iter();
        required.any(|required| required == kind)
    }

    /// Why nobody watched a part of the run, where that is so.
    pub(super) fn lost_monitor(&self) -> Option<&Came> {
        let missing = self.findings.missing.get(&Group::Watch);
        missing.filter(|missing| missing.code == ReasonCode::Unreadable)
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

    /// What cannot be read comes to: in a guest of a hypervisor there is nothing to see.
    pub(super) fn unreadable(&self) -> Came {
        match self.pool.is_guest {
            Some(true) => Came::skip(ReasonCode::Unreadable),
            _ => Came::open(ReasonCode::Unreadable),
        }
    }

    /// What something comes to of which there is no evidence; never a pass.
    pub(super) fn lacking(&self, kind: &str) -> Came {
        let group = checks::kind(kind).map(|kind| kind.group);
        match group.and_then(|group| self.findings.missing.get(&group)) {
            Some(missing) => missing.clone(),
            None if self.is_required(kind) => {
                Came::open(ReasonCode::NotMeasured).saying("not measured")
            }
            None => Came::skip(ReasonCode::LeftOut),
        }
    }

    /// Whether others use one of these devices.
    pub(super) fn is_any_busy(&self, labels: &[&str]) -> bool {
        let devices = labels.iter().filter_map(|label| self.pool.device(label));
        let mut busy = devices.filter_map(|device| device.it.busy.as_ref());
        busy.any(|busy| in_use(busy).is_some())
    }
}

/// Who uses a device, where somebody does.
pub(super) fn in_use(busy: &Busy) -> Option<impl ToString> {
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
