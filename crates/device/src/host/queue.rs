//! Streams of the host backend: a thread on one CPU that does queued work in order.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::ffi::Part;
use super::{DeviceBuffer, Seat};
use crate::backend::{self, Latch};
use crate::error::{DeviceError, Result};
use crate::memory::{HostBuffer, InFlight};

/// One piece of work.
enum Work {
    /// Does something; what it needs is held until the next fence.
    Do(Vec<InFlight>, Box<dyn FnOnce() -> Result<()> + Send>),
    /// Everything before is done: let go of the buffers and say what failed first since the last fence.
    Fence(Sender<Result<()>>),
}

/// A worker thread and its queue.
pub struct Stream {
    queue: Option<Sender<Work>>,
    thread: Option<JoinHandle<()>>,
    /// Given back once the worker has ended.
    _seat: Seat,
}

impl Stream {
    /// Starts a worker on a CPU.
    pub(super) fn start(seat: &Seat) -> Result<Self> {
        let cpu = **seat;
        let (queue, work) = channel();
        let (pinned, outcome) = channel();
        let thread = thread::spawn(move || {
            let placed = numa::pin_thread_to_cpus(&[cpu]);
            let stays = placed.is_ok();
            if pinned.send(placed).is_ok() && stays {
                run(&work);
            }
        });
        outcome.recv().map_err(|_| DeviceError::WorkerGone)??;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
            _seat: Arc::clone(seat),
        })
    }

    fn send(&self, work: Work) -> Result<()> {
        let queue = self.queue.as_ref();
        let sent = queue.and_then(|queue| queue.send(work).ok());
        sent.ok_or(DeviceError::WorkerGone)
    }

    /// Queues work, with what it needs; what goes wrong is told when the stream is waited for.
    pub(super) fn push(
        &self,
        held: Vec<InFlight>,
        work: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Result<()> {
        self.send(Work::Do(held, Box::new(work)))
    }

    fn copy(
        &self,
        to: (&HostBuffer, usize),
        from: (&HostBuffer, usize),
        bytes: usize,
    ) -> Result<()> {
        let (to, one) = Part::new(&to.0.memory, to.1, bytes)?;
        let (from, other) = Part::new(&from.0.memory, from.1, bytes)?;
        self.push(vec![one, other], move || to.copy_from(&from))
    }
}

fn run(work: &Receiver<Work>) {
    let mut in_flight = Vec::new();
    let mut outcome = Ok(());
    for work in work {
        match work {
            Work::Do(held, work) => {
                in_flight.extend(held);
                outcome = outcome.and(work());
            }
            Work::Fence(done) => {
                in_flight.clear();
                // The waiter may be gone, which is no matter of this stream's.
                let _ = done.send(std::mem::replace(&mut outcome, Ok(())));
            }
        }
    }
}

/// The host backend has no kernels.
#[derive(Debug)]
pub enum NoKernel {}

/// A graph of the host backend, of which there is none: its worker has no launch that a graph could save.
#[derive(Debug)]
pub enum NoGraph {}

impl backend::Stream for Stream {
    type Event = Event;
    type DeviceBuffer = DeviceBuffer;
    type Graph = NoGraph;

    fn host_to_device(
        &self,
        to: (&DeviceBuffer, usize),
        from: (&HostBuffer, usize),
        bytes: usize,
    ) -> Result<()> {
        self.copy((&to.0.0, to.1), from, bytes)
    }

    fn device_to_host(
        &self,
        to: (&HostBuffer, usize),
        from: (&DeviceBuffer, usize),
        bytes: usize,
    ) -> Result<()> {
        self.copy(to, (&from.0.0, from.1), bytes)
    }

    fn device_to_device(
        &self,
        to: (&DeviceBuffer, usize),
        from: (&DeviceBuffer, usize),
        bytes: usize,
    ) -> Result<()> {
        self.copy((&to.0.0, to.1), (&from.0.0, from.1), bytes)
    }

    fn record(&self, event: &Event) -> Result<()> {
        let mark = Mark::default();
        *event.last() = Some(Arc::clone(&mark));
        self.push(Vec::new(), move || {
            mark.get_or_init(Instant::now);
            Ok(())
        })
    }

    /// Queues nothing for an event that was never recorded, as the vendors' runtimes do.
    fn wait(&self, event: &Event) -> Result<()> {
        let Some(mark) = event.last().clone() else {
            return Ok(());
        };
        self.push(Vec::new(), move || {
            mark.wait();
            Ok(())
        })
    }

    fn hold(&self, latch: &Latch) -> Result<bool> {
        let latch = latch.clone();
        let held = self.push(Vec::new(), move || {
            latch.pass();
            Ok(())
        });
        held.map(|()| true)
    }

    fn synchronize(&self) -> Result<()> {
        let (done, fence) = channel();
        self.send(Work::Fence(done))?;
        fence.recv().map_err(|_| DeviceError::WorkerGone)?
    }

    fn capture(&self, _record: &mut dyn FnMut() -> Result<()>) -> Result<Option<NoGraph>> {
        Ok(None)
    }

    fn launch(&self, graph: &NoGraph) -> Result<()> {
        match *graph {}
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A worker that panicked already said so on stderr.
            drop(thread.join());
        }
    }
}

/// When a stream reached one record of an event.
type Mark = Arc<OnceLock<Instant>>;

/// A mark in a host stream: the last time that it was recorded counts.
#[derive(Debug, Default)]
pub struct Event(Mutex<Option<Mark>>);

impl Event {
    fn last(&self) -> std::sync::MutexGuard<'_, Option<Mark>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reached(&self) -> Result<Instant> {
        let mark = self.last();
        let at = mark.as_ref().and_then(|mark| mark.get()).copied();
        at.ok_or(DeviceError::EventNotReady)
    }
}

impl backend::Event for Event {
    fn nanoseconds_since(&self, earlier: &Self) -> Result<f64> {
        let (end, start) = (self.reached()?, earlier.reached()?);
        let span = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64();
        Ok((span(start, end) - span(end, start)) * 1e9)
    }
}
