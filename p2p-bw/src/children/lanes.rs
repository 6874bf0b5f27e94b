//! The timed region: transfers as lanes that start together, and the time of each by events.
//!
//! Nothing but queueing happens between the first start mark and the last end mark; pattern, check and
//! allocation are outside. Where the backend can hold its streams, everything is queued before anything runs.

use std::rc::Rc;

use device::{Backend, Device, DeviceError, Event, HostBuffer, HostKind, Latch, Result, Stream};
use measure::quantity::Gate;

use super::bench::{Bench, End};
use super::staging::Relay;
use super::transfers::Transfer;

type StreamOf<B> = <<B as Backend>::Device as Device>::Stream;
type EventOf<B> = <<B as Backend>::Device as Device>::Event;

/// One transfer with its stream and marks.
struct Lane<B: Backend> {
    from: End<B::Device>,
    to: End<B::Device>,
    stream: StreamOf<B>,
    start: EventOf<B>,
    end: EventOf<B>,
    relay: Option<Relay<B::Device>>,
}

/// The lanes of a job.
pub(super) struct Lanes<B: Backend> {
    lanes: Vec<Lane<B>>,
    /// After the ends of all lanes, in the first lane's stream.
    total_end: EventOf<B>,
    bytes: usize,
}

/// Nanoseconds of one sample: each lane's, and from the first start to the last end.
pub(super) struct Times {
    pub(super) lanes: Vec<f64>,
    pub(super) total: f64,
}

impl<B: Backend> Lanes<B> {
    /// Makes streams and events for the transfers.
    pub(super) fn new(
        bench: &mut Bench<B>,
        transfers: &[Transfer<B>],
        bytes: usize,
        node: Option<u32>,
    ) -> Result<Self> {
        // The staging ring of the host backend needs no locked memory: its workers copy from any.
        let kind = if B::NAME == "host" {
            HostKind::Pageable
        } else {
            HostKind::Pinned
        };
        let mut lanes = Vec::new();
        for transfer in transfers {
            let device = bench.station(transfer.issuer)?.device.clone();
            let relay = match transfer.relay_to {
                None => None,
                Some(to) => Some(Relay::new(
                    &device,
                    &bench.station(to)?.device.clone(),
                    bytes,
                    kind,
                    node,
                )?),
            };
            let (start, end) = (device.event()?, device.event()?);
            let (from, to) = (transfer.from.clone(), transfer.to.clone());
            lanes.push(Lane {
                from,
                to,
                stream: device.stream()?,
                start,
                end,
                relay,
            });
        }
        let issuer = transfers.first().map_or(0, |transfer| transfer.issuer);
        let total_end = bench.station(issuer)?.device.event()?;
        Ok(Self {
            lanes,
            total_end,
            bytes,
        })
    }

    /// All host memory that the lanes copy from or to, or stage in.
    pub(super) fn host_memory(&self) -> Vec<&HostBuffer> {
        self.lanes.iter().flat_map(Lane::host_memory).collect()
    }

    /// Runs `copies` copies on every lane at once and gives the times; the second value is what held the start.
    pub(super) fn run(&self, copies: u32) -> Result<(Times, Gate)> {
        let latch = Latch::default();
        // Opened also on an early return, so that no held stream waits for ever.
        let opener = Opener(&latch);
        let gate = self.hold(&latch)?;
        let (first, others) = self.lanes.split_first().ok_or(DeviceError::WorkerGone)?;
        first.stream.record(&first.start)?;
        for lane in others {
            lane.stream.wait(&first.start)?;
            lane.stream.record(&lane.start)?;
        }
        for _ in 0..copies {
            for lane in &self.lanes {
                lane.issue(self.bytes)?;
            }
        }
        for lane in &self.lanes {
            if let Some(relay) = &lane.relay {
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
            if let Some(relay) = &lane.relay {
                relay.synchronize()?;
            }
        }
        let lanes = self
            .lanes
            .iter()
            .map(|lane| lane.end.nanoseconds_since(&lane.start))
            .collect::<Result<_>>()?;
        Ok((
            Times {
                lanes,
                total: self.total_end.nanoseconds_since(&first.start)?,
            },
            gate,
        ))
    }

    fn hold(&self, latch: &Latch) -> Result<Gate> {
        let mut held = true;
        for lane in &self.lanes {
            held &= lane.stream.hold(latch)?;
            if let Some(relay) = &lane.relay {
                held &= relay.stream().hold(latch)?;
            }
        }
        Ok(if held { Gate::HeldQueue } else { Gate::None })
    }
}

struct Opener<'a>(&'a Latch);

impl Drop for Opener<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

impl<B: Backend> Lane<B> {
    fn host_memory(&self) -> impl Iterator<Item = &HostBuffer> {
        let ends = [&self.from, &self.to].into_iter();
        let ends = ends.filter_map(|end| match end {
            End::Host(buffer) => Some(buffer),
            End::Device(..) => None,
        });
        ends.chain(self.relay.iter().flat_map(Relay::buffers))
    }

    fn issue(&self, bytes: usize) -> Result<()> {
        match (&self.from, &self.to, &self.relay) {
            (End::Device(_, from), End::Device(_, to), Some(relay)) => {
                relay.issue(&self.stream, to, from)
            }
            (End::Device(_, from), End::Device(_, to), None) => {
                self.stream
                    .device_to_device((Rc::as_ref(to), 0), (Rc::as_ref(from), 0), bytes)
            }
            (End::Host(from), End::Device(_, to), _) => {
                self.stream
                    .host_to_device((Rc::as_ref(to), 0), (from, 0), bytes)
            }
            (End::Device(_, from), End::Host(to), _) => {
                self.stream
                    .device_to_host((to, 0), (Rc::as_ref(from), 0), bytes)
            }
            (End::Host(_), End::Host(_), _) => Err(DeviceError::Unsupported {
                what: "a copy within host memory",
                why: "no case has one".to_owned(),
            }),
        }
    }
}
