//! The simulated driver's calls on copies, and the moving of bytes when an operation has ended.

use crate::faults::{CopyKind, Damage};
use crate::memory::{HostAddress, Place};
use crate::work::{Copy, Node, Patience, Transfer};
use crate::{Code, Flow, Outcome, SoftDriver};

impl SoftDriver {
    /// Copies host to device; returns at the copy's end from pageable memory, at once from other memory.
    ///
    /// In a stream that captures, the copy is captured instead; so are the others here.
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
        self.copy(Place::Device(to), Place::Host(from), bytes, stream)
    }

    /// Copies device to host; returns at the copy's end into pageable memory, at once into other memory.
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
        self.copy(Place::Host(to), Place::Device(from), bytes, stream)
    }

    /// Copies device to device: locally, directly where access is enabled, else staged.
    ///
    /// # Errors
    /// As [`SoftDriver::copy_h2d`].
    pub fn copy_d2d(&mut self, to: u64, from: u64, bytes: usize, stream: u64) -> Outcome<()> {
        self.copy(Place::Device(to), Place::Device(from), bytes, stream)
    }

    fn copy(&mut self, to: Place, from: Place, bytes: usize, stream: u64) -> Outcome<()> {
        let copy = Copy {
            host: match (to, from) {
                (Place::Host(host), _) | (_, Place::Host(host)) => {
                    Some(self.memory.host_kind(host.get(), bytes))
                }
                _ => None,
            },
            ..Copy::between(to, from, bytes)
        };
        self.copy_kind(copy, stream)?;
        if bytes == 0 || self.capture(stream, || Node::Copy(copy))? {
            return Ok(());
        }
        if !copy.is_asynchronous() && !self.chains.is_empty() {
            // Once the copy is issued, this call must not be made again.
            self.drain()?;
        }
        let operation = self.issue_copy(copy, stream)?;
        if copy.is_asynchronous() {
            Ok(())
        } else {
            self.run_until(|sim| sim.has_ended(stream, operation))
        }
    }

    /// What a copy is to the box, after a check of its ranges and its stream.
    fn copy_kind(&self, copy: Copy, stream: u64) -> Outcome<CopyKind> {
        let physical = |ordinal: usize| self.ordinals[ordinal].physical;
        Ok(match (copy.to, copy.from) {
            (Place::Device(to), Place::Device(from)) => {
                let (source, target) = (self.owner(from, copy.bytes)?, self.owner(to, copy.bytes)?);
                self.peer_kind(source, target, self.stream(stream)?)
            }
            (Place::Device(to), Place::Host(_)) => {
                let owner = self.owner(to, copy.bytes)?;
                self.stream(stream)?;
                CopyKind::H2d(physical(owner))
            }
            (Place::Host(_), Place::Device(from)) => {
                let owner = self.owner(from, copy.bytes)?;
                self.stream(stream)?;
                CopyKind::D2h(physical(owner))
            }
            (Place::Host(_), Place::Host(_)) => return Err(Code::INVALID_VALUE.into()),
        })
    }

    /// Which way a copy between devices goes when a stream of ordinal `issuer` makes it.
    pub(crate) fn peer_kind(&self, source: usize, target: usize, issuer: usize) -> CopyKind {
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

    /// Issues a copy of at least one byte, and answers its operation.
    pub(crate) fn issue_copy(&mut self, copy: Copy, stream: u64) -> Outcome<u64> {
        let kind = self.copy_kind(copy, stream)?;
        let due = self.faults.copy(kind);
        let mut refused = None;
        for (device, off_the_bus) in due.lost {
            let code = off_the_bus.unwrap_or(Code::LAUNCH_FAILED);
            self.lose(device, code);
            if off_the_bus.is_some() {
                self.show_off_the_bus(device);
            }
            refused.get_or_insert(code);
        }
        if let Some(code) = refused {
            return Err(code.into());
        }
        for (device, link) in due.retrained {
            self.retrain(device, link);
        }
        let side = self.host_side([copy.to, copy.from], copy.bytes, copy.host);
        let route = self.routes.of(kind, side);
        let factor = self.noise.factor();
        let flow = Flow {
            latency_ns: route.latency_us * 1000.0 * factor,
            bytes: copy.bytes as f64 * factor,
            cap: route.cap,
            segments: route.segments,
            hung: due.hangs,
        };
        let operation = self.sim.copy(stream, flow);
        self.pending
            .insert(operation, Transfer::Copy(copy, due.damage));
        Ok(operation)
    }

    /// Moves the bytes of every operation that has ended and was not moved yet, in the order in which they ended.
    ///
    /// It stops before work of another library that waits for another process.
    pub(crate) fn move_ended(&mut self, patience: Patience) {
        self.unmoved.extend(self.sim.take_ended());
        while let Some(operation) = self.unmoved.front().copied() {
            let done = match self.pending.get(&operation) {
                Some(Transfer::Copy(copy, damage)) => {
                    if *damage != Some(Damage::Dropped) {
                        self.memory.copy(copy.to, copy.from, copy.bytes);
                    }
                    if *damage == Some(Damage::Wrong) {
                        self.memory.spoil(copy.to, copy.bytes);
                    }
                    true
                }
                Some(Transfer::Words(kernel, device, is_wrong)) => {
                    let device = *device;
                    if !self.memory.run(*kernel, *is_wrong) {
                        self.lose(device, Code::ILLEGAL_ADDRESS);
                    }
                    true
                }
                Some(Transfer::Gate(gate)) => {
                    if !gate.opened {
                        self.memory.write_answer(gate.answer);
                    }
                    true
                }
                Some(Transfer::Foreign(foreign, ticket)) => {
                    foreign.finish(*ticket, patience == Patience::Short)
                }
                None => true,
            };
            if !done {
                return;
            }
            self.pending.remove(&operation);
            self.unmoved.pop_front();
        }
    }
}
