//! Work that another soft library puts into a stream: how long it takes and what it then does are that library's matter.
//!
//! Two soft libraries are two objects with memory of their own, as the vendor's are. [`ForeignCall`] is what goes from one to
//! the other: soft/nccl fills it in, soft/cuda makes a [`ForeignWork`] of it.

use crate::graphs::Node;
use crate::transfers::Transfer;
use crate::{Code, Flow, Outcome, SoftDriver};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// What the driver asks of another library's work. Called with the driver locked: it must not call the driver.
pub trait ForeignWork: Send + Sync {
    /// Begins one execution, when it is issued or a graph that holds it is launched.
    fn issue(&self, captured: bool) -> Issued;

    /// Moves the bytes of the execution of this number, whose time is over; `false` where another process is not that far yet,
    /// for which it may wait some milliseconds if `wait`. Executions of one chain come here in the order in which they were issued.
    fn finish(&self, ticket: u64, wait: bool) -> bool;
}

/// One execution that began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Issued {
    /// Its number, for [`ForeignWork::finish`].
    pub ticket: u64,
    /// Its virtual time in nanoseconds.
    pub ns: f64,
}

/// Work of another library with the device memory that it reads and writes, each as address and bytes.
#[derive(Clone)]
pub struct Foreign {
    /// What it is.
    pub work: Arc<dyn ForeignWork>,
    /// What it reads.
    pub from: (u64, usize),
    /// What it writes.
    pub to: (u64, usize),
    /// Works of one chain run one after another, also in different streams.
    pub chain: u64,
}

/// The argument of `tplens_soft_enqueue` of the soft libcuda, as C has it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct ForeignCall {
    /// The first argument of the three functions.
    pub data: *mut c_void,
    /// [`ForeignWork::issue`]: answers the ticket and writes the nanoseconds.
    pub issue: unsafe extern "C" fn(*mut c_void, c_int, *mut f64) -> u64,
    /// [`ForeignWork::finish`]: not 0 where it is done.
    pub finish: unsafe extern "C" fn(*mut c_void, u64, c_int) -> c_int,
    /// Called once, when the driver needs `data` no more: also where it refused the work.
    pub release: unsafe extern "C" fn(*mut c_void),
    /// Address of what it reads.
    pub from: u64,
    /// Bytes of what it reads.
    pub from_bytes: usize,
    /// Address of what it writes.
    pub to: u64,
    /// Bytes of what it writes.
    pub to_bytes: usize,
    /// As [`Foreign::chain`].
    pub chain: u64,
}

impl SoftDriver {
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
        for (address, bytes) in [foreign.from, foreign.to] {
            if self.owner(address, bytes)? != ordinal {
                return Err(Code::INVALID_VALUE.into());
            }
        }
        Ok(())
    }

    pub(crate) fn issue_foreign(&mut self, foreign: Foreign, stream: u64, captured: bool) {
        let issued = foreign.work.issue(captured);
        let last = match self.chains.get(&foreign.chain) {
            Some(event) => *event,
            // Kept as long as the process: a communicator is seldom made.
            None => self.sim.open_event(),
        };
        self.chains.insert(foreign.chain, last);
        self.sim.wait(stream, last);
        let operation = self.sim.run(stream, Flow::idle(issued.ns));
        self.sim.record(last, stream);
        self.pending
            .insert(operation, Transfer::Foreign(foreign, issued.ticket));
    }
}
