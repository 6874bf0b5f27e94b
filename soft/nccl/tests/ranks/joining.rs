//! Joining: who may, and what a communicator knows of itself.

use crate::processes::{is_child, pass, plain};
use crate::rank::{Id, Nccl, Rank, open, own_id, own_rank, own_ranks};
use std::ffi::{CStr, c_char, c_int};

#[test]
fn a_communicator_knows_itself() {
    if !is_child() {
        pass("joining::a_communicator_knows_itself", &plain(), 2);
        return;
    }
    let rank = Rank::join();
    let (nccl, comm) = (&rank.nccl, rank.comm);
    assert_eq!(nccl.ask("ncclCommCount", comm), Ok(2));
    assert_eq!(nccl.ask("ncclCommUserRank", comm), Ok(rank.rank as c_int));
    assert_eq!(nccl.ask("ncclCommCuDevice", comm), Ok(rank.rank as c_int));
    assert_eq!(nccl.ask("ncclCommGetAsyncError", comm), Ok(0));
    let mut version = 0;
    let get = nccl.symbol::<unsafe extern "C" fn(*mut c_int) -> c_int>("ncclGetVersion");
    // SAFETY: writes one int.
    assert_eq!(unsafe { get(&raw mut version) }, 0);
    // 2.29.2 by NCCL_VERSION: 2 x 10000 + 29 x 100 + 2.
    assert_eq!(version, 22902);
    let marker = nccl.symbol::<unsafe extern "C" fn() -> *const c_char>("tplens_soft_box");
    // SAFETY: takes nothing.
    let name = unsafe { marker() };
    // SAFETY: ends in NUL and lives as long as the library.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"l40x4");

    let group = |name| {
        let call = nccl.symbol::<unsafe extern "C" fn() -> c_int>(name);
        // SAFETY: takes nothing.
        unsafe { call() }
    };
    let groups = ["ncclGroupStart", "ncclGroupEnd", "ncclGroupEnd"].map(group);
    assert_eq!(groups, [0, 0, 5]);
    assert_eq!(nccl.end("ncclCommDestroy", comm), 0);
    assert_eq!(nccl.end("ncclCommDestroy", comm), 4);
    assert_eq!(nccl.ask("ncclCommCount", std::ptr::null_mut()), Err(4));
    // The process has a rank of this id already.
    assert_eq!(nccl.join(own_id(), 2, rank.rank), Err(5));
}

#[test]
fn two_ranks_on_one_device_are_refused_in_nccl_s_words() {
    if !is_child() {
        let test = "joining::two_ranks_on_one_device_are_refused_in_nccl_s_words";
        pass(test, &plain(), 2);
        return;
    }
    open(3);
    let nccl = Nccl::load();
    let code = nccl.join(own_id(), own_ranks(), own_rank());
    assert_eq!(code, Err(5));
    let (text, last) = nccl.words(5);
    assert_eq!(text, "invalid usage (run with NCCL_DEBUG=WARN for details)");
    // Device 3 of the box is 0000:e1:00.0: the digits of its address without signs.
    let words = "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device e1000";
    assert_eq!(last, words);
}

#[test]
fn what_cannot_join_is_refused() {
    if !is_child() {
        pass("joining::what_cannot_join_is_refused", &plain(), 1);
        return;
    }
    let nccl = Nccl::load();
    // ncclUnhandledCudaError: nothing has loaded a driver, and none is loaded for it.
    assert_eq!(nccl.join(own_id(), 1, 0), Err(1));
    let (text, last) = nccl.words(1);
    assert!(text.starts_with("unhandled cuda error"), "{text}");
    assert!(last.contains("no CUDA driver is loaded"), "{last}");
    cudarc::driver::result::init().expect("initialises");
    assert_eq!(nccl.join(own_id(), 1, 0), Err(1));
    let (_, last) = nccl.words(1);
    assert!(last.contains("invalid device context"), "{last}");
    open(0);
    for (id, ranks, rank, words) in [
        (Id([7; 128]), 1, 0, "not made by the soft libnccl"),
        (own_id(), 2, 2, "Invalid rank requested : 2/2"),
        (own_id(), 0, 0, "Invalid rank requested : 0/0"),
    ] {
        assert_eq!(nccl.join(id, ranks, rank), Err(4));
        let (_, last) = nccl.words(4);
        assert!(last.contains(words), "{last}");
    }
    // ncclRemoteError: no process has this number; the kernel's largest is 4194304.
    let mut orphan = own_id();
    orphan.0[8] ^= 1;
    orphan.0[24..28].copy_from_slice(&5_000_000_u32.to_le_bytes());
    assert_eq!(nccl.join(orphan, 1, 0), Err(6));
    let (_, last) = nccl.words(6);
    assert!(last.contains("/proc/5000000/fd/"), "{last}");
    // One rank alone is a communicator.
    assert!(nccl.join(own_id(), 1, 0).is_ok());
    assert_eq!(nccl.words(99).0, "unknown result code");
}
