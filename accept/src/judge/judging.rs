//! What every judge needs: the profile's rows, what is required, what a check comes to that has no evidence, and a figure against its limit,
//! in its unit or as a part of what the link in use carries.

use record::Busy;
use record::unit::ByteCount;
use topology::PcieLink;

use super::pool::{Device, Pool, Pooled};
use crate::checks::{self, Group};
use crate::cli::Level;
use crate::findings::Findings;
use crate::profile::{LimitRow, LimitUnit, Profile};
use crate::report::{Came, Check, Limit, Measured, Ordered, ReasonCode, Verdict};

/// A device that holds so much for others is in use (our choice: drivers of an idle device hold less).
const HELD_BYTES: u64 = 1 << 30;
/// A device that is busier than this is in use (our choice).
const BUSY_PERCENT: u32 = 5;

/// The payload of a packet where a device does not say (our choice: what servers have by default).
pub(super) const ASSUMED_PAYLOAD_BYTES: u32 = 256;

/// What the link between the ends of a copy carries.
pub(super) enum Ceiling {
    /// GB/s, and what that rests on.
    Known(f64, String),
    /// The link cannot be read, and the profile does not say.
    Unknown,
    /// There is none between the ends, or the figure is no rate of a link.
    NoLink,
}

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
        let is_guest = self.pool.is_guest == Some(true);
        let came = if is_guest { Came::skip } else { Came::open };
        came(ReasonCode::Unreadable)
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

    /// The link that the profile asks for.
    fn ordered(&self) -> Option<PcieLink> {
        let (generation, width) = self.profile.link.generation.zip(self.profile.link.width)?;
        PcieLink::new(generation, width).ok()
    }

    /// The link that limits a device, as it was last read under load.
    fn limiting(&self, label: &str) -> Option<PcieLink> {
        let mut loaded = self.pool.device(label)?.loaded.iter().rev();
        loaded.find_map(|(reading, _)| reading.limiting())
    }

    /// The smallest ceiling of several devices.
    pub(super) fn smallest_ceiling(&self, labels: &[&str]) -> Ceiling {
        if self.is_host() {
            return Ceiling::NoLink;
        }
        let one = |label: &&str| {
            let link = self.limiting(label).or_else(|| self.ordered())?;
            Some(carried(link, self.pool.device(label)))
        };
        let all: Option<Vec<(f64, String)>> = labels.iter().map(one).collect();
        let Some(all) = all else {
            return Ceiling::Unknown;
        };
        let least = all.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        least.map_or(Ceiling::NoLink, |(most, basis)| Ceiling::Known(most, basis))
    }

    /// The ceiling of a copy: that of its record, else that of the devices' links.
    pub(super) fn ceiling(&self, pooled: &Pooled, labels: &[&str]) -> Ceiling {
        match pooled.ceiling.clone().filter(|_| !self.is_host()) {
            Some((ceiling, basis)) => Ceiling::Known(ceiling, basis),
            None => self.smallest_ceiling(labels),
        }
    }

    /// Judges a figure that is no part of what a link carries.
    pub(super) fn hold(&self, row: Option<&LimitRow>, figure: Measured, devices: &[&str]) -> Came {
        self.hold_below(row, figure, devices, Ceiling::NoLink)
    }

    /// Judges a figure. A slow figure of devices of which others use one condemns nothing.
    pub(super) fn hold_below(
        &self,
        row: Option<&LimitRow>,
        figure: Measured,
        devices: &[&str],
        ceiling: Ceiling,
    ) -> Came {
        let Some(row) = row else {
            return Came::pass(figure);
        };
        let limit = match ceiling {
            _ if row.unit != LimitUnit::OfCeiling => Limit {
                unit: figure.unit.clone(),
                ..Limit::of(row)
            },
            Ceiling::Unknown => return Came::open(ReasonCode::Unreadable).with([figure]),
            Ceiling::NoLink => return Came::pass(figure),
            Ceiling::Known(most, basis) => Limit {
                fail: row.fail.map(|part| part * most),
                warn: row.warn.map(|part| part * most),
                unit: figure.unit.clone(),
                ceiling: Some(most),
                link: self.slowest(devices).map(|link| link.to_string()),
                ordered: self.ordered().map(|link| Ordered {
                    link: link.to_string(),
                    ceiling: carried(link, devices.first().and_then(|one| self.pool.device(one))).0,
                }),
                basis,
                ..Limit::of(row)
            },
        };
        let came = match figure.against(&limit) {
            (Verdict::Fail, ..) if self.is_any_busy(devices) => Came::open(ReasonCode::DeviceBusy),
            (verdict, code, _) => Came::new(verdict, code),
        };
        came.by(Some(limit)).with([figure])
    }

    /// The slowest of the links that limit several devices.
    fn slowest(&self, labels: &[&str]) -> Option<PcieLink> {
        let links = labels.iter().filter_map(|label| self.limiting(label));
        links.reduce(PcieLink::slower)
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

/// What a link carries with the payload of a device, and what that rests on.
fn carried(link: PcieLink, device: Option<&Device>) -> (f64, String) {
    let payload = device.and_then(|device| device.it.max_payload_bytes);
    let bytes = payload.unwrap_or(ASSUMED_PAYLOAD_BYTES);
    let assumed = if payload.is_none() { " assumed" } else { "" };
    let most = link.payload_ceiling_gb_per_s(bytes);
    (most, format!("{link}, payload {bytes} B{assumed}"))
}

impl Limit {
    /// A row of a profile as it stands.
    pub(super) fn of(row: &LimitRow) -> Self {
        Self {
            good: row.good,
            fail: row.fail,
            warn: row.warn,
            unit: row.unit.to_string(),
            source: row.source.clone(),
            ..Self::default()
        }
    }
}
