//! What the worker is asked for a point, or why it is not asked at all.

use std::time::Duration;

use inventory::Built;
use program::Budget;
use record::caveat::{Caveat, Condition};
use record::plan::Plan;
use record::{Endpoint, Failure, KernelAccess, Outcome, PeerVerdict};

use super::health::{Health, Suspect};
use super::intent;
use super::plan::Planned;
use super::session::Session;
use crate::cases::{self, Access, Pattern};
use crate::messages::{Job, Member};

impl Session<'_> {
    /// Why a point is not tried at all.
    pub(super) fn refusal(&self, point: &Planned, health: &Health) -> Option<Outcome> {
        let accesses = (!self.args.no_peer).then(|| self.verdicts(point));
        let backend = self.chosen.backend;
        if let Some(outcome) = cases::refusal(point.case, backend, accesses.as_deref()) {
            return Some(outcome);
        }
        if let Some(reason) = self.danger(point) {
            // What was not looked at is not a pass.
            let reason = reason.within("not tried");
            return Some(Outcome::Failed { reason });
        }
        let (suspect, why) = health.left_alone(&point.suspects())?;
        let name = match suspect {
            Suspect::Device(device) => self.label(device),
            Suspect::Pair(from, to) => format!("{} to {}", self.label(from), self.label(to)),
            Suspect::Group(key) => key.to_owned(),
        };
        let reason = Health::refusal(name, why);
        Some(Outcome::Skipped { reason })
    }

    /// Why copies of the driver's own are not tried between these devices; peer copies have their probe for that.
    fn danger(&self, point: &Planned) -> Option<Failure> {
        if self.args.risk || point.case.pattern != Pattern::DriverStaged {
            return None;
        }
        let intents = self.intents_of(point);
        let lost = intents.iter().find_map(|pair| self.remembered.lost(pair));
        lost.or_else(|| self.remembered.unknown())
    }

    /// What is put on the disk before a point: each pair by the device that accesses the other, as it was probed.
    pub(super) fn intents_of(&self, point: &Planned) -> Vec<String> {
        let devices = &self.recorder.payload.devices;
        let name =
            |(a, b): (usize, usize)| intent::pair(&self.identity(), &devices[a], &devices[b]);
        match (point.case.pattern, point.pair()) {
            (Pattern::DriverStaged, Some(pair)) => vec![format!("{} by the driver", name(pair))],
            _ => point.accesses().into_iter().map(name).collect(),
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

    /// That the points that were measured took far longer than was asked for.
    pub(super) fn overspent(&self, took: Duration) -> Option<Caveat> {
        let asked = self.args.budget;
        let words = format!("{:.0} s of {} s", took.as_secs_f64(), asked.as_secs_f64());
        (took > asked.mul_f64(1.5)).then(|| Condition::BudgetExceeded.with(words))
    }

    /// What was probed of the accesses that a point needs; of both ways between a pair that is staged.
    fn verdicts(&self, point: &Planned) -> Vec<Access> {
        let accesses = match (point.case.pattern, point.pair()) {
            (Pattern::Staged | Pattern::DriverStaged, Some((a, b))) => vec![(a, b), (b, a)],
            _ => point.accesses(),
        };
        let probes = &self.recorder.payload.probes;
        let access = |(from, to)| {
            let probe = probes
                .iter()
                .find(|probe| (probe.from, probe.to) == (from, to));
            Access {
                labels: (self.label(from), self.label(to)),
                verdict: probe.map_or(PeerVerdict::NotTried, |probe| probe.verdict),
                kernels: probe.map_or_else(KernelAccess::default, |probe| probe.kernels.clone()),
            }
        };
        accesses.into_iter().map(access).collect()
    }

    pub(super) fn job(&self, point: &Planned, budget: &Budget) -> Job {
        let ordinal = |end| match end {
            Endpoint::Host | Endpoint::All => end,
            Endpoint::Device(position) => Endpoint::Device(self.found[position].ordinal),
        };
        Job {
            case: point.case.key.to_owned(),
            from: ordinal(point.from),
            to: ordinal(point.to),
            all: (0..self.found.len())
                .map(|position| self.member(position))
                .collect(),
            bytes: point.bytes.0,
            plan: Plan::new(self.args.samples as usize, budget.share()),
            cpus: self.cpus(point),
            thread_node: None,
        }
    }

    /// A chosen device and the node of its host memory. A simulated machine's nodes are not this machine's, so there nothing is
    /// bound.
    fn member(&self, position: usize) -> Member {
        let devices = &self.recorder.payload.devices;
        let node = devices.get(position).and_then(|device| device.node);
        Member {
            ordinal: self.found[position].ordinal,
            node: node.filter(|_| self.chosen.inventory.soft_box.is_none()),
        }
    }

    /// The CPUs near the first device of a point. A group's devices may be near different ones, and the host backend's
    /// workers are on their own already: there the issuing thread is not bound.
    fn cpus(&self, point: &Planned) -> Vec<usize> {
        if point.is_group() || self.chosen.backend == Built::Host {
            return Vec::new();
        }
        let first = point.devices().first().map(|first| self.member(*first));
        let node = first.and_then(|member| member.node);
        let node = node.and_then(|node| self.machine.node(node));
        node.map(|node| node.cpus.iter().collect())
            .unwrap_or_default()
    }
}
