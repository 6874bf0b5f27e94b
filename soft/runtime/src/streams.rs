//! Calls on streams, events and graphs. Priorities and callbacks do not exist here, and nodes of graphs cannot be made or changed by
//! hand.
#![expect(unsafe_code, reason = "exports C functions under their vendors' names")]

use crate::abi::{handle, id};
use crate::vendor::calls;
use softbox::abi::{Handle, Out, OutText};
use softbox::{CaptureState, Code};
use std::ffi::{c_int, c_uint, c_ulonglong};

/// `hipEventDisableTiming`.
const DISABLE_TIMING: c_uint = 2;

calls! {
    /// Flags change nothing: no stream here waits for the null stream.
    [CUDA "cuStreamCreate", HIP "hipStreamCreateWithFlags", MACA "mcStreamCreateWithFlags"]
    fn open_stream(runtime, stream: Out<Handle>, flags: c_uint) {
        stream.present()?;
        if flags > 1 {
            return Err(Code::INVALID_VALUE.into());
        }
        stream.put(handle(runtime.on_current(|driver, current| driver.open_stream(current))?))
    }

    [CUDA "cuStreamDestroy_v2", HIP "hipStreamDestroy", MACA "mcStreamDestroy"]
    fn close_stream(runtime, stream: Handle) {
        runtime.with(|driver| driver.close_stream(id(stream)))
    }

    [CUDA "cuStreamSynchronize", HIP "hipStreamSynchronize", MACA "mcStreamSynchronize"]
    fn synchronize_stream(runtime, stream: Handle) {
        runtime.on_stream(stream, |driver, stream| driver.synchronize_stream(stream))
    }

    [CUDA "cuStreamWaitEvent", HIP "hipStreamWaitEvent", MACA "mcStreamWaitEvent"]
    fn wait_event(runtime, stream: Handle, event: Handle, _flags: c_uint) {
        runtime.on_stream(stream, |driver, stream| driver.wait_event(stream, id(event)))
    }

    [CUDA "cuEventCreate", HIP "hipEventCreateWithFlags", MACA "mcEventCreateWithFlags"]
    fn open_event(runtime, event: Out<Handle>, flags: c_uint) {
        event.present()?;
        let timed = flags & DISABLE_TIMING == 0;
        event.put(handle(runtime.on_current(|driver, current| driver.open_event(current, timed))?))
    }

    [CUDA "cuEventDestroy_v2", HIP "hipEventDestroy", MACA "mcEventDestroy"]
    fn close_event(runtime, event: Handle) {
        runtime.with(|driver| driver.close_event(id(event)))
    }

    [CUDA "cuEventRecord", HIP "hipEventRecord", MACA "mcEventRecord"]
    fn record(runtime, event: Handle, stream: Handle) {
        runtime.on_stream(stream, |driver, stream| driver.record(id(event), stream))
    }

    [CUDA "cuEventElapsedTime", CUDA "cuEventElapsedTime_v2", HIP "hipEventElapsedTime", MACA "mcEventElapsedTime"]
    fn elapsed(runtime, milliseconds: Out<f32>, from: Handle, to: Handle) {
        runtime.tell(milliseconds, |driver| Ok(driver.elapsed_ms(id(from), id(to))? as f32))
    }

    /// The modes (0 to 2) differ in what they refuse of other streams and threads; nothing of that is refused here.
    [CUDA "cuStreamBeginCapture_v2", HIP "hipStreamBeginCapture", MACA "mcStreamBeginCapture"]
    fn begin_capture(runtime, stream: Handle, mode: c_uint) {
        match mode {
            0..=2 => runtime.on_stream(stream, |driver, stream| driver.begin_capture(stream)),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }

    /// The graph is null where the capture was spoiled.
    [CUDA "cuStreamEndCapture", HIP "hipStreamEndCapture", MACA "mcStreamEndCapture"]
    fn end_capture(runtime, stream: Handle, graph: Out<Handle>) {
        graph.put(Handle::NULL)?;
        graph.put(handle(runtime.on_stream(stream, |driver, stream| driver.end_capture(stream))?))
    }

    [CUDA "cuStreamIsCapturing", HIP "hipStreamIsCapturing", MACA "mcStreamIsCapturing"]
    fn is_capturing(runtime, stream: Handle, status: Out<c_int>) {
        status.put(match runtime.on_stream(stream, |driver, stream| driver.capture_state(stream))? {
            CaptureState::None => 0,
            CaptureState::Active => 1,
            CaptureState::Invalidated => 2,
        })
    }

    /// There is never a node to blame nor anything to log.
    [HIP "hipGraphInstantiate", MACA "mcGraphInstantiate"]
    fn instantiate(runtime, executable: Out<Handle>, graph: Handle, node: Out<Handle>, _log: OutText, _room: usize) {
        // The place may be null.
        let _ = node.put(Handle::NULL);
        instantiate_with(runtime, executable, graph, 0)
    }

    /// The graph belongs to the current device. Flags are taken and change nothing here.
    [CUDA "cuGraphInstantiateWithFlags"]
    fn instantiate_with(runtime, executable: Out<Handle>, graph: Handle, _flags: c_ulonglong) {
        executable.put(handle(runtime.on_current(|driver, current| driver.instantiate(id(graph), current))?))
    }

    [CUDA "cuGraphLaunch", HIP "hipGraphLaunch", MACA "mcGraphLaunch"]
    fn launch(runtime, executable: Handle, stream: Handle) {
        runtime.on_stream(stream, |driver, stream| driver.launch(id(executable), stream))
    }

    [CUDA "cuGraphExecDestroy", HIP "hipGraphExecDestroy", MACA "mcGraphExecDestroy"]
    fn destroy_executable(runtime, executable: Handle) {
        runtime.with(|driver| driver.destroy_executable(id(executable)))
    }

    [CUDA "cuGraphDestroy", HIP "hipGraphDestroy", MACA "mcGraphDestroy"]
    fn destroy_graph(runtime, graph: Handle) {
        runtime.with(|driver| driver.destroy_graph(id(graph)))
    }
}
