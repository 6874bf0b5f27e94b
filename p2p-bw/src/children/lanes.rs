//! The timed region: transfers as lanes that start together, and the time of each by events.
//!
//! Nothing but queueing happens between the first start mark and the last end mark; pattern, check and
//! allocation are outside. Where the backend can hold its streams, everything is queued before anything runs: on the host
//! backend by a latch, on GPUs by a kernel that spins on a flag of the host in front of each lane.
//!
//! Drivers take a limited number of operations on a stream that does not go on, and then block the thread that issues them; one
//! that waits for a stream itself would wait for the gate. So few operations stand behind a gate, and it has a time-out.

use std::rc::Rc;
use std::time::Duration;

use device::pattern::Pattern;
use device::{Backend, Device, DeviceError, Event, HostBuffer, Latch, Result, Stream};
use kernels::{Gate as SpinGate, Kernels, Place};
use record::clock::{Clock, Monotonic};
use record::quantity::Gate;

use super::bench::{Bench, End};
use super::relay::{self, Relay};

/// Copies in one sample at most.
const MAX_COPIES: u32 = 1024;

/// One stream of copies, or one chase.
pub(super) struct Transfer<D: Device> {
    /// The device whose stream issues the copies.
    pub(super) issuer: usize,
    pub(super) from: Rc<End<D>>,
    /// For a chase the same as `from`: the chain.
    pub(super) to: Rc<End<D>>,
    pub(super) work: Work<D>,
}

/// Who does the work of a transfer.
pub(super) enum Work<D: Device> {
    /// The copy engine.
    Copies,
    /// The copy engines of two devices, through host memory.
    Relay(Relay<D>),
    /// A kernel on all multiprocessors.
    KernelCopies(Rc<Kernels<D>>),
    /// One thread of a kernel, which tells in this memory where it ended.
    Chase(Rc<Kernels<D>>, HostBuffer),
}

impl<D: Device> Transfer<D> {
    /// What is sent.
    pub(super) fn pattern(&self) -> Pattern {
        Pattern::of(self.from.code(), self.to.code(), self.from.bytes() as u64)
    }

    fn relay(&self) -> Option<&Relay<D>> {
        match &self.work {
            Work::Relay(relay) => Some(relay),
            _ => None,
        }
    }

    fn host_memory(&self) -> impl Iterator<Item = (Option<u32>, &HostBuffer)> {
        let ends = [&self.from, &self.to].into_iter();
        let ends = ends.filter_map(|end| match &**end {
            End::Host(buffer, node) => Some((*node, buffer)),
            End::Device(..) => None,
        });
        ends.chain(self.relay().into_iter().flat_map(Relay::buffers))
    }

    /// Queues one copy of so many bytes, or a chase of so many steps, beside as many others of its device.
    pub(super) fn issue(
        &self,
        stream: &D::Stream,
        bytes: usize,
        steps: u32,
        at_once: u32,
    ) -> Result<()> {
        let (from, to) = (&*self.from, &*self.to);
        match (&self.work, from, to) {
            (Work::Chase(kernels, end), ..) => {
                kernels.chase(stream, from.place(), steps.into(), Place::Host(end, 0))
            }
            (Work::KernelCopies(kernels), ..) => {
                kernels.copy_beside(stream, to.place(), from.place(), bytes, at_once)
            }
            (Work::Relay(relay), End::Device(_, from), End::Device(_, to)) => {
                relay.issue(stream, to, from, bytes)
            }
            (_, End::Device(_, from), End::Device(_, to)) => {
                stream.device_to_device((to, 0), (from, 0), bytes)
            }
            (_, End::Host(from, _), End::Device(_, to)) => {
                stream.host_to_device((to, 0), (from, 0), bytes)
            }
            (_, End::Device(_, from), End::Host(to, _)) => {
                stream.device_to_host((to, 0), (from, 0), bytes)
            }
            (_, End::Host(..), End::Host(..)) => Err(DeviceError::Unsupported {
                what: "a copy within host memory",
                why: "no case has one".to_owned(),
            }),
        }
    }
}

/// One transfer with its stream and marks.
struct Lane<D: Device> {
    transfer: Transfer<D>,
    /// Lanes that its device issues, itself included: kernels share the device's multiprocessors.
    at_once: u32,
    stream: D::Stream,
    start: D::Event,
    end: D::Event,
}

/// The lanes of a job.
pub(super) struct Lanes<D: Device> {
    lanes: Vec<Lane<D>>,
    /// After the ends of all lanes, in the first lane's stream.
    total_end: D::Event,
    gates: Option<Gates<D>>,
    bytes: usize,
}

/// One sample.
pub(super) struct Sample {
    /// Nanoseconds of each lane.
    pub(super) lanes: Vec<f64>,
    /// Nanoseconds from the first start to the last end.
    pub(super) total: f64,
    /// The host's time in the calls that issued the copies.
    pub(super) issuing: Duration,
    /// What held the start.
    pub(super) gate: Gate,
}

impl<D: Device> Lanes<D> {
    /// Makes streams and events for the transfers; `may_spin` where nothing speaks against a kernel that holds them.
    pub(super) fn new<B: Backend<Device = D>>(
        bench: &mut Bench<B>,
        transfers: Vec<Transfer<D>>,
        bytes: usize,
        may_spin: bool,
    ) -> Result<Self> {
        let issuers: Vec<usize> = transfers.iter().map(|transfer| transfer.issuer).collect();
        let first = issuers.first().copied().unwrap_or(0);
        let total_end = bench.device(first)?.event()?;
        let mut relays = transfers.iter().filter_map(Transfer::relay);
        let operations = relays.next().map_or(1, |_| relay::operations(bytes));
        let lane = |transfer: Transfer<D>| -> Result<Lane<D>> {
            let device = bench.device(transfer.issuer)?;
            let same = issuers.iter().filter(|issuer| **issuer == transfer.issuer);
            Ok(Lane {
                stream: device.stream()?,
                start: device.event()?,
                end: device.event()?,
                at_once: same.map(|_| 1).sum(),
                transfer,
            })
        };
        let lanes = transfers.into_iter().map(lane).collect::<Result<_>>()?;
        let gates = may_spin.then(|| Gates::of(bench, &issuers, operations, bytes));
        let gates = gates.transpose()?.flatten();
        Ok(Self {
            lanes,
            total_end,
            gates,
            bytes,
        })
    }

    /// The transfers, in the order of the samples' times.
    pub(super) fn transfers(&self) -> impl Iterator<Item = &Transfer<D>> {
        self.lanes.iter().map(|lane| &lane.transfer)
    }

    /// All host memory that the lanes copy from or to, or stage in, with the node on which it is wanted.
    pub(super) fn host_memory(&self) -> impl Iterator<Item = (Option<u32>, &HostBuffer)> {
        self.transfers().flat_map(Transfer::host_memory)
    }

    /// Copies that can be in one sample.
    pub(super) fn most_copies(&self) -> u32 {
        let gates = self.gates.as_ref();
        gates.map_or(MAX_COPIES, |gates| gates.most_copies)
    }

    /// Runs once, held by no kernel: what a driver does at a first launch must not wait for a stream that is held.
    pub(super) fn warm_up(&self, count: u32) -> Result<()> {
        self.attempt(count, None).map(drop)
    }

    /// Runs `count` copies on every lane at once, or a chase of so many steps, and gives the times. A sample that the
    /// kernels that hold it gave up on is void: it is taken again without them, and so are all after it.
    pub(super) fn run(&mut self, count: u32) -> Result<Sample> {
        let sample = self.attempt(count, self.gates.as_ref())?;
        if self.gates.as_ref().is_some_and(Gates::timed_out) {
            self.gates = None;
            return self.attempt(count, None);
        }
        Ok(sample)
    }

    fn attempt(&self, count: u32, gates: Option<&Gates<D>>) -> Result<Sample> {
        let latch = Latch::default();
        // Opened also on an early return, so that no held stream waits for ever.
        let opener = Opener(&latch, gates);
        let gate = self.hold(&latch, gates)?;
        let (first, others) = self.lanes.split_first().ok_or(DeviceError::WorkerGone)?;
        first.stream.record(&first.start)?;
        for lane in others {
            lane.stream.wait(&first.start)?;
            lane.stream.record(&lane.start)?;
        }
        let clock = Monotonic::start();
        // The steps of a chase are one launch.
        let is_chase = matches!(first.transfer.work, Work::Chase(..));
        for _ in 0..if is_chase { 1 } else { count } {
            for lane in &self.lanes {
                lane.transfer
                    .issue(&lane.stream, self.bytes, count, lane.at_once)?;
            }
        }
        let issuing = clock.now();
        for lane in &self.lanes {
            if let Some(relay) = lane.transfer.relay() {
                relay.join(&lane.stream)?;
            }
            lane.stream.record(&lane.end)?;
        }
        for lane in others {
            first.stream.wait(&lane.end)?;
        }
        first.stream.record(&self.total_end)?;
        drop(opener);
        for lane in &self.lanes {
            lane.stream.synchronize()?;
            if let Some(relay) = lane.transfer.relay() {
                relay.stream.synchronize()?;
            }
        }
        let took = |lane: &Lane<D>| lane.end.nanoseconds_since(&lane.start);
        Ok(Sample {
            lanes: self.lanes.iter().map(took).collect::<Result<_>>()?,
            total: self.total_end.nanoseconds_since(&first.start)?,
            issuing,
            gate,
        })
    }

    fn hold(&self, latch: &Latch, gates: Option<&Gates<D>>) -> Result<Gate> {
        let mut held = true;
        for lane in &self.lanes {
            held &= lane.stream.hold(latch)?;
            if let Some(relay) = lane.transfer.relay() {
                held &= relay.stream.hold(latch)?;
            }
        }
        Ok(match gates {
            _ if held => Gate::HeldQueue,
            None => Gate::None,
            Some(gates) => {
                gates.close();
                // The second half of a relay waits for the first, which is held.
                let streams: Vec<_> = self.lanes.iter().map(|lane| &lane.stream).collect();
                gates.hold(&streams)?;
                Gate::SpinKernel
            }
        })
    }
}

struct Opener<'a, D: Device>(&'a Latch, Option<&'a Gates<D>>);

impl<D: Device> Drop for Opener<'_, D> {
    fn drop(&mut self) {
        self.0.open();
        if let Some(gates) = self.1 {
            gates.open();
        }
    }
}

/// Operations behind a gate at most, in one stream: NVIDIA's driver takes 1024 before it blocks.
const MOST_OPERATIONS: u32 = 256;

/// Nanoseconds after which a kernel stops waiting: queueing takes a few milliseconds.
const TIMEOUT_NS: u64 = 2_000_000_000;

/// The gates of lanes, one each.
pub(super) struct Gates<D: Device> {
    gates: Vec<(Rc<Kernels<D>>, SpinGate)>,
    /// Copies of a lane that may stand behind its gate.
    pub(super) most_copies: u32,
    timeout_ns: u64,
}

impl<D: Device> Gates<D> {
    /// Gates for lanes that these devices issue, whose copies take so many operations each; none where one copy alone takes too
    /// many, or a device has no kernels: copies need none, and the numbers say that nothing held them.
    ///
    /// # Errors
    /// The device is lost, or out of memory.
    pub(super) fn of<B: Backend<Device = D>>(
        bench: &mut Bench<B>,
        issuers: &[usize],
        operations: u32,
        bytes: usize,
    ) -> Result<Option<Self>> {
        let mut gates = Self {
            gates: Vec::new(),
            most_copies: MOST_OPERATIONS / operations.max(1),
            // A copy may take a driver that stages it as long as this, a byte a nanosecond.
            timeout_ns: TIMEOUT_NS.saturating_add(bytes as u64),
        };
        if gates.most_copies == 0 {
            return Ok(None);
        }
        let mut streams = Vec::new();
        for issuer in issuers {
            let kernels = match bench.kernels(*issuer) {
                Ok(kernels) => kernels,
                Err(error) if error.is_lost() => return Err(error),
                Err(_) => return Ok(None),
            };
            let gate = kernels.gate()?;
            gates.gates.push((kernels, gate));
            streams.push(bench.device(*issuer)?.stream()?);
        }
        // No launch behind a closed gate is the first.
        gates.open();
        gates.hold(&streams.iter().collect::<Vec<_>>())?;
        streams.iter().try_for_each(Stream::synchronize)?;
        Ok(Some(gates))
    }

    /// Holds the streams of the lanes.
    fn hold(&self, streams: &[&D::Stream]) -> Result<()> {
        for ((kernels, gate), stream) in self.gates.iter().zip(streams) {
            kernels.hold(stream, gate, self.timeout_ns)?;
        }
        Ok(())
    }

    /// Closes the gates; no stream may be held by one.
    pub(super) fn close(&self) {
        self.gates.iter().for_each(|(_, gate)| gate.close());
    }

    /// Opens the gates.
    pub(super) fn open(&self) {
        self.gates.iter().for_each(|(_, gate)| gate.open());
    }

    /// Whether a stream that was waited for had given up waiting.
    pub(super) fn timed_out(&self) -> bool {
        self.gates.iter().any(|(_, gate)| gate.timed_out())
    }
}
