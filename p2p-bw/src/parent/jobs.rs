//! What the worker is asked for a point, or why it is not asked at all.

use measure::plan::Plan;
use measure::record::{Endpoint, Outcome, PeerVerdict};

use super::budget::Budget;
use super::health::Health;
use super::plan::Planned;
use super::session::Session;
use crate::cases::{PeerUse, not_applicable};
use crate::messages::{Built, Job, Place};

impl Session<'_> {
    /// Why a point is not tried at all.
    pub(super) fn refusal(&self, point: &Planned, health: &Health) -> Option<Outcome> {
        let peer = point.pair().map(|(from, to)| self.peer_use(from, to));
        let not_applicable = not_applicable(point.case, self.chosen.backend.name(), peer.as_ref());
        if let Some(reason) = not_applicable {
            return Some(Outcome::NotApplicable { reason });
        }
        health
            .refusal(point, |position| self.label(position))
            .map(|reason| Outcome::Skipped { reason })
    }

    fn peer_use(&self, from: usize, to: usize) -> PeerUse {
        if self.args.no_peer {
            return PeerUse::SwitchedOff;
        }
        let verdict = |from: usize, to: usize| {
            let probe = self
                .recorder
                .links
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
            .and_then(|position| self.recorder.links.devices.get(*position));
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
