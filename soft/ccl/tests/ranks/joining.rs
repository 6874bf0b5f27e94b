//! Joining: who may, and what a communicator knows of itself.

use crate::libraries::ALL;
use crate::processes::{is_child, pass, pass_all, plain};
use crate::rank::{Ccl, Id, driver, own_id, own_rank, own_ranks};

#[test]
fn two_ranks_on_one_device_are_refused_in_nccl_s_words() {
    if !is_child() {
        let test = "joining::two_ranks_on_one_device_are_refused_in_nccl_s_words";
        return pass_all(test);
    }
    let driver = driver();
    driver.open(1);
    let ccl = Ccl::load();
    let code = ccl.join(own_id(), own_ranks(), own_rank());
    assert_eq!(code, Err(5));
    let (text, last) = ccl.words(5);
    assert_eq!(text, "invalid usage (run with NCCL_DEBUG=WARN for details)");
    // Device 1 of the boxes: 0000:61:00.0, 0000:06:00.0 and 0000:02:00.0, the digits of the addresses without signs.
    let bus = match ccl.tested.in_box {
        "l40x4" => "61000",
        "r9700-x8" => "6000",
        _ => "2000",
    };
    let words = "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device";
    assert_eq!(last, format!("{words} {bus}"));
}

#[test]
fn what_cannot_join_is_refused() {
    if !is_child() {
        for tested in ALL {
            let test = "joining::what_cannot_join_is_refused";
            pass(test, tested, &plain(tested), 1);
        }
        return;
    }
    let ccl = Ccl::load();
    // ncclUnhandledCudaError: nothing has loaded a driver, and none is loaded for it.
    assert_eq!(ccl.join(own_id(), 1, 0), Err(1));
    let (text, last) = ccl.words(1);
    assert!(text.starts_with("unhandled cuda error"), "{text}");
    assert!(last.contains("driver is loaded in this process"), "{last}");
    let driver = driver();
    driver.begin();
    if ccl.tested.driver == "cu" {
        // A thread of a runtime always has a device.
        assert_eq!(ccl.join(own_id(), 1, 0), Err(1));
        let (_, last) = ccl.words(1);
        assert!(last.contains("failure 201"), "{last}");
    }
    driver.open(0);
    let own = ccl.tested.file.split('.').next().expect("a name");
    let foreign = format!("not made by the soft {own}");
    for (id, ranks, rank, words) in [
        (Id([7; 128]), 1, 0, foreign.as_str()),
        (own_id(), 2, 2, "Invalid rank requested : 2/2"),
        (own_id(), 0, 0, "Invalid rank requested : 0/0"),
    ] {
        assert_eq!(ccl.join(id, ranks, rank), Err(4));
        let (_, last) = ccl.words(4);
        assert!(last.contains(words), "{last}");
    }
    // ncclRemoteError: no process has this number; the kernel's largest is 4194304.
    let mut orphan = own_id();
    orphan.0[8] ^= 1;
    orphan.0[24..28].copy_from_slice(&5_000_000_u32.to_le_bytes());
    assert_eq!(ccl.join(orphan, 1, 0), Err(6));
    let (_, last) = ccl.words(6);
    assert!(last.contains("/proc/5000000/fd/"), "{last}");
    // One rank alone is a communicator.
    assert!(ccl.join(own_id(), 1, 0).is_ok());
    assert_eq!(ccl.words(99).0, "unknown result code");
}
