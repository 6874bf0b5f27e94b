//! The measuring part of `tplens numa`: one point after another, each kept before the next begins.

use std::collections::BTreeMap;
use std::time::Instant;

use inventory::{Chosen, Found, caveats};
use program::{Break, Budget, Progress, Recorder};
use record::caveat::Caveat;
use record::plan::Plan;
use record::unit::ByteCount;
use record::{Failure, LinkDevice, LinkUse, Numa, NumaEvent, NumaPoint, Outcome};
use runner::Interrupt;
use topology::Machine;

use super::args::MeasureArgs;
use super::plan::Planned;
use crate::messages::{Job, Member};
use crate::numa::{binding, free};
use crate::parent::{Finding, Health, Measurer, Suspect};

/// Buffers of the full size at once: of the host, of a device that is host memory, and one to compare in.
pub(super) const BUFFERS: u64 = 3;

/// One run under way.
pub(super) struct Session<'a> {
    pub(super) args: &'a MeasureArgs,
    pub(super) chosen: &'a Chosen,
    pub(super) machine: &'a Machine,
    pub(super) found: &'a [Found],
    pub(super) interrupt: &'a Interrupt,
    /// Of a copy by which places are compared.
    pub(super) bytes: u64,
    /// What each node had free before anything was measured; empty on a simulated machine, whose nodes hold nothing.
    pub(super) free: BTreeMap<u32, u64>,
    pub(super) recorder: Recorder<Numa>,
}

impl Session<'_> {
    /// Measures all points, or as many as it can.
    pub(super) fn measure(
        &mut self,
        devices: Vec<LinkDevice>,
        planned: &[Planned],
        say: &dyn Fn(&str),
    ) -> Result<(), Break> {
        let busy: Vec<Caveat> = caveats::busy(&devices).collect();
        busy.iter()
            .for_each(|caveat| say(&view::caveat(caveat).text));
        let said = caveats::said(self.chosen);
        let nodes: Vec<Option<u32>> = devices.iter().map(|device| device.node).collect();
        let found = NumaEvent::Found {
            machine: Box::new(self.machine.clone()),
            backend: inventory::backend(self.chosen),
            devices,
            copy_bytes: self.bytes,
            binding: binding::of(&nodes, self.machine),
        };
        self.recorder.add(found)?;
        for caveat in busy.into_iter().chain(said) {
            self.recorder.add(NumaEvent::Caveat { caveat })?;
        }
        let mut measurer = Measurer::new(self.chosen.backend, self.args.deadline, self.interrupt);
        self.points(planned, &mut measurer, say)?;
        measurer.finish();
        Ok(())
    }

    fn points(
        &mut self,
        planned: &[Planned],
        measurer: &mut Measurer<'_>,
        say: &dyn Fn(&str),
    ) -> Result<(), Break> {
        let mut progress = Progress::new(planned.len(), say);
        let mut budget = Budget::new(self.args.budget, planned.len());
        let mut health = Health::default();
        say(&format!("{} points to measure", planned.len()));
        for point in planned {
            if let Some(signal) = self.interrupt.signal() {
                return Err(Break::Signal(signal));
            }
            progress.begin(&self.words(point), point.case.key);
            let began = Instant::now();
            let found = match self.refusal(point, &health) {
                Some(reason) => Finding::without_numbers(Outcome::Skipped { reason }),
                None => {
                    let job = self.job(point, &budget);
                    self.point(point, &job, measurer, &mut health)?
                }
            };
            if let Outcome::Failed { reason } = &found.outcome {
                progress.note(&format!(
                    "{} {}: {reason}",
                    point.case.key,
                    self.words(point)
                ));
            }
            let point = NumaPoint {
                case: point.case.key.to_owned(),
                device: point.device,
                memory_node: point.place.memory,
                thread_node: point.place.thread,
                bytes: point.bytes,
                outcome: found.outcome,
                thread: found.thread,
                caveats: found.caveats,
            };
            let point = Box::new(point);
            self.recorder.add(NumaEvent::Point { point })?;
            budget.spend(began.elapsed());
            progress.end();
        }
        Ok(())
    }

    /// Where a point's memory and thread are wanted, and its size, in words.
    fn words(&self, point: &Planned) -> String {
        let devices = &self.recorder.payload.devices;
        let label = devices.get(point.device).map(|device| &device.label);
        let node = |node: Option<u32>| node.map_or_else(|| "any".to_owned(), |n| n.to_string());
        format!(
            "{} memory {} thread {} {}",
            label.map_or("", String::as_str),
            node(point.place.memory),
            node(point.place.thread),
            ByteCount(point.bytes)
        )
    }

    /// Measures a point; `health` counts what speaks against its device.
    fn point(
        &self,
        point: &Planned,
        job: &Job,
        measurer: &mut Measurer<'_>,
        health: &mut Health,
    ) -> Result<Finding, Break> {
        let end = measurer.run(job, &mut || {})?;
        let found = Finding::of(end, |_| LinkUse::default()).map_err(Break::Signal)?;
        if let Some(blame) = &found.blame {
            health.failed(&[Suspect::Device(point.device)], blame);
        }
        Ok(found)
    }

    /// Why a point is not measured: its device failed too often, or its node has too little memory free.
    fn refusal(&self, point: &Planned, health: &Health) -> Option<Failure> {
        if let Some((_, why)) = health.left_alone(&[Suspect::Device(point.device)]) {
            return Some(Health::refusal("the device", why));
        }
        let node = point.place.memory?;
        let free = self.free.get(&node)?;
        free::too_little(node, *free, point.bytes.saturating_mul(BUFFERS))
    }

    fn job(&self, point: &Planned, budget: &Budget) -> Job {
        let ordinal = self.found[point.device].ordinal;
        let (from, to) = point.ends(ordinal);
        let node = point.place.thread.and_then(|node| self.machine.node(node));
        // A simulated machine's CPUs are not this machine's.
        let is_soft = self.chosen.inventory.soft_box.is_some();
        Job {
            case: point.case.key.to_owned(),
            from,
            to,
            all: vec![Member {
                ordinal,
                node: point.place.memory,
            }],
            bytes: point.bytes,
            plan: Plan::new(self.args.samples as usize, budget.share()),
            cpus: node
                .filter(|_| !is_soft)
                .map(|node| node.cpus.iter().collect())
                .unwrap_or_default(),
            thread_node: point.place.thread,
        }
    }
}
