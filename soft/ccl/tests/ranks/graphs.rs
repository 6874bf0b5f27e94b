//! Graphs: what is captured happens at each launch and not before, and what cannot be captured spoils the capture.

use crate::driver::{Pointer, call, ok};
use crate::libraries::NCCL;
use crate::processes::{is_child, pass, pass_all, plain};
use crate::rank::{F32, Rank};
use std::ffi::c_int;
use std::ptr::null_mut;

fn value(rank: &Rank, at: u64) -> f32 {
    let bytes = rank.download(at, 4);
    f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[test]
fn a_launch_does_what_was_captured_with_what_is_then_there() {
    if !is_child() {
        return pass_all("graphs::a_launch_does_what_was_captured_with_what_is_then_there");
    }
    let rank = Rank::join();
    let (input, sum, both) = (rank.allocate(4), rank.allocate(4), rank.allocate(8));
    let graph = rank.capture(|| {
        rank.all_reduce(sum, input, 1, F32);
        rank.all_gather(both, sum, 1, F32);
    });
    assert_eq!((value(&rank, sum), value(&rank, both)), (0.0, 0.0));
    for own in [3.0_f32, 5.0] {
        rank.upload(input, &(own + rank.rank as f32).to_ne_bytes());
        rank.launch(graph);
        rank.synchronize();
        // own + (own + 1) of two ranks, gathered from both.
        let expected = 2.0 * own + 1.0;
        assert_eq!(
            (value(&rank, both), value(&rank, both + 4)),
            (expected, expected)
        );
        assert_eq!(value(&rank, sum), expected);
    }
}

/// States of `cuStreamIsCapturing`: none, active, invalidated.
const STATES: [c_int; 3] = [0, 1, 2];

#[test]
fn an_event_or_a_wait_spoils_a_capture() {
    if !is_child() {
        let test = "graphs::an_event_or_a_wait_spoils_a_capture";
        pass(test, NCCL, &plain(NCCL), 1);
        return;
    }
    // cuda.h: CUDA_ERROR_ILLEGAL_STATE, _STREAM_CAPTURE_UNSUPPORTED and _STREAM_CAPTURE_INVALIDATED.
    let [illegal, unsupported, invalidated] = [401, 900, 901];
    let [none, active, spoiled] = STATES;
    let rank = Rank::join();
    let (stream, cuda) = (rank.stream, &rank.driver.library);
    let mut event = null_mut();
    ok!(cuda, "cuEventCreate", &raw mut event => *mut Pointer, 0 => u32);
    let state = || {
        let mut state = -1;
        ok!(cuda, "cuStreamIsCapturing", stream => Pointer, &raw mut state => *mut c_int);
        state
    };
    // 1 is CU_STREAM_CAPTURE_MODE_THREAD_LOCAL.
    let begin =
        |stream: Pointer| call!(cuda, "cuStreamBeginCapture_v2", stream => Pointer, 1 => u32);
    let end = || {
        let mut graph = null_mut();
        let code =
            call!(cuda, "cuStreamEndCapture", stream => Pointer, &raw mut graph => *mut Pointer);
        (code, graph.is_null())
    };
    let spoilers: [&dyn Fn() -> c_int; 4] = [
        &|| call!(cuda, "cuEventRecord", event => Pointer, stream => Pointer),
        &|| call!(cuda, "cuStreamWaitEvent", stream => Pointer, event => Pointer, 0 => u32),
        &|| call!(cuda, "cuStreamSynchronize", stream => Pointer),
        &|| call!(cuda, "cuCtxSynchronize"),
    ];
    for spoil in spoilers {
        assert_eq!(state(), none);
        assert_eq!(begin(stream), 0);
        assert_eq!(state(), active);
        assert_eq!(
            (begin(stream), spoil(), state()),
            (illegal, unsupported, spoiled)
        );
        assert_eq!(end(), (invalidated, true));
    }
    assert_eq!(end().0, illegal);
    assert_eq!(begin(null_mut()), unsupported);
}
