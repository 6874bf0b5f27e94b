//! A figure against its limit: in its unit or as a part of what the link in use carries.

use topology::PcieLink;

use super::judging::Judging;
use super::pool::{Device, Pooled};
use super::three_way::Figure;
use crate::profile::{LimitRow, LimitUnit};
use crate::report::{Check, Evidence, Limit, Ordered, ReasonCode, Seen, Verdict};

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

/// A figure that is judged by a limit.
pub(super) struct Held<'a> {
    pub(super) kind: &'static str,
    pub(super) about: Vec<String>,
    pub(super) figure: Figure,
    pub(super) what: String,
    pub(super) unit: &'static str,
    pub(super) source: String,
    /// Devices that must be free for a figure to condemn.
    pub(super) devices: Vec<String>,
    pub(super) row: Option<&'a LimitRow>,
    pub(super) ceiling: Ceiling,
    /// Evidence behind the figure.
    pub(super) more: Vec<Evidence>,
    pub(super) remark: String,
}

impl<'a> Held<'a> {
    /// A figure that is judged by itself: without a limit, and of no device that may be busy.
    pub(super) fn new(
        kind: &'static str,
        about: Vec<String>,
        figure: Figure,
        (what, unit): (impl Into<String>, &'static str),
        source: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            about,
            figure,
            what: what.into(),
            unit,
            source: source.into(),
            devices: Vec::new(),
            row: None,
            ceiling: Ceiling::NoLink,
            more: Vec::new(),
            remark: String::new(),
        }
    }

    /// The same with a limit, on these devices.
    pub(super) fn by(self, row: Option<&'a LimitRow>, devices: Vec<String>) -> Self {
        Self {
            row,
            devices,
            ..self
        }
    }
}

/// What a link carries with the payload of a device, and the words of both.
fn carried(link: PcieLink, device: Option<&Device>) -> (f64, String) {
    let payload = device.and_then(|device| device.it.max_payload_bytes);
    let bytes = payload.unwrap_or(ASSUMED_PAYLOAD_BYTES);
    let assumed = if payload.is_none() { " assumed" } else { "" };
    let most = link.payload_ceiling_gb_per_s(bytes);
    (most, format!("{link}, payload {bytes} B{assumed}"))
}

impl Judging<'_> {
    /// The link that the profile asks for.
    fn ordered(&self) -> Option<PcieLink> {
        let (generation, width) = self.profile.link.generation.zip(self.profile.link.width)?;
        PcieLink::new(generation, width).ok()
    }

    /// The link that limits a device, as it was last read under load.
    fn limiting(&self, label: &str) -> Option<PcieLink> {
        let loaded = self.pool.device(label)?.loaded.iter().rev();
        loaded
            .map(|(reading, _)| reading)
            .find_map(record::LinkReading::limiting)
    }

    fn device_ceiling(&self, label: &str) -> Ceiling {
        let device = self.pool.device(label);
        match self.limiting(label).or_else(|| self.ordered()) {
            Some(link) => {
                let (most, basis) = carried(link, device);
                Ceiling::Known(most, basis)
            }
            None => Ceiling::Unknown,
        }
    }

    /// The smallest ceiling of several devices.
    pub(super) fn smallest_ceiling(&self, labels: &[String]) -> Ceiling {
        if self.is_host() {
            return Ceiling::NoLink;
        }
        let all = labels.iter().map(|label| self.device_ceiling(label));
        all.reduce(|one, other| match (one, other) {
            (Ceiling::Unknown, _) | (_, Ceiling::Unknown) => Ceiling::Unknown,
            (Ceiling::Known(a, basis), Ceiling::Known(b, _)) if a <= b => Ceiling::Known(a, basis),
            (_, other) => other,
        })
        .unwrap_or(Ceiling::NoLink)
    }

    /// The ceiling of a copy: that of its record, else that of the devices' links.
    pub(super) fn ceiling(&self, pooled: &Pooled, labels: &[String]) -> Ceiling {
        match pooled.ceiling.clone().filter(|_| !self.is_host()) {
            Some((ceiling, basis)) => Ceiling::Known(ceiling, basis),
            None => self.smallest_ceiling(labels),
        }
    }

    /// Judges a figure. A slow figure of a device that others use condemns nothing.
    pub(super) fn hold(&self, held: Held<'_>) -> Check {
        let evidence = held
            .figure
            .evidence(held.what.clone(), held.unit, &held.source);
        let limit = match held.row {
            Some(row) if row.unit == LimitUnit::OfCeiling => match held.ceiling {
                Ceiling::Unknown => {
                    let evidence = std::iter::once(evidence).chain(held.more).collect();
                    let subject = self.subject(held.kind, held.about);
                    return subject.open(ReasonCode::Unreadable, "", None, evidence);
                }
                Ceiling::NoLink => None,
                Ceiling::Known(most, ref basis) => Some(self.of_link(row, &held, most, basis)),
            },
            Some(row) => Some(Limit {
                unit: held.unit.to_owned(),
                ..Limit::of(row)
            }),
            None => None,
        };
        let seen = Seen::new(evidence, held.more);
        let Some(limit) = limit else {
            let came = (Verdict::Pass, ReasonCode::AsExpected, held.remark);
            return self.judged(held.kind, held.about, came, None, seen);
        };
        let (verdict, code) = match held.figure.against(&limit).verdict() {
            (Verdict::Fail, _) if self.is_any_busy(&held.devices) => {
                (Verdict::Inconclusive, ReasonCode::DeviceBusy)
            }
            other => other,
        };
        let came = (verdict, code, held.remark);
        self.judged(held.kind, held.about, came, Some(limit), seen)
    }

    /// The limit of a row that is a part of what the link carries.
    fn of_link(&self, row: &LimitRow, held: &Held<'_>, most: f64, basis: &str) -> Limit {
        let links = held.devices.iter().filter_map(|label| self.limiting(label));
        let device = held
            .devices
            .first()
            .and_then(|label| self.pool.device(label));
        Limit {
            fail: row.fail.map(|part| part * most),
            warn: row.warn.map(|part| part * most),
            unit: held.unit.to_owned(),
            ceiling: Some(most),
            link: links.reduce(PcieLink::slower).map(|link| link.to_string()),
            ordered: self.ordered().map(|link| Ordered {
                link: link.to_string(),
                ceiling: carried(link, device).0,
            }),
            basis: basis.to_owned(),
            ..Limit::of(row)
        }
    }
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
