//! Signatures of nccl.h, which rccl.h shares under the same names, and MCCL under its prefix, as the open projects that call it show.
//!
//! Result codes are numbers and never a closed enum: a newer library has more of them than any header here.
#![expect(unsafe_code, reason = "C ABI of NCCL and its kin")]

use std::ffi::{c_char, c_int, c_void};

use crate::library::symbols;

/// `ncclResult_t`, whatever its value.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ccl) struct Code(pub(in crate::ccl) u32);

impl Code {
    pub(in crate::ccl) const SUCCESS: Self = Self(0);
    /// Work of a communicator that does not block goes on; no error.
    pub(in crate::ccl) const IN_PROGRESS: Self = Self(7);
}

/// `ncclUniqueId`, which is passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub(in crate::ccl) struct Id(pub(in crate::ccl) [u8; 128]);

/// `ncclComm_t`.
pub(in crate::ccl) type Comm = *mut c_void;
/// Ends a communicator.
type OfComm = unsafe extern "C" fn(Comm) -> Code;
/// `cudaStream_t`, `hipStream_t` or `mcStream_t`.
type Stream = *mut c_void;

symbols! {
    $ CclNames, Functions, ccl_names;
    get_version: "GetVersion" => unsafe extern "C" fn(*mut c_int) -> Code;
    get_unique_id: "GetUniqueId" => unsafe extern "C" fn(*mut Id) -> Code;
    error_string: "GetErrorString" => unsafe extern "C" fn(Code) -> *const c_char;
    // From NCCL 2.13 on.
    last_error: "GetLastError" => unsafe extern "C" fn(Comm) -> *const c_char;
    init_rank: "CommInitRank" => unsafe extern "C" fn(*mut Comm, c_int, Id, c_int) -> Code;
    destroy: "CommDestroy" => OfComm;
    abort: "CommAbort" => OfComm;
    async_error: "CommGetAsyncError" => unsafe extern "C" fn(Comm, *mut Code) -> Code;
    all_reduce: "AllReduce" => unsafe extern "C" fn(*const c_void, *mut c_void, usize, u32, u32, Comm, Stream) -> Code;
    all_gather: "AllGather" => unsafe extern "C" fn(*const c_void, *mut c_void, usize, u32, Comm, Stream) -> Code;
    reduce_scatter: "ReduceScatter" => unsafe extern "C" fn(*const c_void, *mut c_void, usize, u32, u32, Comm, Stream) -> Code;
}
