//! The checked copies of a probe: written by the owner of the source, moved by the accessing device, compared by the owner
//! of the destination.

use std::rc::Rc;

use device::pattern::Pattern;
use device::{Backend, Device, Result, Stream};
use kernels::{Kernels, Place};
use record::StepOutcome;

use super::super::bench::{Bench, End};
use super::quiet;

/// Times that a graph is launched: some paths are right the first time only.
const REPLAYS: u32 = 3;

/// What moves the data.
pub(super) enum By<'a, D: Device> {
    /// The driver's copy.
    CopyEngine,
    /// A kernel of the accessing device.
    Kernel(&'a Rc<Kernels<D>>),
}

impl<D: Device> By<'_, D> {
    /// Queues a copy in a stream of the accessing device.
    pub(super) fn queue(
        &self,
        stream: &D::Stream,
        target: &D::DeviceBuffer,
        source: &D::DeviceBuffer,
        bytes: usize,
    ) -> Result<()> {
        match self {
            Self::CopyEngine => stream.device_to_device((target, 0), (source, 0), bytes),
            Self::Kernel(kernels) => kernels.copy(
                stream,
                Place::Device(target, 0),
                Place::Device(source, 0),
                bytes,
            ),
        }
    }
}

/// Which way the data goes, and how it is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From the accessing device to its peer.
    Write,
    /// From the peer to the accessing device.
    Read,
    /// A write, captured once and launched as a graph.
    Replay,
}

/// What a checked copy came to.
pub(super) enum Checked {
    Copied(StepOutcome),
    /// The owner did not find what it was sent before anything was copied, which is not the peer's fault: in words.
    NotSent(String),
}

/// A copy issued by the first device of the pair, which accesses the second.
pub(super) fn copy<B: Backend>(
    bench: &mut Bench<B>,
    (from, to): (usize, usize),
    way: Way,
    by: &By<'_, B::Device>,
) -> Result<Checked> {
    let (owner, other) = match way {
        Way::Read => (to, from),
        Way::Write | Way::Replay => (from, to),
    };
    let bytes = program::Effort::timed_by(bench.backend.time_source()).checked_bytes;
    let pattern = Pattern::of(owner as u64 + 1, other as u64 + 1, bytes as u64);
    let (source, target) = (
        bench.device_end(owner, 0, &mut quiet)?,
        bench.device_end(other, 1, &mut quiet)?,
    );
    bench.write(&source, &mut quiet, |bytes| pattern.fill(bytes))?;
    if let Some(difference) = bench.check(&source, pattern, &mut quiet)? {
        return Ok(Checked::NotSent(format!(
            "the copy from the host to device {owner} and back is wrong, with no peer in it: {difference}"
        )));
    }
    let stream = bench.station(from)?.device.stream()?;
    let queue = || match (&source, &target) {
        (End::Device(_, source), End::Device(_, target)) => {
            by.queue(&stream, target, source, bytes)
        }
        _ => Ok(()),
    };
    let graph = if way == Way::Replay {
        match stream.capture(&mut || queue()) {
            Ok(Some(graph)) => Some(graph),
            Ok(None) => return Ok(skipped("the backend has no graphs")),
            Err(error) if error.is_lost() => return Err(error),
            // Nothing was done yet, so this says nothing of the path.
            Err(error) => return Ok(skipped(&format!("not captured: {error}"))),
        }
    } else {
        None
    };
    let times = if graph.is_some() { REPLAYS } else { 1 };
    for _ in 0..times {
        bench.write(&target, &mut quiet, |bytes| pattern.poison().fill(bytes))?;
        match &graph {
            Some(graph) => stream.launch(graph)?,
            None => queue()?,
        }
        stream.synchronize()?;
        if let Some(difference) = bench.check(&target, pattern, &mut quiet)? {
            return Ok(Checked::Copied(StepOutcome::WrongData {
                seen: difference.to_string(),
            }));
        }
    }
    let seen = match times {
        1 => format!("{bytes} bytes arrived, compared by their owner"),
        n => format!("{bytes} bytes arrived {n} times, compared by their owner each time"),
    };
    Ok(Checked::Copied(StepOutcome::Passed { seen }))
}

fn skipped(reason: &str) -> Checked {
    Checked::Copied(StepOutcome::Skipped {
        reason: reason.to_owned(),
    })
}
