//! One job: memory, pattern, warm-up, timed samples, check.

use std::collections::BTreeMap;
use std::time::Duration;

use device::{Backend, Device, DeviceError, HostBuffer};
use numa::NumaError;
use record::caveat::{Caveat, Condition};
use record::clock::Monotonic;
use record::plan::Sampling;
use record::quantity::Timing;
use record::{Placement, Verification};

use super::chain::Chain;
use super::readings::Readings;
use super::verdicts::{DRIVER, bind, kernel, partly_alone, placement, thread_place};
use crate::cases::{Case, Measures, Memory, Pattern, Stream};
use crate::children::bench::{Bench, Say};
use crate::children::lanes::{Lanes, Sample};
use crate::children::series::measured;
use crate::children::tell::{Tell, doing};
use crate::children::transfers::{self, Making, Work};
use crate::messages::{Ended, Job, WorkerReply};

/// Small copies in one sample: as many as the field's tools take.
const SMALL_COPIES: u32 = 100;

/// Laps of a chain in one sample at most.
const MAX_LAPS: u32 = 1024;

/// One job under way.
pub(super) struct Run<'a, B: Backend> {
    bench: &'a mut Bench<B>,
    case: &'a Case,
    job: &'a Job,
    streams: Vec<Stream>,
    /// CPUs that the worker could run on before it was bound to any.
    cpus_at_start: &'a [usize],
    /// Where the simulated driver has put this thread, if it did.
    placed_thread: Option<u32>,
    caveats: Vec<Caveat>,
}

impl<'a, B: Backend> Run<'a, B> {
    pub(super) fn new(
        bench: &'a mut Bench<B>,
        case: &'a Case,
        job: &'a Job,
        cpus_at_start: &'a [usize],
    ) -> Self {
        Self {
            bench,
            case,
            job,
            streams: job.streams(case),
            cpus_at_start,
            placed_thread: None,
            caveats: Vec::new(),
        }
    }

    pub(super) fn outcome(mut self, tell: Tell<'_>) -> device::Result<Ended> {
        let mut say = |now: &str| doing(tell, now);
        say("allocating");
        let bytes = usize::try_from(self.job.bytes).unwrap_or(usize::MAX);
        let stations = transfers::stations(&self.streams);
        self.bench.begin(bytes);
        self.bind();
        self.placed_thread = self.run_on(&stations)?;
        let lanes = self.allocate(bytes, &mut say)?;
        self.set_access(&mut say)?;
        self.tell_unbound(&stations)?;
        let host_memory = self.host_memory(&lanes);
        let now = |memory: &[(Option<u32>, &HostBuffer)]| -> Vec<_> {
            let answer = |(node, buffer): &(_, &HostBuffer)| (*node, buffer.node_now());
            memory.iter().map(answer).collect()
        };
        let mut nodes = now(&host_memory);
        let chain = self.fill(&lanes, &mut say)?;
        say("warming up");
        for _ in 0..self.job.plan.warmups {
            lanes.warm_up(chain.as_ref().map_or(1, |chain| chain.steps(1)))?;
        }
        let copies = self.calibrate(&lanes, chain.as_ref())?;
        let source = self.bench.backend.time_source();
        let mut readings = Readings::new(self.case.measures, &lanes, self.job.bytes, source);
        let (mut overlaps, mut held) = (Vec::new(), None);
        let clock = Monotonic::start();
        let sampling = Sampling::start(self.job.plan, &clock);
        let (stopped, gate) = loop {
            tell(WorkerReply::Timing {
                samples: readings.samples(),
            });
            let sample = lanes.run(copies)?;
            // Where a gate gave up, what it held before is not mixed with what nothing holds.
            if held
                .replace(sample.gate)
                .is_some_and(|gate| gate != sample.gate)
            {
                overlaps.clear();
                readings.clear();
            }
            overlaps.extend(overlap(&sample));
            readings.take(&sample, copies);
            if let Some(reason) = sampling.stop(&readings.watched()) {
                break (reason, sample.gate);
            }
        };
        self.caveats.extend(partly_alone(&overlaps));
        let gave_up = lanes
            .gave_up()
            .map(|seconds| Condition::GateGaveUp.with(format!("{seconds} s")));
        self.caveats.extend(gave_up);
        let mut say = |now: &str| doing(tell, now);
        let verification = self.verify(&lanes, chain.as_ref(), copies, &mut say)?;
        nodes.extend(now(&host_memory));
        let thread = self.thread();
        let asked = match self.bench.backend.driver().soft_box {
            Some(_) => DRIVER,
            None => kernel(),
        };
        let (placement, unproven) = placement(&nodes, asked);
        self.caveats.extend(unproven);
        self.take_access_back(&mut say);
        let timing = Timing {
            source,
            gate,
            copies_per_sample: copies,
            warmup_copies: self.job.plan.warmups + 1,
        };
        let series = readings.into_series();
        Ok(Ended {
            outcome: measured(series, (timing, stopped), verification, placement),
            thread,
            caveats: self.caveats,
            lost: false,
        })
    }

    /// Binds this thread, which issues the copies, to the CPUs of the device's node, or to none where that is unknown.
    fn bind(&mut self) {
        if let Err(error) = bind(&self.job.cpus, self.cpus_at_start) {
            let device = "the device".to_owned();
            self.caveats.push(Caveat::NotBound {
                device,
                reason: error.to_string(),
            });
        }
    }

    /// Says to a simulated driver where this thread is on its box; the node, where it was told one.
    fn run_on(&mut self, stations: &[usize]) -> device::Result<Option<u32>> {
        let mut told = None;
        for ordinal in stations {
            let device = &self.bench.station(*ordinal)?.device;
            if device.run_on(self.job.thread_node)? {
                told = self.job.thread_node;
            }
        }
        Ok(told)
    }

    /// Where this thread was, where the job wants it on a node.
    fn thread(&self) -> Option<Placement> {
        let wanted = self.job.thread_node?;
        Some(thread_place(wanted, &self.job.cpus, self.placed_thread))
    }

    /// Allocates on the wanted nodes; where the kernel refuses that, without, and says so.
    fn allocate(&mut self, bytes: usize, say: Say<'_>) -> device::Result<Lanes<B>> {
        let may_spin = self.may_spin();
        let mut attempt = |bound: bool| -> device::Result<_> {
            let making = Making {
                bench: self.bench,
                case: self.case,
                job: self.job,
                bound,
                taken: (BTreeMap::new(), BTreeMap::new()),
            };
            let transfers = making.transfers(&self.streams, say)?;
            Lanes::new(self.bench, transfers, bytes, may_spin, say)
        };
        match attempt(true) {
            Err(DeviceError::HostMemory(
                refused @ (NumaError::Bind { .. } | NumaError::Policy { .. }),
            )) if self.job.all.iter().any(|member| member.node.is_some()) => {
                let allocated = attempt(false)?;
                self.caveats.push(Caveat::PlacementUnproven {
                    reason: refused.to_string(),
                });
                Ok(allocated)
            }
            outcome => outcome,
        }
    }

    /// Whether kernels may hold the streams. Where the driver itself moves bytes through host memory it may wait for a
    /// stream, and that for the gate.
    fn may_spin(&self) -> bool {
        self.case.pattern != Pattern::DriverStaged
            && self.case.pattern.memory() != Some(Memory::Pageable)
    }

    /// Lets the devices reach what they need, and nothing where the driver is to stage.
    fn set_access(&mut self, say: Say<'_>) -> device::Result<()> {
        if self.case.pattern == Pattern::DriverStaged
            && let [a, b] = transfers::stations(&self.streams)[..]
        {
            self.bench.disable_peer(a, b)?;
        }
        for (accessor, peer) in self.case.accesses(&self.streams) {
            say("enabling peer access");
            self.bench.enable_peer(accessor, peer)?;
        }
        Ok(())
    }

    /// Ends peer access where the job began it: without a switch a device has 8 peers at most at a time.
    fn take_access_back(&mut self, say: Say<'_>) {
        for (accessor, peer) in self.case.accesses(&self.streams) {
            say("taking peer access back");
            if let Err(error) = self.bench.disable_peer(accessor, peer) {
                let caveat = Condition::PeerAccessKept.with(error.to_string());
                self.caveats.push(caveat);
            }
        }
    }

    /// Says where a device's own memory could not be bound to its node.
    fn tell_unbound(&mut self, stations: &[usize]) -> device::Result<()> {
        for ordinal in stations {
            if let Some(reason) = self.bench.station(*ordinal)?.device.binding_refused() {
                let told = Caveat::PlacementUnproven { reason };
                if !self.caveats.contains(&told) {
                    self.caveats.push(told);
                }
            }
        }
        Ok(())
    }

    /// The host memory of the job that is anywhere: that of a simulated machine is where it was put, and else nowhere.
    fn host_memory<'l>(&self, lanes: &'l Lanes<B>) -> Vec<(Option<u32>, &'l HostBuffer)> {
        let is_soft = self.bench.backend.driver().soft_box.is_some();
        let is_somewhere = |(node, _): &(Option<u32>, _)| !is_soft || node.is_some();
        lanes.host_memory().filter(is_somewhere).collect()
    }

    /// Writes the chain of a chase, or where data is compared what is sent, and its complement to where it arrives.
    fn fill(&mut self, lanes: &Lanes<B>, say: Say<'_>) -> device::Result<Option<Chain>> {
        let mut chain = None;
        for transfer in lanes.transfers() {
            if self.case.measures == Measures::Latency {
                let written = Chain::new(self.job.bytes);
                self.bench
                    .write(&transfer.from, say, |bytes| written.write(bytes))?;
                chain = Some(written);
            } else {
                let pattern = transfer.pattern;
                self.bench
                    .write(&transfer.from, say, |bytes| pattern.fill(bytes))?;
                self.bench
                    .write(&transfer.to, say, |bytes| pattern.poison().fill(bytes))?;
            }
        }
        Ok(chain)
    }

    /// How many copies, or steps of a chase, fill the window, from one timed copy or lap.
    fn calibrate(&self, lanes: &Lanes<B>, chain: Option<&Chain>) -> device::Result<u32> {
        let effort = program::Effort::timed_by(self.bench.backend.time_source());
        let one = lanes.run(chain.map_or(1, |chain| chain.steps(1)))?;
        let most = lanes.most_copies();
        Ok(match (chain, self.case.measures) {
            (Some(chain), _) => chain.steps(fill(effort.window, one.total, MAX_LAPS)),
            (None, Measures::SmallCopies) => SMALL_COPIES.min(most),
            (None, _) => fill(effort.window, one.total, most.min(effort.most_copies)),
        })
    }

    fn verify(
        &mut self,
        lanes: &Lanes<B>,
        chain: Option<&Chain>,
        steps: u32,
        say: Say<'_>,
    ) -> device::Result<Verification> {
        for transfer in lanes.transfers() {
            let seen = match (&transfer.work, chain) {
                (Work::Chase(_, end), Some(chain)) => {
                    end.with_bytes(|bytes| chain.difference(bytes, steps))?
                }
                _ => {
                    let difference = self.bench.check(&transfer.to, transfer.pattern, say)?;
                    difference.map(|difference| difference.to_string())
                }
            };
            if let Some(seen) = seen {
                let several = self.streams.len() > 1;
                let name = if several { &transfer.name } else { "" };
                let between = if several { ": " } else { "" };
                return Ok(Verification::WrongData {
                    seen: format!("{name}{between}{seen}"),
                });
            }
        }
        Ok(Verification::Passed)
    }
}

/// How many of what takes so many nanoseconds fill a window, one at least.
fn fill(window: Duration, nanoseconds: f64, most: u32) -> u32 {
    let wanted = window.as_secs_f64() * 1e9 / nanoseconds.max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a u32 that is 1 or more"
    )]
    let count = wanted.ceil().clamp(1.0, f64::from(most.max(1))) as u32;
    count
}

/// The part of the longest lane's time in which the shortest ran, where there are several.
fn overlap(sample: &Sample) -> Option<f64> {
    let (shortest, longest) = (
        sample.lanes.iter().copied().reduce(f64::min)?,
        sample.lanes.iter().copied().reduce(f64::max)?,
    );
    (sample.lanes.len() > 1).then(|| shortest / longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::quantity::Gate;

    #[test]
    fn copies_fill_the_window_within_bounds() {
        const WINDOW: Duration = Duration::from_millis(20);
        // 20 ms of 3 ms each are 6.7; one of 50 ms; 2 us each would be 10,000.
        assert_eq!(fill(WINDOW, 3e6, 256), 7);
        assert_eq!(fill(WINDOW, 50e6, 256), 1);
        assert_eq!(fill(WINDOW, 2e3, 256), 256);
        assert_eq!(fill(WINDOW, 0.0, 0), 1);
    }

    #[test]
    fn the_overlap_is_that_of_the_shortest_lane_with_the_longest() {
        let sample = |lanes: &[f64]| Sample {
            lanes: lanes.to_vec(),
            total: 0.0,
            issuing: Duration::ZERO,
            gate: Gate::None,
        };
        // 3 of 4 ms.
        assert_eq!(overlap(&sample(&[4e6, 3e6, 3.5e6])), Some(0.75));
        assert_eq!(overlap(&sample(&[4e6])), None);
    }
}
