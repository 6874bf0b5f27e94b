//! One rank: both libraries loaded, a context, a stream and a communicator. Checks every answer, expects nothing of results.

use crate::processes::{ID, RANK, RANKS};
use cudarc::driver::{result, sys};
use libloading::{Library, Symbol};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;

/// `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Id(pub(crate) [u8; 128]);

pub(crate) type Comm = *mut c_void;
type InitRank = unsafe extern "C" fn(*mut Comm, c_int, Id, c_int) -> c_int;
type OfComm = unsafe extern "C" fn(Comm) -> c_int;
type Ask = unsafe extern "C" fn(Comm, *mut c_int) -> c_int;
type AllReduce = unsafe extern "C" fn(
    *const c_void,
    *mut c_void,
    usize,
    c_int,
    c_int,
    Comm,
    sys::CUstream,
) -> c_int;
type AllGather =
    unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, Comm, sys::CUstream) -> c_int;

pub(crate) const F16: c_int = 6;
pub(crate) const F32: c_int = 7;
pub(crate) const BF16: c_int = 9;

/// One call of the CUDA driver API that must succeed.
macro_rules! ok {
    ($call:expr) => {{
        // SAFETY: pointers are to locals of the right type; handles and addresses come from the library and are alive.
        let code = unsafe { $call };
        assert_eq!(code, sys::CUresult::CUDA_SUCCESS, "{}", stringify!($call));
    }};
}
pub(crate) use ok;

/// A new id as hex digits, made by a process that has no driver.
pub(crate) fn new_id(nccl: &Path) -> String {
    // SAFETY: our own library, whose constructors do nothing.
    let library = unsafe { Library::new(nccl) }.expect("loads");
    // SAFETY: nccl.h: `ncclResult_t ncclGetUniqueId(ncclUniqueId *)`.
    let make: Symbol<'_, unsafe extern "C" fn(*mut Id) -> c_int> =
        unsafe { library.get(b"ncclGetUniqueId") }.expect("there");
    let mut id = Id([0; 128]);
    // SAFETY: writes 128 bytes.
    assert_eq!(unsafe { make(&raw mut id) }, 0);
    id.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The soft libnccl of this process.
pub(crate) struct Nccl(pub(crate) Library);

impl Nccl {
    pub(crate) fn load() -> Self {
        // SAFETY: as above.
        Self(unsafe { Library::new("libnccl.so.2") }.expect("loads"))
    }

    pub(crate) fn symbol<T>(&self, name: &str) -> Symbol<'_, T> {
        // SAFETY: the callers give the types of nccl.h.
        unsafe { self.0.get(name.as_bytes()) }.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The text of a code and the words of the last error.
    pub(crate) fn words(&self, code: c_int) -> (String, String) {
        let text =
            self.symbol::<unsafe extern "C" fn(c_int) -> *const c_char>("ncclGetErrorString");
        let last = self.symbol::<unsafe extern "C" fn(Comm) -> *const c_char>("ncclGetLastError");
        let copied = |pointer: *const c_char| {
            // SAFETY: both answer text that ends in NUL and is copied at once.
            let text = unsafe { CStr::from_ptr(pointer) };
            text.to_string_lossy().into_owned()
        };
        // SAFETY: takes any number.
        let text = copied(unsafe { text(code) });
        // SAFETY: the communicator may be null.
        let last = copied(unsafe { last(std::ptr::null_mut()) });
        (text, last)
    }

    /// Joins with the device of the current context; the communicator, or the code.
    pub(crate) fn join(&self, id: Id, ranks: usize, rank: usize) -> Result<Comm, c_int> {
        let join = self.symbol::<InitRank>("ncclCommInitRank");
        let mut comm = std::ptr::null_mut();
        // SAFETY: writes one handle.
        match unsafe { join(&raw mut comm, ranks as c_int, id, rank as c_int) } {
            0 => Ok(comm),
            code => Err(code),
        }
    }

    /// What one of the functions says that take a communicator only.
    pub(crate) fn end(&self, name: &str, comm: Comm) -> c_int {
        // SAFETY: a handle that is alive, or one that the library must refuse.
        unsafe { self.symbol::<OfComm>(name)(comm) }
    }

    /// What one of the functions says that write one int about a communicator.
    pub(crate) fn ask(&self, name: &str, comm: Comm) -> Result<c_int, c_int> {
        let mut answer = -1;
        // SAFETY: writes one int.
        match unsafe { self.symbol::<Ask>(name)(comm, &raw mut answer) } {
            0 => Ok(answer),
            code => Err(code),
        }
    }
}

/// The id that the test gave this process.
pub(crate) fn own_id() -> Id {
    let text = std::env::var(ID).expect("set by the test");
    let mut id = Id([0; 128]);
    for (at, byte) in id.0.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hex");
    }
    id
}

pub(crate) fn own_rank() -> usize {
    std::env::var(RANK).expect("set").parse().expect("a number")
}

pub(crate) fn own_ranks() -> usize {
    std::env::var(RANKS)
        .expect("set")
        .parse()
        .expect("a number")
}

/// Makes the context of a device current.
pub(crate) fn open(device: usize) -> sys::CUcontext {
    result::init().expect("initialises");
    let mut context = std::ptr::null_mut();
    ok!(sys::cuDevicePrimaryCtxRetain(&mut context, device as c_int));
    ok!(sys::cuCtxSetCurrent(context));
    context
}

/// A rank that has joined on the device of its number.
pub(crate) struct Rank {
    pub(crate) nccl: Nccl,
    pub(crate) comm: Comm,
    pub(crate) stream: sys::CUstream,
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
}

impl Rank {
    pub(crate) fn join() -> Self {
        let (rank, ranks) = (own_rank(), own_ranks());
        open(rank);
        let mut stream = std::ptr::null_mut();
        ok!(sys::cuStreamCreate(&mut stream, 1));
        let nccl = Nccl::load();
        let comm = nccl.join(own_id(), ranks, rank);
        let comm = comm.unwrap_or_else(|code| panic!("{:?}", nccl.words(code)));
        Self {
            nccl,
            comm,
            stream,
            rank,
            ranks,
        }
    }

    pub(crate) fn allocate(&self, bytes: usize) -> u64 {
        let mut pointer = 0;
        ok!(sys::cuMemAlloc_v2(&mut pointer, bytes));
        pointer
    }

    pub(crate) fn upload(&self, to: u64, bytes: &[u8]) {
        let (from, length) = (bytes.as_ptr().cast(), bytes.len());
        ok!(sys::cuMemcpyHtoDAsync_v2(to, from, length, self.stream));
    }

    pub(crate) fn download(&self, from: u64, bytes: usize) -> Vec<u8> {
        let mut found = vec![0_u8; bytes];
        let to = found.as_mut_ptr().cast();
        ok!(sys::cuMemcpyDtoHAsync_v2(to, from, bytes, self.stream));
        found
    }

    /// The code of a sum of `count` elements.
    pub(crate) fn try_all_reduce(&self, to: u64, from: u64, count: usize, kind: c_int) -> c_int {
        let call = self.nccl.symbol::<AllReduce>("ncclAllReduce");
        let (from, to) = (from as *const c_void, to as *mut c_void);
        // SAFETY: the library checks the addresses; the stream is alive.
        unsafe { call(from, to, count, kind, 0, self.comm, self.stream) }
    }

    pub(crate) fn all_reduce(&self, to: u64, from: u64, count: usize, kind: c_int) {
        let code = self.try_all_reduce(to, from, count, kind);
        assert_eq!(code, 0, "{:?}", self.nccl.words(code));
    }

    pub(crate) fn all_gather(&self, to: u64, from: u64, count: usize, kind: c_int) {
        let call = self.nccl.symbol::<AllGather>("ncclAllGather");
        let (from, to) = (from as *const c_void, to as *mut c_void);
        // SAFETY: as above.
        let code = unsafe { call(from, to, count, kind, self.comm, self.stream) };
        assert_eq!(code, 0, "{:?}", self.nccl.words(code));
    }

    pub(crate) fn synchronize(&self) {
        ok!(sys::cuStreamSynchronize(self.stream));
    }

    /// Virtual microseconds between two events around some work.
    pub(crate) fn time_us(&self, work: impl FnOnce()) -> f64 {
        let mut events = [std::ptr::null_mut(); 2];
        for event in &mut events {
            ok!(sys::cuEventCreate(event, 0));
        }
        ok!(sys::cuEventRecord(events[0], self.stream));
        work();
        ok!(sys::cuEventRecord(events[1], self.stream));
        self.synchronize();
        let mut ms = 0.0;
        ok!(sys::cuEventElapsedTime_v2(&mut ms, events[0], events[1]));
        f64::from(ms) * 1000.0
    }

    /// Captures work into an executable graph.
    pub(crate) fn capture(&self, work: impl FnOnce()) -> sys::CUgraphExec {
        let (mut graph, mut executable) = (std::ptr::null_mut(), std::ptr::null_mut());
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        ok!(sys::cuStreamBeginCapture_v2(self.stream, mode));
        work();
        ok!(sys::cuStreamEndCapture(self.stream, &mut graph));
        ok!(sys::cuGraphInstantiateWithFlags(&mut executable, graph, 0));
        ok!(sys::cuGraphDestroy(graph));
        executable
    }
}
