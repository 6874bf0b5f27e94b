//! Streams of the host backend: a thread on one CPU that does queued work in order.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::DeviceBuffer;
use super::copy::Copy;
use super::seats::Seat;
use super::shared::Operation;
use crate::backend::{self, Latch};
use crate::error::{DeviceError, Result};
use crate::memory::HostBuffer;

/// One piece of work.
enum Work {
    Copy(Copy),
    Collective(Operation),
    Record(Event, u64),
    Wait(Event, u64),
    Hold(Latch),
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
    pub(super) fn start(seat: Seat) -> Result<Self> {
        let cpu = seat.cpu();
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
            _seat: seat,
        })
    }

    fn push(&self, work: Work) -> Result<()> {
        self.queue
            .as_ref()
            .and_then(|queue| queue.send(work).ok())
            .ok_or(DeviceError::WorkerGone)
    }

    /// Queues a collective operation; what goes wrong is told when the stream is waited for.
    pub(super) fn collective(&self, operation: Operation) -> Result<()> {
        self.push(Work::Collective(operation))
    }

    fn copy(
        &self,
        to: (&HostBuffer, usize),
        from: (&HostBuffer, usize),
        bytes: usize,
    ) -> Result<()> {
        let (to, from) = ((&to.0.memory, to.1), (&from.0.memory, from.1));
        self.push(Work::Copy(Copy::new(to, from, bytes)?))
    }
}

fn run(work: &Receiver<Work>) {
    let mut in_flight = Vec::new();
    let mut outcome = Ok(());
    for work in work {
        match work {
            Work::Copy(copy) => in_flight.push(copy.run()),
            Work::Collective(operation) => {
                let (held, done) = operation.run();
                in_flight.push(held);
                outcome = outcome.and(done);
            }
            Work::Record(event, ticket) => event.reach(ticket),
            Work::Wait(event, ticket) => event.await_ticket(ticket),
            Work::Hold(latch) => latch.pass(),
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
        let ticket = event.issue();
        self.push(Work::Record(event.clone(), ticket))
    }

    fn wait(&self, event: &Event) -> Result<()> {
        let ticket = event.issued();
        self.push(Work::Wait(event.clone(), ticket))
    }

    fn hold(&self, latch: &Latch) -> Result<bool> {
        self.push(Work::Hold(latch.clone())).map(|()| true)
    }

    fn synchronize(&self) -> Result<()> {
        let (done, fence) = channel();
        self.push(Work::Fence(done))?;
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

/// A mark in a host stream.
#[derive(Debug, Clone, Default)]
pub struct Event(Arc<(Mutex<Mark>, Condvar)>);

/// How often an event was recorded, and the last time that was reached.
#[derive(Debug, Default)]
struct Mark {
    issued: u64,
    reached: Option<(u64, Instant)>,
}

impl Event {
    fn mark(&self) -> std::sync::MutexGuard<'_, Mark> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn issue(&self) -> u64 {
        let mut mark = self.mark();
        mark.issued += 1;
        mark.issued
    }

    fn issued(&self) -> u64 {
        self.mark().issued
    }

    /// Keeps the latest record: one of a slower stream that was queued before it counts no more.
    fn reach(&self, ticket: u64) {
        let now = Instant::now();
        let mut mark = self.mark();
        if mark.reached.is_none_or(|(reached, _)| reached < ticket) {
            mark.reached = Some((ticket, now));
        }
        drop(mark);
        self.0.1.notify_all();
    }

    /// Returns at once for an event that was never recorded, as the vendors' runtimes do.
    fn await_ticket(&self, ticket: u64) {
        let behind = |mark: &mut Mark| mark.reached.map_or(0, |(reached, _)| reached) < ticket;
        drop(self.0.1.wait_while(self.mark(), behind));
    }

    fn reached(&self) -> Result<Instant> {
        let mark = self.mark();
        match mark.reached {
            Some((ticket, at)) if ticket == mark.issued => Ok(at),
            _ => Err(DeviceError::EventNotReady),
        }
    }
}

impl backend::Event for Event {
    fn nanoseconds_since(&self, earlier: &Self) -> Result<f64> {
        let (end, start) = (self.reached()?, earlier.reached()?);
        let sign = if end >= start { 1.0 } else { -1.0 };
        let span = if end >= start {
            end - start
        } else {
            start - end
        };
        Ok(sign * span.as_secs_f64() * 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Event as _;

    #[test]
    fn an_event_has_a_time_only_when_its_latest_record_was_reached() {
        let (start, end) = (Event::default(), Event::default());
        start.reach(start.issue());
        assert!(end.nanoseconds_since(&start).is_err(), "never recorded");
        let ticket = end.issue();
        assert!(end.nanoseconds_since(&start).is_err(), "not reached");
        end.reach(ticket);
        assert!(end.nanoseconds_since(&start).unwrap() >= 0.0);
        assert!(start.nanoseconds_since(&end).unwrap() <= 0.0);
        end.issue();
        assert!(end.nanoseconds_since(&start).is_err(), "recorded again");
    }

    #[test]
    fn a_slower_stream_does_not_take_a_later_record_back() {
        let event = Event::default();
        let (first, second) = (event.issue(), event.issue());
        event.reach(second);
        let at = event.reached().unwrap();
        event.reach(first);
        assert_eq!(event.reached().unwrap(), at);
        // Would wait for ever if the second record were forgotten.
        event.await_ticket(second);
    }

    #[test]
    fn a_waiter_goes_on_when_the_record_is_reached() {
        let event = Event::default();
        let ticket = event.issue();
        let (began, wait_begins) = channel();
        let waiter = {
            let event = event.clone();
            thread::spawn(move || {
                began.send(()).unwrap();
                event.await_ticket(ticket);
                event.reached().is_ok()
            })
        };
        wait_begins.recv().unwrap();
        event.reach(ticket);
        assert!(waiter.join().unwrap(), "it went on before the record");
    }
}
