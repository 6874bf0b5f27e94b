//! The calls of NCCL, as nccl.h declares them: the symbol table, communicators, and what they are asked to do.
//!
//! Result codes are numbers and never a closed enum: a newer library has more of them than any header here.
#![expect(unsafe_code, reason = "C ABI of NCCL")]

use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::CUstream;

use crate::collectives::{Element, Kind};
use crate::cuda::context::Context;
use crate::cuda::memory::DeviceMemory;
use crate::cuda::queue::RawStream;
use crate::error::{DeviceError, Result};
use crate::library::{file_of, first_of, text};
use crate::memory::{Access, Held, InFlight};

const LIBRARY: &str = "libnccl.so.2";

/// `ncclResult_t`, whatever its value.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
struct Code(u32);

impl Code {
    const SUCCESS: Self = Self(0);
    /// Work of a communicator that does not block goes on; no error.
    const IN_PROGRESS: Self = Self(7);
}

/// `ncclUniqueId`, which is passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
struct Id([u8; 128]);

/// `ncclComm_t`.
type Comm = *mut c_void;
/// `ncclRedOp_t`: the sum.
const SUM: u32 = 0;

/// `ncclDataType_t`.
fn data_type(element: Element) -> u32 {
    match element {
        Element::F16 => 6,
        Element::F32 => 7,
        Element::Bf16 => 9,
    }
}

type GetVersion = unsafe extern "C" fn(*mut c_int) -> Code;
type GetUniqueId = unsafe extern "C" fn(*mut Id) -> Code;
type InitRank = unsafe extern "C" fn(*mut Comm, c_int, Id, c_int) -> Code;
type OfComm = unsafe extern "C" fn(Comm) -> Code;
type GetAsyncError = unsafe extern "C" fn(Comm, *mut Code) -> Code;
type AllReduce =
    unsafe extern "C" fn(*const c_void, *mut c_void, usize, u32, u32, Comm, CUstream) -> Code;
type AllGather =
    unsafe extern "C" fn(*const c_void, *mut c_void, usize, u32, Comm, CUstream) -> Code;
type GetErrorString = unsafe extern "C" fn(Code) -> *const c_char;
type GetLastError = unsafe extern "C" fn(Comm) -> *const c_char;
type SoftBox = unsafe extern "C" fn() -> *const c_char;

/// The functions of a library that is never unloaded: it has threads of its own.
#[derive(Clone, Copy)]
pub(super) struct Library {
    get_version: GetVersion,
    get_unique_id: GetUniqueId,
    init_rank: InitRank,
    destroy: OfComm,
    abort: OfComm,
    get_async_error: GetAsyncError,
    all_reduce: AllReduce,
    all_gather: AllGather,
    get_error_string: GetErrorString,
    /// From 2.13 on.
    get_last_error: Option<GetLastError>,
    /// In this project's soft library only.
    soft_box: Option<SoftBox>,
}

impl Library {
    /// Loads the first of some files and takes its functions.
    pub(super) fn load(candidates: &[PathBuf]) -> Result<Self> {
        let library = first_of(candidates).map_err(|said| DeviceError::LibraryMissing {
            library: LIBRARY,
            looked: said.join("; "),
            next: "install NCCL, set TPLENS_NCCL to the file, or activate the Python environment of the engine",
        })?;
        Self::of(library)
    }

    /// Takes the functions, and keeps the library loaded for the life of the process.
    fn of(library: libloading::Library) -> Result<Self> {
        macro_rules! symbol {
            ($name:literal, $kind:ty) => {
                // SAFETY: nccl.h declares the function of this name with this signature in every version from 2.4 on.
                unsafe { library.get::<$kind>($name) }.map(|symbol| *symbol)
            };
        }
        macro_rules! required {
            ($name:literal, $kind:ty) => {
                symbol!($name, $kind).map_err(|_| DeviceError::SymbolMissing {
                    library: LIBRARY,
                    symbol: $name,
                })?
            };
        }
        let functions = Self {
            get_version: required!("ncclGetVersion", GetVersion),
            get_unique_id: required!("ncclGetUniqueId", GetUniqueId),
            init_rank: required!("ncclCommInitRank", InitRank),
            destroy: required!("ncclCommDestroy", OfComm),
            abort: required!("ncclCommAbort", OfComm),
            get_async_error: required!("ncclCommGetAsyncError", GetAsyncError),
            all_reduce: required!("ncclAllReduce", AllReduce),
            all_gather: required!("ncclAllGather", AllGather),
            get_error_string: required!("ncclGetErrorString", GetErrorString),
            get_last_error: symbol!("ncclGetLastError", GetLastError).ok(),
            soft_box: symbol!("tplens_soft_box", SoftBox).ok(),
        };
        std::mem::forget(library);
        Ok(functions)
    }

    /// The version as the library codes it.
    pub(super) fn version(&self) -> Result<u32> {
        let mut version = 0;
        // SAFETY: nccl.h: `ncclGetVersion(int *)` writes one int.
        let code = unsafe { (self.get_version)(&raw mut version) };
        self.check("ncclGetVersion", code)?;
        Ok(u32::try_from(version).unwrap_or(0))
    }

    /// The file that the loader took.
    pub(super) fn file(&self) -> Option<PathBuf> {
        file_of(self.get_version as *const c_void)
    }

    /// The name of the soft box, where this is the soft library.
    pub(super) fn soft_box(&self) -> Option<String> {
        let marker = self.soft_box?;
        // SAFETY: only our soft library exports it; it takes nothing and returns a static string or null.
        let name = unsafe { marker() };
        // SAFETY: as it returned it.
        unsafe { text(name) }
    }

    /// A new id.
    pub(super) fn unique_id(&self) -> Result<[u8; 128]> {
        let mut id = Id([0; 128]);
        // SAFETY: nccl.h: `ncclGetUniqueId(ncclUniqueId *)` writes 128 bytes.
        let code = unsafe { (self.get_unique_id)(&raw mut id) };
        self.check("ncclGetUniqueId", code)?;
        Ok(id.0)
    }

    fn check(&self, call: &'static str, code: Code) -> Result<()> {
        if code == Code::SUCCESS || code == Code::IN_PROGRESS {
            return Ok(());
        }
        // SAFETY: nccl.h: `ncclGetErrorString(ncclResult_t)` returns a constant, for numbers that it does not know too.
        let meaning = unsafe { (self.get_error_string)(code) };
        // SAFETY: as it returned it.
        let meaning = unsafe { text(meaning) };
        let mut name = meaning.unwrap_or_else(|| "an unknown error".to_owned());
        if let Some(last) = self.last_error().filter(|last| !last.trim().is_empty()) {
            name = format!("{name}: {}", last.trim());
        }
        Err(DeviceError::Vendor {
            call,
            code: i64::from(code.0),
            name,
        })
    }

    /// What the library said last of an error in this process, in words.
    fn last_error(&self) -> Option<String> {
        let get = self.get_last_error?;
        // SAFETY: nccl.h: `ncclGetLastError(ncclComm_t)` returns text of the library's own; the communicator is not used and
        // may be null ("comm is currently unused and can be set to NULL").
        let said = unsafe { get(ptr::null_mut()) };
        // SAFETY: NUL-terminated text of the library, or null; it is copied at once.
        unsafe { text(said) }
    }
}

/// A part of device memory: the memory, where the part begins, and its bytes.
type Part<'a> = (&'a Arc<DeviceMemory>, usize, usize);

/// A communicator handle.
///
/// Invariant: `handle` is `None` once it was aborted; queued work and graphs keep this value alive, so that it is not
/// destroyed while they need it.
pub(super) struct RawCommunicator {
    library: Library,
    context: Arc<Context>,
    /// Locked for each call: a communicator is not to be used by two threads at once.
    handle: Mutex<Option<Handle>>,
    access: Access,
}

/// An `ncclComm_t` that was neither destroyed nor aborted.
#[derive(Clone, Copy)]
struct Handle(Comm);

// SAFETY: a communicator may be used by any thread, by one at a time, which the mutex around it sees to.
unsafe impl Send for Handle {}

impl Held for RawCommunicator {
    fn access(&self) -> &Access {
        &self.access
    }

    fn check(&self) -> Result<()> {
        alive(&self.handle()).map(drop)
    }
}

/// The handle of a communicator that was not aborted.
fn alive(handle: &Option<Handle>) -> Result<Comm> {
    let handle = handle.ok_or_else(|| DeviceError::CommunicatorBroken {
        reason: "it was aborted".to_owned(),
    })?;
    Ok(handle.0)
}

impl RawCommunicator {
    /// Joins, and waits until all ranks have.
    pub(super) fn join(
        library: &Library,
        context: &Arc<Context>,
        id: [u8; 128],
        ranks: u32,
        rank: u32,
    ) -> Result<Self> {
        context.bind()?;
        let number = |number| c_int::try_from(number).unwrap_or(c_int::MAX);
        let mut comm = ptr::null_mut();
        // SAFETY: nccl.h: `ncclCommInitRank(ncclComm_t *, int, ncclUniqueId, int)` writes one handle and reads the id by value;
        // the device is that of the context, which is current.
        let code =
            unsafe { (library.init_rank)(&raw mut comm, number(ranks), Id(id), number(rank)) };
        library.check("ncclCommInitRank", code)?;
        Ok(Self {
            library: *library,
            context: Arc::clone(context),
            handle: Mutex::new(Some(Handle(comm))),
            access: Access::default(),
        })
    }

    fn handle(&self) -> MutexGuard<'_, Option<Handle>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an operation.
    pub(super) fn queue(
        self: &Arc<Self>,
        kind: Kind,
        to: Part<'_>,
        from: Part<'_>,
        elements: usize,
        element: Element,
        stream: &RawStream,
    ) -> Result<()> {
        if !Arc::ptr_eq(&self.context, stream.context()) {
            return Err(DeviceError::Argument {
                what: "the stream",
                why: "it is of another device than the communicator's rank".to_owned(),
            });
        }
        for memory in [to.0, from.0] {
            if !Arc::ptr_eq(&self.context, memory.context()) {
                return Err(DeviceError::Argument {
                    what: "the buffer",
                    why: "it is on another device than the communicator's rank".to_owned(),
                });
            }
        }
        let target = to.0.range(to.1, to.2)? as *mut c_void;
        let source = from.0.range(from.1, from.2)? as *const c_void;
        let held = [
            InFlight::begin(to.0)?,
            InFlight::begin(from.0)?,
            InFlight::begin(self)?,
        ];
        if elements == 0 {
            return Ok(());
        }
        let (handle, kind_of, raw) = (self.handle(), data_type(element), stream.raw());
        let comm = alive(&handle)?;
        stream.queue(held, || match kind {
            Kind::AllReduce => {
                // SAFETY: nccl.h: `ncclAllReduce(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                // cudaStream_t)`; both ranges lie inside buffers that `queue` keeps until the stream was waited for, as it
                // keeps this communicator; a cudaStream_t is a CUstream.
                let code = unsafe {
                    (self.library.all_reduce)(source, target, elements, kind_of, SUM, comm, raw)
                };
                self.library.check("ncclAllReduce", code)
            }
            Kind::AllGather => {
                // SAFETY: nccl.h: `ncclAllGather(const void *, void *, size_t, ncclDataType_t, ncclComm_t, cudaStream_t)`; as
                // above, and the target has room for all ranks.
                let code = unsafe {
                    (self.library.all_gather)(source, target, elements, kind_of, comm, raw)
                };
                self.library.check("ncclAllGather", code)
            }
        })
    }

    /// What went wrong after it was queued.
    pub(super) fn async_error(&self) -> Result<()> {
        let handle = self.handle();
        let comm = alive(&handle)?;
        let mut found = Code::SUCCESS;
        // SAFETY: nccl.h: `ncclCommGetAsyncError(ncclComm_t, ncclResult_t *)` writes one result; the handle is alive.
        let code = unsafe { (self.library.get_async_error)(comm, &raw mut found) };
        self.library.check("ncclCommGetAsyncError", code)?;
        self.library.check("the communicator's work", found)
    }

    /// Ends it whatever is under way.
    pub(super) fn abort(&self) {
        if let Some(handle) = self.handle().take() {
            self.end(self.library.abort, handle);
        }
    }

    fn end(&self, call: OfComm, handle: Handle) {
        if self.context.bind().is_ok() {
            // SAFETY: nccl.h: `ncclCommDestroy(ncclComm_t)` or `ncclCommAbort(ncclComm_t)`; from ncclCommInitRank in `join`,
            // taken out of `self.handle`, so that nothing uses it again.
            // What it returns changes nothing: there is nothing left to do.
            let _ = unsafe { call(handle.0) };
        }
    }
}

impl Drop for RawCommunicator {
    fn drop(&mut self) {
        // To destroy one that failed may wait for ever for ranks that are gone.
        let call = match self.async_error() {
            Ok(()) => self.library.destroy,
            Err(_) => self.library.abort,
        };
        if let Some(handle) = self.handle().take() {
            self.end(call, handle);
        }
    }
}
