//! What the worker is asked for a point, or why it is not asked at all.

use std::time::Duration;

use inventory::Built;
use measure::plan::Plan;
use measure::record::{Endpoint, Outcome, PeerVerdict};
use program::Budget;

use super::health::Health;
use super::intent::{self, lost_since};
use super::plan::Planned;
use super::session::Session;
use crate::cases::{Issuer, Pattern, PeerUse, not_applicable};
use crate::messages::{Job, Place};

impl Session<'_> {
    /// Why a point is not tried at all.
    pub(super) fn refusal(&self, point: &Planned, health: &Health) -> Option<Outcome> {
        let peer = point.pair().map(|(from, to)| self.peer_use(from, to));
        let not_applicable = not_applicable(point.case, self.chosen.backend.name(), peer.as_ref());
        if let Some(reason) = not_applicable {
            return Some(Outcome::NotApplicable { reason });
        }
        if let Some(reason) = self.danger(point) {
            // What was not looked at is not a pass.
            return Some(Outcome::Failed { reason });
        }
        health
            .refusal(point, |position| self.label(position))
            .map(|reason| Outcome::Skipped { reason })
    }

    /// Why copies of the driver's own are not tried between these devices; peer copies have their probe for that.
    fn danger(&self, point: &Planned) -> Option<String> {
        if self.args.risk || point.case.pattern != Pattern::DriverStaged {
            return None;
        }
        let intents = self.intents_of(point);
        let lost = intents.iter().find_map(|pair| self.remembered.lost(pair));
        let reason = lost.map(lost_since).or_else(|| self.remembered.unknown())?;
        Some(format!("not tried: {reason}"))
    }

    /// What is put on the disk before a point: each pair by the device that accesses the other, as it was probed.
    pub(super) fn intents_of(&self, point: &Planned) -> Vec<String> {
        let devices = &self.recorder.payload.devices;
        let Some((from, to)) = point.pair() else {
            return Vec::new();
        };
        let pair = |a: usize, b: usize| intent::pair(&self.identity(), &devices[a], &devices[b]);
        match point.case.pattern {
            Pattern::Peer(Issuer::Source) => vec![pair(from, to)],
            Pattern::Peer(Issuer::Destination) => vec![pair(to, from)],
            Pattern::PeerBothWays(_) => vec![pair(from, to), pair(to, from)],
            Pattern::DriverStaged => vec![format!("{} by the driver", pair(from, to))],
            _ => Vec::new(),
        }
    }

    /// Backend, box and driver, which together with the devices say what was tried.
    pub(super) fn identity(&self) -> String {
        let inventory = &self.chosen.inventory;
        let soft = inventory.soft_box.as_ref();
        let parts = [
            Some(self.chosen.backend.name().to_owned()),
            soft.map(|name| format!("soft {name}")),
            inventory.driver.clone(),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// What to say where the points that were measured took far longer than was asked for.
    pub(super) fn overspent(&self, (points, took): (usize, Duration)) -> Option<String> {
        let asked = self.args.budget;
        (took > asked.mul_f64(1.5)).then(|| {
            format!(
                "the points took {:.1} s where --budget asked for {} s: each of the {points} points needs at least {} \
                 samples (see --samples), fewer --sizes or --cases take less",
                took.as_secs_f64(),
                asked.as_secs_f64(),
                self.args.samples.min(6)
            )
        })
    }

    fn peer_use(&self, from: usize, to: usize) -> PeerUse {
        if self.args.no_peer {
            return PeerUse::SwitchedOff;
        }
        let verdict = |from: usize, to: usize| {
            let probe = self
                .recorder
                .payload
                .probes
                .iter()
                .find(|probe| (probe.from, probe.to) == (from, to));
            probe.map_or((PeerVerdict::NotTried, "no probe".to_owned()), |probe| {
                (probe.verdict, probe.rests_on.clone())
            })
        };
        PeerUse::Probed {
            forward: verdict(from, to),
            back: verdict(to, from),
        }
    }

    pub(super) fn job(&self, id: usize, point: &Planned, budget: &Budget) -> Job {
        let ordinal = |end| match end {
            Endpoint::Host => Endpoint::Host,
            Endpoint::Device(position) => Endpoint::Device(self.found[position].ordinal),
        };
        Job {
            id,
            case: point.case.key.to_owned(),
            from: ordinal(point.from),
            to: ordinal(point.to),
            bytes: point.bytes.0,
            plan: Plan::new(self.args.samples as usize, budget.share()),
            verify: !self.args.no_verify,
            place: self.place(point),
        }
    }

    /// Near the first device of the point. A soft box's nodes are not this machine's, so there nothing is bound.
    fn place(&self, point: &Planned) -> Place {
        if self.chosen.inventory.soft_box.is_some() {
            return Place::default();
        }
        let device = point
            .devices()
            .first()
            .and_then(|position| self.recorder.payload.devices.get(*position));
        let node = device.and_then(|device| device.node);
        // The host backend's workers are on their own CPUs already.
        let bind = self.chosen.backend != Built::Host;
        let cpus = node
            .filter(|_| bind)
            .and_then(|node| self.machine.node(node));
        Place {
            node,
            cpus: cpus
                .map(|node| node.cpus.iter().collect())
                .unwrap_or_default(),
        }
    }
}
