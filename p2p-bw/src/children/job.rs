//! One job: memory, pattern, warm-up, timed samples, check.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use device::{Backend, Device, DeviceError, HostKind, Result};
use numa::NumaError;
use record::caveat::{Caveat, Condition};
use record::clock::Monotonic;
use record::plan::Sampling;
use record::{Endpoint, Verification};

use super::bench::{Bench, End};
use super::chain::Chain;
use super::lanes::{Lanes, Transfer, Work};
use super::relay::Relay;
use super::{placed, series};
use crate::cases::{Case, Engine, Measures, Memory, Pattern, Stream};
use crate::messages::{Finding, Job};

/// Small copies in one sample: as many as the field's tools take.
const SMALL_COPIES: u32 = 100;

/// Laps of a chain in one sample at most.
const MAX_LAPS: u32 = 1024;

/// Bytes that a kernel's copy moves at once.
const VECTOR: u64 = 16;

/// Bytes of the host memory in which a chase tells where it ended.
const END_BYTES: usize = 8;

/// Streams that were under way together for less than this part of the longest one's time are said to be so.
const LEAST_OVERLAP: f64 = 0.95;

/// Measures a job.
///
/// # Errors
/// The device or the system refuses something.
pub(super) fn measured<B: Backend>(
    bench: &mut Bench<B>,
    job: &Job,
    cpus_at_start: &[usize],
) -> Result<Finding> {
    let case = Case::of(&job.case).ok_or_else(|| DeviceError::Unsupported {
        what: "a case",
        why: format!("there is no `{}`", job.case),
    })?;
    let run = Run {
        streams: job.streams(case),
        bytes: usize::try_from(job.bytes).unwrap_or(usize::MAX),
        bench,
        case,
        job,
        caveats: Vec::new(),
    };
    run.measured(cpus_at_start)
}

/// One job under way.
struct Run<'a, B: Backend> {
    bench: &'a mut Bench<B>,
    case: &'a Case,
    job: &'a Job,
    streams: Vec<Stream>,
    bytes: usize,
    caveats: Vec<Caveat>,
}

impl<B: Backend> Run<'_, B> {
    fn measured(mut self, cpus_at_start: &[usize]) -> Result<Finding> {
        self.bench.doing("allocating");
        self.bind(cpus_at_start);
        let devices = self.devices()?;
        let mut placed_thread = None;
        for device in &devices {
            if device.run_on(self.job.thread_node)? {
                placed_thread = self.job.thread_node;
            }
        }
        let mut lanes = self.allocate()?;
        // This way only, as the other may be denied, or hang.
        for (accessor, peer) in self.accesses()? {
            self.bench.doing("enabling peer access");
            accessor.enable_peer(&peer)?;
        }
        for reason in devices.iter().filter_map(Device::binding_refused) {
            let unbound = Caveat::PlacementUnproven { reason };
            if !self.caveats.contains(&unbound) {
                self.caveats.push(unbound);
            }
        }
        // That of a simulated machine is where it was put, and else nowhere.
        let is_soft = self.bench.is_soft();
        let nodes = |lanes: &Lanes<B::Device>| -> Vec<_> {
            let memory = lanes.host_memory();
            let memory = memory.filter(|(node, _)| !is_soft || node.is_some());
            memory
                .map(|(node, buffer)| (node, buffer.node_now()))
                .collect()
        };
        let mut answers = nodes(&lanes);
        let chain = self.fill(&lanes)?;
        self.bench.doing("warming up");
        let once = chain.as_ref().map_or(1, |chain| chain.steps(1));
        for _ in 0..self.job.plan.warmups {
            lanes.warm_up(once)?;
        }
        let copies = self.calibrate(&mut lanes, chain.as_ref())?;
        let names = self.streams.iter().map(|stream| stream.name.clone());
        let clock = Monotonic::start();
        let sampling = Sampling::start(self.job.plan, &clock);
        let sampled = series::sampled(
            self.bench,
            &mut lanes,
            (self.case.measures, names.collect()),
            (self.job.bytes, copies, self.job.plan.warmups + 1),
            |series| sampling.stop(series),
        )?;
        // Of one stream it is all of the time.
        let partly_alone = stats::median(&sampled.overlaps);
        let partly_alone = partly_alone.filter(|overlap| *overlap < LEAST_OVERLAP);
        let partly_alone = partly_alone.map(|overlapped| Caveat::PartlyAlone { overlapped });
        self.caveats.extend(partly_alone);
        let verification = self.verify(&lanes, chain.as_ref(), copies)?;
        answers.extend(nodes(&lanes));
        let thread = self.job.thread_node;
        let thread = thread.map(|node| placed::thread(node, &self.job.cpus, placed_thread));
        let (placement, unproven) = placed::memory(&answers, is_soft);
        self.caveats.extend(unproven);
        self.take_access_back()?;
        Ok(Finding {
            thread,
            caveats: self.caveats,
            ..Finding::without_numbers(sampled.measured(verification, placement))
        })
    }

    fn is_chase(&self) -> bool {
        self.case.measures == Measures::Latency
    }

    /// The devices that take part, each once.
    fn devices(&mut self) -> Result<Vec<B::Device>> {
        let ends = self
            .streams
            .iter()
            .flat_map(|stream| [stream.from, stream.to]);
        let ordinals = ends.filter_map(|end| match end {
            Endpoint::Device(ordinal) => Some(ordinal),
            Endpoint::Host | Endpoint::All => None,
        });
        let ordinals: BTreeSet<usize> = ordinals.collect();
        let open = |ordinal| self.bench.device(ordinal);
        ordinals.into_iter().map(open).collect()
    }

    /// Binds this thread, which issues the copies, to the CPUs of the device's node, or to those at its start where that is unknown.
    fn bind(&mut self, cpus_at_start: &[usize]) {
        let cpus = match &self.job.cpus[..] {
            [] => cpus_at_start,
            cpus => cpus,
        };
        if !cpus.is_empty()
            && let Err(error) = numa::pin_thread_to_cpus(cpus)
        {
            self.caveats.push(Caveat::NotBound {
                device: "the device".to_owned(),
                reason: error.to_string(),
            });
        }
    }

    /// Allocates on the wanted nodes; where the kernel refuses that, without, and says so.
    fn allocate(&mut self) -> Result<Lanes<B::Device>> {
        // Where the driver itself moves bytes through host memory it may wait for a stream, and that for the gate.
        let may_spin = self.case.pattern.memory() != Some(Memory::Pageable);
        let transfers = match self.transfers(true) {
            Err(DeviceError::HostMemory(
                refused @ (NumaError::Bind { .. } | NumaError::Policy { .. }),
            )) if self.job.all.iter().any(|member| member.node.is_some()) => {
                let reason = refused.to_string();
                self.caveats.push(Caveat::PlacementUnproven { reason });
                self.transfers(false)
            }
            made => made,
        };
        Lanes::new(self.bench, transfers?, self.bytes, may_spin)
    }

    /// The transfers of the streams with their buffers, in host memory on the nodes that the job names where it is `bound`.
    fn transfers(&mut self, bound: bool) -> Result<Vec<Transfer<B::Device>>> {
        let streams = self.streams.clone();
        let transfer = |stream: &Stream| self.transfer(stream, bound);
        streams.iter().map(transfer).collect()
    }

    fn transfer(&mut self, stream: &Stream, bound: bool) -> Result<Transfer<B::Device>> {
        let issuer = stream.issuer;
        let mut members = self.job.all.iter().filter(|_| bound);
        let node = members
            .find(|member| member.ordinal == issuer)
            .and_then(|member| member.node);
        // Kernels come first: where there are none, nothing is allocated.
        let kernels = match self.case.engine {
            Engine::Copy => None,
            Engine::Kernel => Some(self.bench.kernels(issuer)?),
        };
        let (from, to, work) = if let Some(kernels) = kernels.clone().filter(|_| self.is_chase()) {
            let chain = self.end(stream.walked(), issuer, node)?;
            let device = self.bench.device(issuer)?;
            let end = device.alloc_host(HostKind::Pinned, END_BYTES, node)?;
            (Rc::clone(&chain), chain, Work::Chase(kernels, end))
        } else {
            if kernels.is_some() && !self.job.bytes.is_multiple_of(VECTOR) {
                let why =
                    format!("it moves words of {VECTOR} bytes; use --sizes that are multiples");
                let what = "a kernel's copy of this size";
                return Err(DeviceError::Unsupported { what, why });
            }
            let from = self.end(stream.from, issuer, node)?;
            let to = self.end(stream.to, issuer, node)?;
            let is_staged = self.case.pattern == Pattern::Staged;
            let work = match (kernels, &*from, &*to) {
                (Some(kernels), ..) => Work::KernelCopies(kernels),
                (None, End::Device(from, _), End::Device(to, _)) if is_staged => {
                    // The host backend's workers copy from any memory.
                    let kind = match B::NAME {
                        "host" => HostKind::Pageable,
                        _ => HostKind::Pinned,
                    };
                    Work::Relay(Relay::new(from, to, self.bytes, (kind, node))?)
                }
                _ => Work::Copies,
            };
            (from, to, work)
        };
        Ok(Transfer {
            issuer,
            from,
            to,
            work,
        })
    }

    /// Memory at an end of a stream that this device issues.
    fn end(
        &mut self,
        end: Endpoint,
        issuer: usize,
        node: Option<u32>,
    ) -> Result<Rc<End<B::Device>>> {
        if let Endpoint::Device(ordinal) = end {
            return self.bench.device_end(ordinal, self.bytes);
        }
        let kind = match self.case.pattern.memory() {
            Some(Memory::Pageable) => HostKind::Pageable,
            _ => HostKind::Pinned,
        };
        self.bench.doing("allocating host memory");
        let device = self.bench.device(issuer)?;
        let memory = device.alloc_host(kind, self.bytes, node)?;
        Ok(Rc::new(End::Host(memory, node)))
    }

    /// The devices that reach each other's memory.
    fn accesses(&mut self) -> Result<Vec<(B::Device, B::Device)>> {
        let accesses = self.case.accesses(&self.streams).into_iter();
        let open = |(a, b)| Ok((self.bench.device(a)?, self.bench.device(b)?));
        accesses.map(open).collect()
    }

    /// Ends peer access where the job began it: without a switch a device has 8 peers at most at a time.
    fn take_access_back(&mut self) -> Result<()> {
        for (accessor, peer) in self.accesses()? {
            self.bench.doing("taking peer access back");
            if let Err(error) = accessor.disable_peer(&peer) {
                let kept = Condition::PeerAccessKept.with(error.to_string());
                self.caveats.push(kept);
            }
        }
        Ok(())
    }

    /// Writes the chain of a chase, or where data is compared what is sent, and its complement to where it arrives.
    fn fill(&mut self, lanes: &Lanes<B::Device>) -> Result<Option<Chain>> {
        let chain = self.is_chase().then(|| Chain::new(self.bytes));
        for transfer in lanes.transfers() {
            if let Some(chain) = &chain {
                let write = |bytes: &mut [u8]| bytes.copy_from_slice(&chain.bytes);
                self.bench.write(&transfer.from, write)?;
            } else {
                let pattern = transfer.pattern();
                self.bench
                    .write(&transfer.from, |bytes| pattern.fill(bytes))?;
                let poison = pattern.poison();
                self.bench.write(&transfer.to, |bytes| poison.fill(bytes))?;
            }
        }
        Ok(chain)
    }

    /// How many copies, or steps of a chase, fill the window, from one timed copy or lap.
    fn calibrate(&self, lanes: &mut Lanes<B::Device>, chain: Option<&Chain>) -> Result<u32> {
        let effort = self.bench.effort();
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
        lanes: &Lanes<B::Device>,
        chain: Option<&Chain>,
        steps: u32,
    ) -> Result<Verification> {
        for (stream, transfer) in self.streams.iter().zip(lanes.transfers()) {
            let seen = match (&transfer.work, chain) {
                (Work::Chase(_, end), Some(chain)) => {
                    end.with_bytes(|bytes| chain.difference(bytes, steps))?
                }
                _ => {
                    let difference = self.bench.check(&transfer.to, transfer.pattern())?;
                    difference.map(|difference| difference.to_string())
                }
            };
            if let Some(seen) = seen {
                let seen = match self.streams.len() {
                    1 => seen,
                    _ => format!("{}: {seen}", stream.name),
                };
                return Ok(Verification::WrongData { seen });
            }
        }
        Ok(Verification::Passed)
    }
}

/// How many of what takes so many nanoseconds fill a window, one at least.
fn fill(window: Duration, nanoseconds: f64, most: u32) -> u32 {
    let wanted = window.as_secs_f64() * 1e9 / nanoseconds.max(1.0);
    wanted.ceil().clamp(1.0, f64::from(most.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_fill_the_window_within_bounds() {
        const WINDOW: Duration = Duration::from_millis(20);
        // 20 ms of 3 ms each are 6.7; one of 50 ms; 2 us each would be 10,000.
        assert_eq!(fill(WINDOW, 3e6, 256), 7);
        assert_eq!(fill(WINDOW, 50e6, 256), 1);
        assert_eq!(fill(WINDOW, 2e3, 256), 256);
        assert_eq!(fill(WINDOW, 0.0, 0), 1);
    }
}
