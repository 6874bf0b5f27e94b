//! Records of a described box with noise and planted faults, as the programs would write them: what judges are tried on.
//!
//! Rates and times are those of the box file; the noise is the test's own, since it is what known answers are given for.

use boxfile::{BoxFile, Vendor};
use record::{
    BackendFacts, Busy, Header, LinkDevice, LinkReading, Mig, NUMA_PROGRAM, Payload, Provenance,
    Record, SCHEMA, Simulated, Status,
};
use topology::{Machine, PathType, PcieLink};

use super::dice::Dice;
use super::plant::{Plant, Plants};
use crate::findings::{Findings, Found};

/// Bytes of large copies.
pub(super) const BYTES: u64 = 16 << 20;

/// A box that is played: its file, its faults, and how far each of its devices is from the model's mean.
pub(crate) struct Played {
    pub(crate) described: BoxFile,
    pub(crate) plants: Plants,
    pub(super) dice: Dice,
    pub(super) factors: Vec<f64>,
}

impl Played {
    /// A shipped box with faults; devices differ with a coefficient of variation of 0.3%.
    pub(crate) fn new(name: &str, seed: u64, plants: &[Plant]) -> Self {
        let described = BoxFile::builtin(name).unwrap();
        let mut dice = Dice::new(seed);
        let factors = described.device.iter();
        let factors = factors.map(|_| 1.0 + 0.003 * dice.normal()).collect();
        Self {
            described,
            plants: Plants(plants.to_vec()),
            dice,
            factors,
        }
    }

    /// The same without what others do on its devices.
    pub(crate) fn idle(mut self) -> Self {
        for device in &mut self.described.device {
            device.busy = None;
        }
        self
    }

    pub(super) fn count(&self) -> usize {
        self.described.device.len()
    }

    pub(super) fn node(&self, device: usize) -> Option<u32> {
        self.plants
            .node(device)
            .or(self.described.device[device].node)
    }

    /// The link at the slot of a device.
    pub(super) fn slot(&self, device: usize) -> Option<PcieLink> {
        let own = self.described.slot_link(device);
        let own = own.and_then(|link| PcieLink::new(link.generation, link.width).ok());
        self.plants.slot(device).or(own)
    }

    /// What the link at the slot carries at a payload of 256 B, GB/s.
    pub(super) fn carries(&self, device: usize) -> Option<f64> {
        Some(self.slot(device)?.payload_ceiling_gb_per_s(256))
    }

    /// A rate of a device, which no slower link than the box's own lets through: nine tenths of what that carries at most.
    pub(super) fn through(&self, device: usize, rate: f64) -> f64 {
        let limit = self.plants.slot(device).map_or(f64::INFINITY, |link| {
            0.9 * link.payload_ceiling_gb_per_s(256)
        });
        rate.min(limit)
    }

    pub(super) fn is_fabric(&self) -> bool {
        self.described
            .peer_default
            .as_ref()
            .is_some_and(|peer| peer.fabric)
    }

    pub(super) fn path(&self, a: usize, b: usize) -> PathType {
        let node = |device: usize| self.described.device[device].node;
        match self.described.vendor {
            Vendor::METAX => PathType::Mx,
            _ if node(a) == node(b) => PathType::Node,
            _ => PathType::Sys,
        }
    }

    pub(super) fn backend(&self) -> &'static str {
        match self.described.vendor {
            Vendor::AMD => "hip",
            Vendor::METAX => "maca",
            _ => "cuda",
        }
    }

    pub(super) fn label(&self, device: usize) -> String {
        let is_gpu = self.described.device[device].mig.is_empty();
        let kind = if is_gpu { "GPU" } else { "MIG" };
        format!("{kind}{device}")
    }

    pub(super) fn device(&self, number: usize) -> LinkDevice {
        let described = &self.described.device[number];
        let mig = described.mig.first();
        let own = described
            .link
            .and_then(|link| PcieLink::new(link.generation, link.width).ok());
        let slot = self.slot(number);
        // A card with a switch of its own says what its inner link has; others say what the slot has.
        let is_own = self.described.vendor == Vendor::AMD;
        let device = if is_own { own } else { slot };
        let loaded = LinkReading {
            device,
            slot,
            card: slot,
            slot_maximum: slot,
            readings: 40,
            narrowed_to: None,
            unreadable: slot
                .is_none()
                .then(|| "the kernel gives no link state".to_owned()),
        };
        let busy = described.busy.as_ref();
        let processes = busy.into_iter().flat_map(|busy| &busy.processes);
        LinkDevice {
            label: self.label(number),
            ordinal: number,
            name: mig.map_or_else(
                || described.name.clone(),
                |mig| format!("{} MIG {}", described.name, mig.profile),
            ),
            uuid: Some(described.uuid.clone()),
            address: described.address.parse().ok(),
            node: self.node(number),
            memory_bytes: Some(mig.map_or(described.memory_mib, |mig| mig.memory_mib) << 20),
            mig: mig.map(|mig| Mig {
                profile: Some(mig.profile.clone()),
                parent_uuid: Some(described.uuid.clone()),
            }),
            idle: None,
            loaded: Some(loaded),
            max_payload_bytes: Some(256),
            busy: (self.backend() == "cuda").then(|| Busy {
                used_bytes: busy.map_or(0, |busy| busy.memory_mib << 20),
                processes: processes.map(|process| process.name.clone()).collect(),
                utilisation_percent: None,
            }),
        }
    }

    pub(super) fn devices(&self) -> Vec<LinkDevice> {
        (0..self.count())
            .map(|number| self.device(number))
            .collect()
    }

    /// The devices without readings under load.
    pub(super) fn unloaded(&self) -> Vec<LinkDevice> {
        let mut devices = self.devices();
        devices.iter_mut().for_each(|device| device.loaded = None);
        devices
    }

    pub(super) fn machine(&self) -> Machine {
        let empty = serde_json::json!({
            "nodes": [], "cpus": {"model": null, "count": null, "last_level_cache_bytes": null},
            "hypervisor": self.described.guest, "boot_id": null, "gpus": []
        });
        serde_json::from_value(empty).unwrap()
    }

    pub(super) fn facts(&self) -> BackendFacts {
        BackendFacts {
            name: self.backend().to_owned(),
            driver: Some(self.described.driver.clone()),
            interface: None,
            management: "none".to_owned(),
        }
    }

    pub(super) fn record(&self, program: &str, round: usize, payload: Payload) -> Record {
        Record {
            header: Header {
                schema: SCHEMA,
                program: program.to_owned(),
                version: "0".to_owned(),
                simulated: Some(Simulated {
                    box_name: self.described.name.clone(),
                }),
                provenance: Provenance {
                    started: format!("2026-11-22T10:{round:02}:00Z"),
                    ..Provenance::default()
                },
            },
            status: Status::Complete,
            exit_code: 0,
            payload,
        }
    }

    /// Everything that a run finds in one round of so many samples.
    pub(crate) fn findings(&mut self, n: usize) -> Findings {
        let mut findings = Findings {
            monitor: super::watched::monitor(self),
            counters: Some(super::watched::counters(self)),
            kernel_log: Some(Ok(vec![])),
            ..Findings::default()
        };
        self.add(&mut findings, n);
        findings
    }

    /// Measures all figures again, as a runner does for what is not decided.
    pub(crate) fn add(&mut self, findings: &mut Findings, n: usize) {
        let round = findings.links.len();
        let links = self.links(n);
        let collectives = self.collectives(n);
        let numa = self.numa(n);
        let found = |it, source: &str| Found {
            it,
            source: format!("{source}/{round}"),
        };
        let links = self.record("p2p-bw", round, Payload::Links(Box::new(links)));
        findings.links.push(found(links, "links"));
        let collectives = Payload::Collectives(Box::new(collectives));
        let collectives = self.record("allreduce-bench", round, collectives);
        findings.collectives.push(found(collectives, "collectives"));
        let numa = self.record(NUMA_PROGRAM, round, Payload::Numa(Box::new(numa)));
        findings.numa.push(found(numa, "numa"));
    }
}
