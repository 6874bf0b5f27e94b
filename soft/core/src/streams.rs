//! The simulated driver's calls on streams and events, and work of other libraries in streams.

use crate::work::{Node, Patience, Transfer};
use crate::{Code, EventTime, Flow, Foreign, Outcome, SoftDriver};

impl SoftDriver {
    /// Opens a stream on a device.
    ///
    /// # Errors
    /// As the type says.
    pub fn open_stream(&mut self, ordinal: usize) -> Outcome<u64> {
        self.usable(ordinal)?;
        let stream = self.sim.open_stream(ordinal);
        self.streams.insert(stream, ordinal);
        Ok(stream)
    }

    /// The device's null stream.
    ///
    /// # Errors
    /// As the type says.
    pub fn null_stream(&self, ordinal: usize) -> Outcome<u64> {
        self.usable(ordinal)?;
        Ok(self.null_streams[ordinal])
    }

    /// Closes a stream after running everything that is pending.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`]; a null stream cannot be closed.
    pub fn close_stream(&mut self, stream: u64) -> Outcome<()> {
        self.stream(stream)?;
        if self.null_streams.contains(&stream) {
            return Err(Code::INVALID_HANDLE.into());
        }
        self.drain()?;
        self.captures.remove(&stream);
        self.streams.remove(&stream);
        self.sim.close_stream(stream);
        Ok(())
    }

    /// Waits until a stream has nothing left to do.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`]; [`Code::CAPTURE_UNSUPPORTED`] while the stream captures, which spoils the capture.
    pub fn synchronize_stream(&mut self, stream: u64) -> Outcome<()> {
        self.stream(stream)?;
        self.refuse_captured(stream)?;
        self.run_until(|sim| sim.is_idle(stream))?;
        // What ran may have lost the device.
        self.stream(stream).map(|_| ())
    }

    /// Opens an event on a device; `timed` says whether times can be asked of it.
    ///
    /// # Errors
    /// As the type says.
    pub fn open_event(&mut self, ordinal: usize, timed: bool) -> Outcome<u64> {
        self.usable(ordinal)?;
        let event = self.sim.open_event();
        self.events.insert(event, (ordinal, timed));
        Ok(event)
    }

    /// Closes an event.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`].
    pub fn close_event(&mut self, event: u64) -> Outcome<()> {
        self.event(event)?;
        self.events.remove(&event);
        self.sim.close_event(event);
        Ok(())
    }

    /// Records an event in a stream of the same device.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`] also where the devices differ.
    pub fn record(&mut self, event: u64, stream: u64) -> Outcome<()> {
        let ((of_event, _), of_stream) = (self.event(event)?, self.stream(stream)?);
        if of_event != of_stream {
            return Err(Code::INVALID_HANDLE.into());
        }
        self.refuse_captured(stream)?;
        self.sim.record(event, stream);
        Ok(())
    }

    /// Makes a stream wait for an event's latest record; an event that was never recorded is no wait.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`].
    pub fn wait_event(&mut self, stream: u64, event: u64) -> Outcome<()> {
        self.stream(stream)?;
        self.event(event)?;
        self.refuse_captured(stream)?;
        self.sim.wait(stream, event);
        Ok(())
    }

    /// Virtual time between two events of one device in milliseconds.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`] where one was never recorded, keeps no time, or belongs to another device;
    /// [`Code::NOT_READY`] where one is not reached.
    pub fn elapsed_ms(&mut self, from: u64, to: u64) -> Outcome<f64> {
        let ((a, timed_a), (b, timed_b)) = (self.event(from)?, self.event(to)?);
        if a != b || !timed_a || !timed_b {
            return Err(Code::INVALID_HANDLE.into());
        }
        self.move_ended(Patience::None);
        match (self.sim.event_time(from), self.sim.event_time(to)) {
            (EventTime::At(from), EventTime::At(to)) if self.unmoved.is_empty() => {
                Ok((to - from) / 1e6)
            }
            (EventTime::Never, _) | (_, EventTime::Never) => Err(Code::INVALID_HANDLE.into()),
            _ => Err(Code::NOT_READY.into()),
        }
    }

    /// Puts another library's work into a stream, or into the graph that the stream captures.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] where what it reads or writes is not memory of the stream's device, [`Code::INVALID_HANDLE`].
    pub fn enqueue(&mut self, foreign: Foreign, stream: u64) -> Outcome<()> {
        self.check_foreign(&foreign, stream)?;
        if !self.capture(stream, || Node::Foreign(foreign.clone()))? {
            self.issue_foreign(foreign, stream, false);
        }
        Ok(())
    }

    pub(crate) fn check_foreign(&self, foreign: &Foreign, stream: u64) -> Outcome<()> {
        let ordinal = self.stream(stream)?;
        let call = foreign.call();
        for (address, bytes) in [(call.from, call.from_bytes), (call.to, call.to_bytes)] {
            if self.owner(address, bytes)? != ordinal {
                return Err(Code::INVALID_VALUE.into());
            }
        }
        Ok(())
    }

    pub(crate) fn issue_foreign(&mut self, foreign: Foreign, stream: u64, captured: bool) {
        let (ticket, ns) = foreign.issue(captured);
        let chain = foreign.call().chain;
        if let Some(last) = self.chains.get(&chain) {
            self.sim.wait_for(stream, *last);
        }
        let operation = self.sim.run(stream, Flow::idle(ns));
        // Kept as long as the process: a communicator is seldom made.
        self.chains.insert(chain, (stream, operation));
        self.pending
            .insert(operation, Transfer::Foreign(foreign, ticket));
    }

    /// The device of a stream.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`].
    pub fn device_of_stream(&self, stream: u64) -> Outcome<usize> {
        self.stream(stream)
    }

    pub(crate) fn stream(&self, stream: u64) -> Outcome<usize> {
        self.devices()?;
        let ordinal = *self.streams.get(&stream).ok_or(Code::INVALID_HANDLE)?;
        self.usable(ordinal)?;
        Ok(ordinal)
    }

    fn event(&self, event: u64) -> Outcome<(usize, bool)> {
        self.devices()?;
        let (ordinal, timed) = *self.events.get(&event).ok_or(Code::INVALID_HANDLE)?;
        self.usable(ordinal)?;
        Ok((ordinal, timed))
    }
}
