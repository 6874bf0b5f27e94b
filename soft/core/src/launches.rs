//! The simulated driver's calls on kernels: what a device reaches with them, how long they take, and when gates open.

use crate::faults::{CopyKind, Due};
use crate::memory::HostMemory;
use crate::work::{Copy, Gate, Node, Transfer};
use crate::{Code, Flow, Kernel, Outcome, SoftDriver, Step};

/// Operations of a round of an item: 256 multiply-adds, each counted as two.
const BURN_OPERATIONS: f64 = 512.0;

/// Where memory is, as a device sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Own,
    /// Of another ordinal, whose access was enabled.
    Peer(usize),
    Host,
}

/// What a kernel comes to, before faults and noise.
struct Duty {
    /// Its time, and bytes where it moves any.
    flow: Flow,
    /// Time besides that the kernel takes by its own clock, which no noise changes.
    timed_ns: f64,
    /// What it copies, if it is a copy, and which way.
    copy: Option<(Copy, CopyKind)>,
}

impl SoftDriver {
    /// Whether a device takes kernels.
    ///
    /// # Errors
    /// As the type says.
    pub fn takes_kernels(&self, ordinal: usize) -> Outcome<bool> {
        let physical = self.device(ordinal)?.physical;
        Ok(self.described.device[physical].kernels.is_some())
    }

    /// Puts a kernel into a stream, or into the graph that the stream captures.
    ///
    /// # Errors
    /// [`Code::NOT_SUPPORTED`] where the device takes no kernels, or none of this kind on this memory;
    /// [`Code::ILLEGAL_ADDRESS`] and [`Code::MISALIGNED_ADDRESS`], with which the device is lost; [`Code::INVALID_HANDLE`].
    pub fn launch_kernel(&mut self, kernel: Kernel, stream: u64) -> Outcome<()> {
        let ordinal = self.stream(stream)?;
        if !self.takes_kernels(ordinal)? {
            return Err(Code::NOT_SUPPORTED.into());
        }
        if self.capture(stream, || Node::Kernel(kernel))? {
            return Ok(());
        }
        self.issue_kernel(kernel, stream)
    }

    pub(crate) fn issue_kernel(&mut self, kernel: Kernel, stream: u64) -> Outcome<()> {
        let ordinal = self.stream(stream)?;
        let duty = match self.duty(kernel, ordinal) {
            Err(code @ (Code::ILLEGAL_ADDRESS | Code::MISALIGNED_ADDRESS)) => {
                self.lose(self.ordinals[ordinal].physical, code);
                return Err(code.into());
            }
            duty => duty?,
        };
        if let Kernel::Gate(flag, answer, timeout_ns) = kernel {
            let operation = self.sim.gate(stream, timeout_ns as f64);
            let opened = false;
            let gate = Transfer::Gate(Gate {
                flag,
                answer,
                opened,
            });
            self.pending.insert(operation, gate);
            return Ok(());
        }
        let by = self.ordinals[ordinal].physical;
        let due = match &duty.copy {
            Some((_, kind)) => self.faults.kernel_copy(*kind, by),
            None => Due::default(),
        };
        let factor = self.noise.factor();
        let flow = Flow {
            latency_ns: duty.flow.latency_ns * factor + duty.timed_ns,
            bytes: duty.flow.bytes * factor,
            hung: due.hangs,
            ..duty.flow
        };
        let operation = self.sim.run(stream, flow);
        let transfer = match duty.copy {
            Some((copy, _)) => Transfer::Copy(copy, due.damage),
            None => Transfer::Words(kernel, by, self.faults.kernel_is_wrong(kernel, by)),
        };
        self.pending.insert(operation, transfer);
        Ok(())
    }

    /// Lets the clock run to the next change. Gates whose flags were raised open first, which is a change without time.
    pub(crate) fn step(&mut self) -> Step {
        if self.open_raised() {
            Step::Advanced
        } else {
            self.sim.step()
        }
    }

    /// Opens the gates whose flags were raised; whether there was one.
    pub(crate) fn open_raised(&mut self) -> bool {
        let mut raised = Vec::new();
        for operation in self.sim.closed_gates() {
            if let Some(Transfer::Gate(gate)) = self.pending.get_mut(&operation)
                && self.memory.is_raised(gate.flag)
            {
                gate.opened = true;
                raised.push(operation);
            }
        }
        if !raised.is_empty() {
            self.sim.open_gates(&raised);
        }
        !raised.is_empty()
    }

    /// What a kernel on a device comes to; what it cannot reach is an error. Where a chain leads is seen when it is followed.
    fn duty(&self, kernel: Kernel, ordinal: usize) -> Result<Duty, Code> {
        let by = self.ordinals[ordinal].physical;
        let figures = self.described.device[by]
            .kernels
            .as_ref()
            .ok_or(Code::NOT_SUPPORTED)?;
        let launch_ns = figures.launch_us.value * 1000.0;
        let own = |address, words| match self.reach(ordinal, address, words, 8)? {
            Reach::Own => Ok(Flow {
                latency_ns: launch_ns,
                bytes: (words * 8) as f64,
                cap: figures.local.value,
                ..Flow::idle(0.0)
            }),
            _ => Err(Code::NOT_SUPPORTED),
        };
        let flow = match kernel {
            Kernel::Copy(to, from, vectors) => {
                return self.copy_duty(to, from, vectors, ordinal);
            }
            Kernel::Gate(flag, answer, _) => {
                self.reach(ordinal, flag, 1, 4)?;
                self.reach(ordinal, answer, 1, 4)?;
                Flow::idle(0.0)
            }
            Kernel::Fill(to, words, ..) => own(to, words)?,
            Kernel::Check(data, words, _, first_wrong) => {
                self.reach(ordinal, first_wrong, 1, 8)?;
                own(data, words)?
            }
            Kernel::Chase(base, steps, end) => {
                self.reach(ordinal, end, 1, 8)?;
                let step_ns = match self.reach(ordinal, base, 1, 8)? {
                    Reach::Own => figures.local_chase_ns.value,
                    Reach::Host => figures.host_chase_ns.value,
                    Reach::Peer(peer) => self
                        .described
                        .peer_path(by, self.ordinals[peer].physical)
                        .chase_ns
                        .ok_or(Code::ILLEGAL_ADDRESS)?,
                };
                Flow::idle(launch_ns + steps as f64 * step_ns)
            }
            Kernel::Burn(items, rounds, _, first_wrong) => {
                let rate = figures.fp32_tflops.as_ref().ok_or(Code::NOT_SUPPORTED)?;
                if self.reach(ordinal, first_wrong, 1, 8)? != Reach::Own {
                    return Err(Code::NOT_SUPPORTED);
                }
                // A teraflop a second is a thousand operations a nanosecond.
                let operations = items as f64 * rounds as f64 * BURN_OPERATIONS;
                Flow::idle(launch_ns + operations / (rate.value * 1000.0))
            }
            Kernel::Spin(_) => Flow::idle(launch_ns),
        };
        let timed_ns = match kernel {
            Kernel::Spin(duration_ns) => duration_ns as f64,
            _ => 0.0,
        };
        Ok(Duty {
            flow,
            timed_ns,
            copy: None,
        })
    }

    fn copy_duty(&self, to: u64, from: u64, vectors: u64, ordinal: usize) -> Result<Duty, Code> {
        let reach = |address| self.reach(ordinal, address, vectors, 16);
        let by = self.ordinals[ordinal].physical;
        let kind = match (reach(to)?, reach(from)?) {
            (Reach::Own, Reach::Own) => CopyKind::Local(by),
            (Reach::Own, Reach::Host) => CopyKind::H2d(by),
            (Reach::Host, Reach::Own) => CopyKind::D2h(by),
            (Reach::Peer(peer), Reach::Own) => self.peer_kind(ordinal, peer, ordinal),
            (Reach::Own, Reach::Peer(peer)) => self.peer_kind(peer, ordinal, ordinal),
            _ => return Err(Code::NOT_SUPPORTED),
        };
        let bytes = (vectors * 16) as usize;
        let place = |address| {
            self.memory
                .place(address, bytes)
                .ok_or(Code::ILLEGAL_ADDRESS)
        };
        let (to, from) = (place(to)?, place(from)?);
        let side = self.host_side([to, from], bytes, None);
        let route = self
            .routes
            .of_kernel(kind, by, side)
            .ok_or(Code::NOT_SUPPORTED)?;
        Ok(Duty {
            flow: Flow {
                latency_ns: route.latency_us * 1000.0,
                bytes: bytes as f64,
                cap: route.cap,
                segments: route.segments,
                hung: false,
            },
            timed_ns: 0.0,
            copy: Some((Copy::between(to, from, bytes), kind)),
        })
    }

    /// Where `count` items of `size` bytes lie, as a device sees them; no items are anywhere.
    fn reach(&self, ordinal: usize, address: u64, count: u64, size: u64) -> Result<Reach, Code> {
        if count == 0 {
            return Ok(Reach::Own);
        }
        if !address.is_multiple_of(size) {
            return Err(Code::MISALIGNED_ADDRESS);
        }
        let bytes = count
            .checked_mul(size)
            .and_then(|bytes| usize::try_from(bytes).ok())
            .ok_or(Code::ILLEGAL_ADDRESS)?;
        match self.memory.ordinal_of(address, bytes) {
            Some(owner) if owner == ordinal => Ok(Reach::Own),
            Some(owner) if self.enabled.contains(&(ordinal, owner)) => Ok(Reach::Peer(owner)),
            Some(_) => Err(Code::ILLEGAL_ADDRESS),
            None => match self.memory.host_kind(address as usize, bytes) {
                HostMemory::Pageable => Err(Code::ILLEGAL_ADDRESS),
                _ => Ok(Reach::Host),
            },
        }
    }
}
