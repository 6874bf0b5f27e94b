//! Exports: capturing a stream into a graph, and launching it. Nodes cannot be made or changed by hand.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{Status, call, current, object_handle, object_id, present, put, stream_id, with};
use softbox::{CaptureState, Code};
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

/// The modes of `cuda.h` (0 to 2) differ in what they refuse of other streams and threads; nothing of that is refused here.
#[unsafe(no_mangle)]
extern "C" fn cuStreamBeginCapture_v2(stream: *mut c_void, mode: c_uint) -> Status {
    call(|| {
        if mode > 2 {
            return Err(Code::INVALID_VALUE.into());
        }
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.begin_capture(stream)
        })
    })
}

/// The graph is null where the capture was spoiled.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamEndCapture(stream: *mut c_void, graph: *mut *mut c_void) -> Status {
    call(|| {
        // SAFETY: cuda.h: the caller passes a place for one CUgraph.
        unsafe { put(graph, std::ptr::null_mut()) }?;
        let id = with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.end_capture(stream)
        })?;
        // SAFETY: as above.
        unsafe { put(graph, object_handle(id)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamIsCapturing(stream: *mut c_void, status: *mut c_int) -> Status {
    call(|| {
        let state = with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.capture_state(stream)
        })?;
        let number = match state {
            CaptureState::None => 0,
            CaptureState::Active => 1,
            CaptureState::Invalidated => 2,
        };
        // SAFETY: cuda.h: the caller passes a place for one CUstreamCaptureStatus, an int.
        unsafe { put(status, number) }
    })
}

/// The graph belongs to the device of the current context. Flags are taken and change nothing here.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphInstantiateWithFlags(
    executable: *mut *mut c_void,
    graph: *mut c_void,
    _flags: c_ulonglong,
) -> Status {
    call(|| {
        present(executable)?;
        let id = with(|driver| driver.instantiate(object_id(graph), current()?))?;
        // SAFETY: cuda.h: the caller passes a place for one CUgraphExec.
        unsafe { put(executable, object_handle(id)) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(executable: *mut c_void, stream: *mut c_void) -> Status {
    call(|| {
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.launch(object_id(executable), stream)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphExecDestroy(executable: *mut c_void) -> Status {
    call(|| with(|driver| driver.destroy_executable(object_id(executable))))
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphDestroy(graph: *mut c_void) -> Status {
    call(|| with(|driver| driver.destroy_graph(object_id(graph))))
}
