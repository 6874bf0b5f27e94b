//! Graphs: what is captured happens at each launch and not before, and what cannot be captured spoils the capture.

use crate::processes::{is_child, pass, plain};
use crate::rank::{F32, Rank, ok};
use cudarc::driver::sys;

fn value(rank: &Rank, at: u64) -> f32 {
    let bytes = rank.download(at, 4);
    f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[test]
fn a_launch_does_what_was_captured_with_what_is_then_there() {
    if !is_child() {
        let test = "graphs::a_launch_does_what_was_captured_with_what_is_then_there";
        pass(test, &plain(), 2);
        return;
    }
    let rank = Rank::join();
    let (input, sum, copy) = (rank.allocate(4), rank.allocate(4), rank.allocate(4));
    let graph = rank.capture(|| {
        rank.all_reduce(sum, input, 1, F32);
        ok!(sys::cuMemcpyDtoDAsync_v2(copy, sum, 4, rank.stream));
        // A word of zeros is 0.0.
        ok!(sys::cuMemsetD32Async(input, 0, 1, rank.stream));
    });
    assert_eq!((value(&rank, sum), value(&rank, copy)), (0.0, 0.0));
    for own in [3.0_f32, 5.0] {
        rank.upload(input, &(own + rank.rank as f32).to_ne_bytes());
        ok!(sys::cuGraphLaunch(graph, rank.stream));
        rank.synchronize();
        // own + (own + 1) of two ranks; the input was cleared behind it.
        assert_eq!(value(&rank, copy), 2.0 * own + 1.0);
        assert_eq!(
            (value(&rank, sum), value(&rank, input)),
            (2.0 * own + 1.0, 0.0)
        );
    }
    ok!(sys::cuGraphExecDestroy(graph));
    // SAFETY: the handle is the library's to refuse.
    let again = unsafe { sys::cuGraphLaunch(graph, rank.stream) };
    assert_eq!(again, sys::CUresult::CUDA_ERROR_INVALID_HANDLE);
}

#[test]
fn an_event_or_a_wait_spoils_a_capture() {
    if !is_child() {
        pass("graphs::an_event_or_a_wait_spoils_a_capture", &plain(), 1);
        return;
    }
    use sys::CUresult::{
        CUDA_ERROR_ILLEGAL_STATE as STATE, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED as INVALIDATED,
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED as UNSUPPORTED,
    };
    use sys::CUstreamCaptureStatus::{
        CU_STREAM_CAPTURE_STATUS_ACTIVE as ACTIVE, CU_STREAM_CAPTURE_STATUS_INVALIDATED as SPOILED,
        CU_STREAM_CAPTURE_STATUS_NONE as NONE,
    };
    let rank = Rank::join();
    let stream = rank.stream;
    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    let (mut event, mut graph) = (std::ptr::null_mut(), std::ptr::null_mut());
    ok!(sys::cuEventCreate(&mut event, 0));
    let state = || {
        let mut state = NONE;
        ok!(sys::cuStreamIsCapturing(stream, &mut state));
        state
    };
    // SAFETY: handles are alive.
    let spoilers: [&dyn Fn() -> sys::CUresult; 4] = [
        &|| unsafe { sys::cuEventRecord(event, stream) },
        &|| unsafe { sys::cuStreamWaitEvent(stream, event, 0) },
        &|| unsafe { sys::cuStreamSynchronize(stream) },
        &|| unsafe { sys::cuCtxSynchronize() },
    ];
    for spoil in spoilers {
        assert_eq!(state(), NONE);
        ok!(sys::cuStreamBeginCapture_v2(stream, mode));
        assert_eq!(state(), ACTIVE);
        // SAFETY: as above.
        let twice = unsafe { sys::cuStreamBeginCapture_v2(stream, mode) };
        assert_eq!((twice, spoil(), state()), (STATE, UNSUPPORTED, SPOILED));
        // SAFETY: writes one handle.
        let ended = unsafe { sys::cuStreamEndCapture(stream, &mut graph) };
        assert_eq!((ended, graph.is_null()), (INVALIDATED, true));
    }
    // SAFETY: as above.
    let unbegun = unsafe { sys::cuStreamEndCapture(stream, &mut graph) };
    assert_eq!(unbegun, STATE);
    // SAFETY: the null stream is a stream.
    let null = unsafe { sys::cuStreamBeginCapture_v2(std::ptr::null_mut(), mode) };
    assert_eq!(null, UNSUPPORTED);
}
