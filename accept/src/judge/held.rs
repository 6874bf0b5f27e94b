//! A figure against its limit: in its unit or as a part of what the link in use carries.

use topology::PcieLink;

use super::judging::Judging;
use super::pool::{Device, Pooled};
use super::three_way::Figure;
use crate::profile::{LimitRow, LimitUnit};
use crate::report::{Came, Limit, Ordered, ReasonCode, Verdict};

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

/// What a figure is: its words, its unit, its source, and the devices that must be free for it to condemn.
pub(super) struct Held<'a> {
    pub(super) what: &'a str,
    pub(super) unit: &'static str,
    pub(super) source: &'a str,
    pub(super) devices: &'a [&'a str],
}

/// What a link carries with the payload of a device, and what that rests on.
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
    pub(super) fn hold(&self, row: Option<&LimitRow>, figure: &Figure, held: &Held<'_>) -> Came {
        self.hold_below(row, figure, held, Ceiling::NoLink)
    }

    /// Judges a figure. A slow figure of a device that others use condemns nothing.
    pub(super) fn hold_below(
        &self,
        row: Option<&LimitRow>,
        figure: &Figure,
        held: &Held<'_>,
        ceiling: Ceiling,
    ) -> Came {
        let evidence = figure.evidence(held.what, held.unit, held.source);
        let limit = match (row, ceiling) {
            (None, _) => None,
            (Some(row), ceiling) if row.unit == LimitUnit::OfCeiling => match ceiling {
                Ceiling::Unknown => return Came::open(ReasonCode::Unreadable).with([evidence]),
                Ceiling::NoLink => None,
                Ceiling::Known(most, basis) => Some(self.of_link(row, held, most, basis)),
            },
            (Some(row), _) => Some(Limit {
                unit: held.unit.to_owned(),
                ..Limit::of(row)
            }),
        };
        let Some(limit) = limit else {
            return Came::pass(evidence);
        };
        let came = match figure.against(&limit) {
            (Verdict::Fail, ..) if self.is_any_busy(held.devices) => {
                Came::open(ReasonCode::DeviceBusy)
            }
            (verdict, code, _) => Came::new(verdict, code),
        };
        came.by(Some(limit)).with([evidence])
    }

    /// The limit of a row that is a part of what the link carries.
    fn of_link(&self, row: &LimitRow, held: &Held<'_>, most: f64, basis: String) -> Limit {
        let links = held.devices.iter().filter_map(|label| self.limiting(label));
        let first = held.devices.first();
        let device = first.and_then(|label| self.pool.device(label));
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
            basis,
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
