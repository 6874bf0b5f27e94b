//! The calls on communicators: joining, what they are asked to do, and how they end.
#![expect(unsafe_code, reason = "C ABI of NCCL and its kin")]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::super::library::Library;
use super::super::symbols::{Code, Comm, Id};
use crate::collectives::{Communicator, Element, Lengths, Operation, check_aliasing};
use crate::error::{DeviceError, Result};
use crate::memory::{Access, Held, InFlight};
use crate::runtime::{Context, DeviceBuffer, Stream};

/// `ncclRedOp_t`: the sum.
const SUM: u32 = 0;
/// `ncclDataType_t`, which all libraries share.
fn data_type(element: Element) -> u32 {
    match element {
        Element::F16 => 6,
        Element::F32 => 7,
        Element::Bf16 => 9,
        Element::F8E4m3 => 10,
        Element::F8E5m2 => 11,
    }
}

/// A communicator handle.
///
/// Queued work and graphs keep this value alive, so that it is not destroyed while they need it.
struct RawCommunicator {
    library: &'static Library,
    context: Arc<Context>,
    ranks: u32,
    rank: u32,
    /// Locked for each call: a communicator is not to be used by two threads at once.
    handle: Mutex<Handle>,
    access: Access,
}

/// An `ncclComm_t`.
struct Handle(Comm);

// SAFETY: a communicator may be used by any thread, by one at a time, which the mutex around it sees to.
unsafe impl Send for Handle {}

impl Held for RawCommunicator {
    fn access(&self) -> &Access {
        &self.access
    }
}

/// A number of ranks or a rank as the libraries take it.
fn number(number: u32) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

/// Joins on the thread's current device, and waits until all ranks have.
fn init(library: &Library, id: [u8; 128], ranks: u32, rank: u32) -> Result<Comm> {
    let function = &library.functions.init_rank;
    let call = library.need(function)?;
    // What cannot be ended must not be begun.
    library.need(&library.functions.destroy)?;
    let mut comm = ptr::null_mut();
    // SAFETY: nccl.h: `ncclCommInitRank(ncclComm_t *, int, ncclUniqueId, int)` writes one handle and reads the id by value; it
    // takes whichever device is current, and where there is none or no driver it is an error code.
    let code = unsafe { call(&raw mut comm, number(ranks), Id(id), number(rank)) };
    settle(library, comm, function.name, code).map(|()| comm)
}

/// How long to wait before a communicator that is not done is asked again.
const POLL: Duration = Duration::from_micros(100);

/// Waits until a communicator is done with a call; with `NCCL_COMM_BLOCKING=0` a call returns before it is (nccl.h,
/// `ncclInProgress`). One that never is done is ended with its process, as one that blocks.
fn settle(library: &Library, comm: Comm, name: &'static str, code: Code) -> Result<()> {
    if code != Code::IN_PROGRESS {
        return library.check(name, code);
    }
    let function = &library.functions.async_error;
    let call = library.need(function)?;
    loop {
        let mut state = Code::SUCCESS;
        // SAFETY: nccl.h: `ncclCommGetAsyncError(ncclComm_t, ncclResult_t *)` writes one result; the handle is alive.
        let code = unsafe { call(comm, &raw mut state) };
        library.check(function.name, code)?;
        if state != Code::IN_PROGRESS {
            return library.check(name, state);
        }
        std::thread::sleep(POLL);
    }
}

/// Makes a communicator of one rank on the device that the library takes by itself, and ends it.
pub(in crate::ccl) fn alone(library: &Library) -> Result<()> {
    let comm = init(library, library.unique_id()?, 1, 0)?;
    let function = &library.functions.destroy;
    let call = library.need(function)?;
    // SAFETY: nccl.h: `ncclCommDestroy(ncclComm_t)`; from ncclCommInitRank above, destroyed once.
    let code = unsafe { call(comm) };
    library.check(function.name, code)
}

/// One rank of a communicator.
///
/// The library is called by one thread at a time. A rank that ended is noticed by the library's own means, if at all: a stream
/// that waits for it may wait for ever.
pub(crate) struct CclCommunicator(Arc<RawCommunicator>);

impl CclCommunicator {
    /// Joins, and waits until all ranks have.
    pub(in crate::ccl) fn join(
        library: &'static Library,
        context: &Arc<Context>,
        id: [u8; 128],
        ranks: u32,
        rank: u32,
    ) -> Result<Self> {
        context.bind()?;
        let comm = init(library, id, ranks, rank)?;
        Ok(Self(Arc::new(RawCommunicator {
            library,
            context: Arc::clone(context),
            ranks,
            rank,
            handle: Mutex::new(Handle(comm)),
            access: Access::default(),
        })))
    }
}

impl Communicator for CclCommunicator {
    type Stream = Stream;
    type DeviceBuffer = DeviceBuffer;

    fn queue(
        &self,
        operation: Operation,
        to: (&DeviceBuffer, usize),
        from: (&DeviceBuffer, usize),
        elements: usize,
        element: Element,
        stream: &Stream,
    ) -> Result<()> {
        let raw = &self.0;
        let lengths = Lengths::of(operation, elements, element, raw.ranks, [to.1, from.1])?;
        let (target, source) = (&to.0.0, &from.0.0);
        if Arc::ptr_eq(target, source) {
            check_aliasing(operation, lengths, raw.rank, to.1, from.1)?;
        }
        raw.same_device(stream.context(), "the stream")?;
        for memory in [target, source] {
            raw.same_device(memory.context(), "the buffer")?;
        }
        let held = [
            InFlight::begin(target)?,
            InFlight::begin(source)?,
            InFlight::begin(raw)?,
        ];
        let target = target.range(to.1, lengths.to)? as *mut c_void;
        let source = source.range(from.1, lengths.from)? as *const c_void;
        if elements == 0 {
            return Ok(());
        }
        let handle = raw.handle();
        let (part, of) = ((elements, data_type(element)), (handle.0, stream.raw()));
        stream.queue(held, || raw.call(operation, target, source, part, of))
    }

    fn async_error(&self) -> Result<()> {
        self.0.async_error()
    }
}

impl RawCommunicator {
    fn handle(&self) -> MutexGuard<'_, Handle> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that something is on this rank's device.
    fn same_device(&self, other: &Context, what: &'static str) -> Result<()> {
        if self.context.is(other) {
            return Ok(());
        }
        Err(DeviceError::Argument {
            what,
            why: "it is of another device than the communicator's rank".to_owned(),
        })
    }

    /// Makes the call that queues an operation on so many elements of a type.
    ///
    /// Both ranges lie inside buffers of the communicator's device that the stream keeps until it was waited for, as it keeps the
    /// communicator, which is alive; the target has room for what the operation writes. Every call below relies on it.
    fn call(
        &self,
        operation: Operation,
        target: *mut c_void,
        source: *const c_void,
        (elements, data_type): (usize, u32),
        (comm, stream): (Comm, *mut c_void),
    ) -> Result<()> {
        let (library, functions) = (self.library, &self.library.functions);
        let (name, code) = match operation {
            Operation::AllReduce => {
                let call = library.need(&functions.all_reduce)?;
                // SAFETY: nccl.h: `ncclAllReduce(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                // cudaStream_t)`; see above. A cudaStream_t is a CUstream.
                let code = unsafe { call(source, target, elements, data_type, SUM, comm, stream) };
                (functions.all_reduce.name, code)
            }
            Operation::AllGather => {
                let call = library.need(&functions.all_gather)?;
                // SAFETY: nccl.h: `ncclAllGather(const void *, void *, size_t, ncclDataType_t, ncclComm_t, cudaStream_t)`; see
                // above.
                let code = unsafe { call(source, target, elements, data_type, comm, stream) };
                (functions.all_gather.name, code)
            }
            Operation::ReduceScatter => {
                let call = library.need(&functions.reduce_scatter)?;
                // SAFETY: nccl.h: `ncclReduceScatter(const void *, void *, size_t recvcount, ncclDataType_t, ncclRedOp_t,
                // ncclComm_t, cudaStream_t)`; see above.
                let code = unsafe { call(source, target, elements, data_type, SUM, comm, stream) };
                (functions.reduce_scatter.name, code)
            }
            // `Lengths` has refused them.
            Operation::Broadcast | Operation::SendRecv => return Ok(()),
        };
        settle(library, comm, name, code)
    }

    /// What went wrong after it was queued.
    fn async_error(&self) -> Result<()> {
        let function = &self.library.functions.async_error;
        let call = self.library.need(function)?;
        let handle = self.handle();
        let mut found = Code::SUCCESS;
        // SAFETY: nccl.h: `ncclCommGetAsyncError(ncclComm_t, ncclResult_t *)` writes one result; the handle is alive.
        let code = unsafe { call(handle.0, &raw mut found) };
        self.library.check(function.name, code)?;
        self.library.check("the communicator's work", found)
    }
}

impl Drop for RawCommunicator {
    fn drop(&mut self) {
        // To destroy one that failed may wait for ever for ranks that are gone.
        let functions = &self.library.functions;
        let function = match self.async_error() {
            Ok(()) => &functions.destroy,
            Err(_) => &functions.abort,
        };
        if let (Some(call), Ok(())) = (function.call, self.context.bind()) {
            // SAFETY: nccl.h: `ncclCommDestroy(ncclComm_t)` or `ncclCommAbort(ncclComm_t)`; from ncclCommInitRank in `join`, ended
            // once.
            // What it returns changes nothing: there is nothing left to do.
            let _ = unsafe { call(self.handle().0) };
        }
    }
}
