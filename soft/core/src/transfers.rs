//! The soft driver's calls on streams, events, copies and fills.

use crate::faults::{CopyKind, Damage};
use crate::memory::{HostAddress, Place};
use crate::{Code, EventTime, Flow, Outcome, SoftDriver, Step};

/// What happens to bytes when an operation ends.
#[derive(Debug)]
pub(crate) enum Transfer {
    Copy {
        to: Place,
        from: Place,
        bytes: usize,
        damage: Option<Damage>,
    },
    Fill {
        to: u64,
        bytes: usize,
        pattern: [u8; 4],
        width: usize,
    },
}

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
        self.streams.remove(&stream);
        self.sim.close_stream(stream);
        Ok(())
    }

    /// Waits until a stream has nothing left to do.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`].
    pub fn synchronize_stream(&mut self, stream: u64) -> Outcome<()> {
        self.stream(stream)?;
        self.run_until(|sim| sim.is_idle(stream))
    }

    /// Waits until no stream of a device has anything left to do.
    ///
    /// # Errors
    /// As the type says.
    pub fn synchronize_device(&mut self, ordinal: usize) -> Outcome<()> {
        self.usable(ordinal)?;
        let own: Vec<u64> = self
            .streams
            .iter()
            .filter(|(_, of)| **of == ordinal)
            .map(|(stream, _)| *stream)
            .collect();
        self.run_until(|sim| own.iter().all(|stream| sim.is_idle(*stream)))
    }

    /// Whether a stream has nothing left to do; where it has, the clock runs to the next change.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`].
    pub fn query_stream(&mut self, stream: u64) -> Outcome<bool> {
        self.stream(stream)?;
        self.move_ended();
        let idle = self.sim.is_idle(stream);
        if !idle {
            self.poll();
        }
        Ok(idle)
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
        self.sim.wait(stream, event);
        Ok(())
    }

    /// Waits until an event's latest record is reached; at once where there is none.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`].
    pub fn synchronize_event(&mut self, event: u64) -> Outcome<()> {
        self.event(event)?;
        self.run_until(|sim| sim.event_time(event) != EventTime::Pending)
    }

    /// Whether an event's latest record is reached; where it is not, the clock runs to the next change.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`].
    pub fn query_event(&mut self, event: u64) -> Outcome<bool> {
        self.event(event)?;
        self.move_ended();
        let reached = self.sim.event_time(event) != EventTime::Pending;
        if !reached {
            self.poll();
        }
        Ok(reached)
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
        self.move_ended();
        match (self.sim.event_time(from), self.sim.event_time(to)) {
            (EventTime::At(from), EventTime::At(to)) => Ok((to - from) / 1e6),
            (EventTime::Never, _) | (_, EventTime::Never) => Err(Code::INVALID_HANDLE.into()),
            _ => Err(Code::NOT_READY.into()),
        }
    }

    /// Copies host to device; returns at once from pinned memory, at the copy's end from pageable memory.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] where the device range is not inside one allocation, [`Code::INVALID_HANDLE`].
    pub fn copy_h2d(
        &mut self,
        to: u64,
        from: HostAddress,
        bytes: usize,
        stream: u64,
    ) -> Outcome<()> {
        let ordinal = self.owner(to, bytes)?;
        let pinned = self.memory.is_pinned(from.get(), bytes);
        let kind = CopyKind::H2d(self.ordinals[ordinal].physical);
        self.issue_copy(
            kind,
            pinned,
            stream,
            (Place::Device(to), Place::Host(from), bytes),
        )
    }

    /// Copies device to host; returns at once into pinned memory, at the copy's end into pageable memory.
    ///
    /// # Errors
    /// As [`SoftDriver::copy_h2d`].
    pub fn copy_d2h(
        &mut self,
        to: HostAddress,
        from: u64,
        bytes: usize,
        stream: u64,
    ) -> Outcome<()> {
        let ordinal = self.owner(from, bytes)?;
        let pinned = self.memory.is_pinned(to.get(), bytes);
        let kind = CopyKind::D2h(self.ordinals[ordinal].physical);
        self.issue_copy(
            kind,
            pinned,
            stream,
            (Place::Host(to), Place::Device(from), bytes),
        )
    }

    /// Copies device to device: locally, directly where access is enabled, else staged.
    ///
    /// # Errors
    /// As [`SoftDriver::copy_h2d`].
    pub fn copy_d2d(&mut self, to: u64, from: u64, bytes: usize, stream: u64) -> Outcome<()> {
        let (source, target) = (self.owner(from, bytes)?, self.owner(to, bytes)?);
        let kind = self.peer_kind(source, target, self.stream(stream)?);
        self.issue_copy(
            kind,
            true,
            stream,
            (Place::Device(to), Place::Device(from), bytes),
        )
    }

    /// Whether an address is device memory.
    #[must_use]
    pub fn is_device_memory(&self, address: u64) -> bool {
        self.memory.ordinal_of(address, 1).is_some()
    }

    /// The device whose allocation holds the range.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] where no single allocation does; [`Code::LAUNCH_FAILED`].
    pub fn owner(&self, address: u64, bytes: usize) -> Outcome<usize> {
        self.devices()?;
        let ordinal = self
            .memory
            .ordinal_of(address, bytes)
            .ok_or(Code::INVALID_VALUE)?;
        self.usable(ordinal)?;
        Ok(ordinal)
    }

    /// Fills device memory with a pattern of 1 or 4 bytes, in no time.
    ///
    /// # Errors
    /// As [`SoftDriver::copy_h2d`].
    pub fn fill(
        &mut self,
        to: u64,
        bytes: usize,
        pattern: [u8; 4],
        width: usize,
        stream: u64,
    ) -> Outcome<()> {
        self.owner(to, bytes)?;
        self.stream(stream)?;
        // The transfer must be known before the simulation can end the operation.
        let operation = self.sim.instant(stream);
        self.pending.insert(
            operation,
            Transfer::Fill {
                to,
                bytes,
                pattern,
                width,
            },
        );
        self.move_ended();
        Ok(())
    }

    fn stream(&self, stream: u64) -> Outcome<usize> {
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

    /// Which way a copy between devices goes when a stream of ordinal `issuer` makes it.
    fn peer_kind(&self, source: usize, target: usize, issuer: usize) -> CopyKind {
        let (a, b) = (
            self.ordinals[source].physical,
            self.ordinals[target].physical,
        );
        let direct = (issuer == source && self.enabled.contains(&(source, target)))
            || (issuer == target && self.enabled.contains(&(target, source)));
        match (source == target, direct) {
            (true, _) => CopyKind::Local(a),
            (false, true) => CopyKind::Direct(a, b),
            (false, false) => CopyKind::Staged(a, b),
        }
    }

    fn issue_copy(
        &mut self,
        kind: CopyKind,
        asynchronous: bool,
        stream: u64,
        what: (Place, Place, usize),
    ) -> Outcome<()> {
        self.stream(stream)?;
        let (to, from, bytes) = what;
        if bytes == 0 {
            return Ok(());
        }
        let due = self.faults.copy(kind);
        due.lost.iter().for_each(|device| self.lose(*device));
        if !due.lost.is_empty() {
            return Err(Code::LAUNCH_FAILED.into());
        }
        due.retrained
            .iter()
            .for_each(|(device, link)| self.retrain(*device, *link));
        let route = self.routes.of(kind, asynchronous);
        let factor = self.noise.factor();
        let flow = Flow {
            latency_ns: route.latency_us * 1000.0 * factor,
            bytes: bytes as f64 * factor,
            cap: route.cap,
            segments: route.segments,
            hung: due.hangs,
        };
        let operation = self.sim.copy(stream, flow);
        self.pending.insert(
            operation,
            Transfer::Copy {
                to,
                from,
                bytes,
                damage: due.damage,
            },
        );
        if asynchronous {
            Ok(())
        } else {
            self.run_until(|sim| sim.has_ended(stream, operation))
        }
    }

    /// Moves the bytes of every operation that has ended and was not moved yet, in the order in which they ended.
    pub(crate) fn move_ended(&mut self) {
        for operation in self.sim.take_ended() {
            match self.pending.remove(&operation) {
                Some(Transfer::Copy {
                    to,
                    from,
                    bytes,
                    damage,
                }) => {
                    if damage != Some(Damage::Dropped) {
                        self.memory.copy(to, from, bytes);
                    }
                    if damage == Some(Damage::Wrong) {
                        self.memory.spoil(to, bytes);
                    }
                }
                Some(Transfer::Fill {
                    to,
                    bytes,
                    pattern,
                    width,
                }) => self.memory.fill(to, bytes, pattern, width),
                None => {}
            }
        }
    }

    /// Lets a caller that polls get on.
    fn poll(&mut self) {
        if self.sim.step() == Step::Advanced {
            self.move_ended();
        }
    }
}
