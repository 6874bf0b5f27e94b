//! The timed region: transfers as lanes that start together, and the time of each by events.
//!
//! Nothing but queueing happens between the first start mark and the last end mark; pattern, check and
//! allocation are outside. Where the backend can hold its streams, everything is queued before anything runs: on the host
//! backend by a latch, on GPUs by a kernel that spins on a flag (`hold.rs`).

use std::rc::Rc;
use std::time::Duration;

use device::{Backend, Device, DeviceError, Event, HostBuffer, Latch, Result, Stream};
use kernels::Place;
use record::clock::{Clock, Monotonic};
use record::quantity::Gate;

use super::bench::{Bench, End, Say};
use super::hold::Spin;
use super::staging::Relay;
use super::transfers::{Transfer, Work};

type StreamOf<B> = <<B as Backend>::Device as Device>::Stream;
type EventOf<B> = <<B as Backend>::Device as Device>::Event;

/// Copies in one sample at most.
const MAX_COPIES: u32 = 1024;

/// One transfer with its stream and marks.
struct Lane<B: Backend> {
    transfer: Transfer<B>,
    /// Lanes that its device issues, itself included: kernels share the device's multiprocessors.
    at_once: u32,
    stream: StreamOf<B>,
    start: EventOf<B>,
    end: EventOf<B>,
}

/// The lanes of a job.
pub(super) struct Lanes<B: Backend> {
    lanes: Vec<Lane<B>>,
    /// After the ends of all lanes, in the first lane's stream.
    total_end: EventOf<B>,
    spin: Spin<B::Device>,
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

impl<B: Backend> Lanes<B> {
    /// Makes streams and events for the transfers; `may_spin` where nothing speaks against a kernel that holds them.
    pub(super) fn new(
        bench: &mut Bench<B>,
        transfers: Vec<Transfer<B>>,
        bytes: usize,
        may_spin: bool,
        say: Say<'_>,
    ) -> Result<Self> {
        let issuer = transfers.first().map_or(0, |transfer| transfer.issuer);
        let total_end = bench.station(issuer)?.device.event()?;
        let issuers: Vec<usize> = transfers.iter().map(|transfer| transfer.issuer).collect();
        let at_once = |issuer| {
            issuers
                .iter()
                .fold(0, |sum, one| sum + u32::from(*one == issuer))
        };
        let lane = |transfer: Transfer<B>| -> Result<Lane<B>> {
            let device = &bench.station(transfer.issuer)?.device;
            Ok(Lane {
                stream: device.stream()?,
                start: device.event()?,
                end: device.event()?,
                at_once: at_once(transfer.issuer),
                transfer,
            })
        };
        let lanes: Vec<Lane<B>> = transfers.into_iter().map(lane).collect::<Result<_>>()?;
        let operations = lanes.iter().map(|lane| lane.operations(bytes)).max();
        let mut spin = Spin::none();
        if may_spin {
            spin = Spin::of(bench, &issuers, operations.unwrap_or(1), bytes, say)?;
        }
        Ok(Self {
            lanes,
            total_end,
            spin,
            bytes,
        })
    }

    /// The transfers, in the order of the samples' times.
    pub(super) fn transfers(&self) -> impl Iterator<Item = &Transfer<B>> {
        self.lanes.iter().map(|lane| &lane.transfer)
    }

    /// All host memory that the lanes copy from or to, or stage in, with the node on which it is wanted.
    pub(super) fn host_memory(&self) -> impl Iterator<Item = (Option<u32>, &HostBuffer)> {
        self.lanes.iter().flat_map(|lane| {
            let node = lane.transfer.node;
            lane.host_memory().map(move |buffer| (node, buffer))
        })
    }

    /// Copies that can be in one sample.
    pub(super) fn most_copies(&self) -> u32 {
        self.spin.most_copies().unwrap_or(MAX_COPIES)
    }

    /// Why the streams were let go without being told to, where that happened.
    pub(super) fn gave_up(&self) -> Option<u64> {
        self.spin.gave_up()
    }

    /// Runs once, held by no kernel: what a driver does at a first launch must not wait for a stream that is held.
    pub(super) fn warm_up(&self, count: u32) -> Result<()> {
        self.attempt(count, false).map(drop)
    }

    /// Runs `count` copies on every lane at once, or a chase of so many steps, and gives the times. A sample that the
    /// kernels that hold it gave up on is void: it is taken again without them, and so are all after it.
    pub(super) fn run(&self, count: u32) -> Result<Sample> {
        let spins = self.spin.is_on();
        let sample = self.attempt(count, spins)?;
        if spins && self.spin.check() {
            return self.attempt(count, false);
        }
        Ok(sample)
    }

    fn attempt(&self, count: u32, spins: bool) -> Result<Sample> {
        let latch = Latch::default();
        // Opened also on an early return, so that no held stream waits for ever.
        let opener = Opener(&latch, spins.then_some(&self.spin));
        let gate = self.hold(&latch, spins)?;
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
                lane.issue(self.bytes, count)?;
            }
        }
        let issuing = clock.now();
        for lane in &self.lanes {
            if let Work::Relay(relay) = &lane.transfer.work {
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
            if let Work::Relay(relay) = &lane.transfer.work {
                relay.synchronize()?;
            }
        }
        let lanes = self
            .lanes
            .iter()
            .map(|lane| lane.end.nanoseconds_since(&lane.start))
            .collect::<Result<_>>()?;
        Ok(Sample {
            lanes,
            total: self.total_end.nanoseconds_since(&first.start)?,
            issuing,
            gate,
        })
    }

    fn hold(&self, latch: &Latch, spins: bool) -> Result<Gate> {
        let mut held = true;
        for lane in &self.lanes {
            held &= lane.stream.hold(latch)?;
            if let Work::Relay(relay) = &lane.transfer.work {
                held &= relay.stream().hold(latch)?;
            }
        }
        if held {
            return Ok(Gate::HeldQueue);
        }
        if !spins {
            return Ok(Gate::None);
        }
        self.spin.close();
        for (index, lane) in self.lanes.iter().enumerate() {
            // The second half of a relay waits for the first, which is held.
            self.spin.hold(index, &lane.stream)?;
        }
        Ok(Gate::SpinKernel)
    }
}

struct Opener<'a, D: Device>(&'a Latch, Option<&'a Spin<D>>);

impl<D: Device> Drop for Opener<'_, D> {
    fn drop(&mut self) {
        self.0.open();
        if let Some(spin) = self.1 {
            spin.open();
        }
    }
}

impl<B: Backend> Lane<B> {
    fn host_memory(&self) -> impl Iterator<Item = &HostBuffer> {
        let ends = [&self.transfer.from, &self.transfer.to].into_iter();
        let ends = ends.filter_map(|end| match end {
            End::Host(buffer) => Some(buffer),
            End::Device(..) => None,
        });
        let ring = match &self.transfer.work {
            Work::Relay(relay) => Some(relay),
            _ => None,
        };
        ends.chain(ring.into_iter().flat_map(Relay::buffers))
    }

    /// Operations that one copy queues in this stream.
    fn operations(&self, bytes: usize) -> u32 {
        match &self.transfer.work {
            Work::Relay(_) => super::staging::operations(bytes),
            _ => 1,
        }
    }

    /// Queues one copy, or a chase of so many steps.
    fn issue(&self, bytes: usize, steps: u32) -> Result<()> {
        let Transfer { from, to, work, .. } = &self.transfer;
        match (work, from, to) {
            (Work::Chase(kernels, end), chain, _) => kernels.chase(
                &self.stream,
                place(chain),
                u64::from(steps),
                Place::Host(end, 0),
            ),
            (Work::KernelCopies(kernels), from, to) => {
                kernels.copy_beside(&self.stream, place(to), place(from), bytes, self.at_once)
            }
            (Work::Relay(relay), End::Device(_, from), End::Device(_, to)) => {
                relay.issue(&self.stream, to, from)
            }
            (_, End::Device(_, from), End::Device(_, to)) => {
                self.stream
                    .device_to_device((Rc::as_ref(to), 0), (Rc::as_ref(from), 0), bytes)
            }
            (_, End::Host(from), End::Device(_, to)) => {
                self.stream
                    .host_to_device((Rc::as_ref(to), 0), (from, 0), bytes)
            }
            (_, End::Device(_, from), End::Host(to)) => {
                self.stream
                    .device_to_host((to, 0), (Rc::as_ref(from), 0), bytes)
            }
            (_, End::Host(_), End::Host(_)) => Err(DeviceError::Unsupported {
                what: "a copy within host memory",
                why: "no case has one".to_owned(),
            }),
        }
    }
}

/// An end as kernels take it.
fn place<D: Device>(end: &End<D>) -> Place<'_, D> {
    match end {
        End::Host(buffer) => Place::Host(buffer, 0),
        End::Device(_, buffer) => Place::Device(Rc::as_ref(buffer), 0),
    }
}
