//! Exports: streams and events. Priorities and callbacks do not exist here; capture is in `graphs`.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{Status, call, current, object_handle, object_id, present, put, stream_id, with};
use softbox::{Code, Outcome};
use std::ffi::{c_uint, c_void};

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: c_uint = 2;

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreate(stream: *mut *mut c_void, _flags: c_uint) -> Status {
    call(|| {
        present(stream)?;
        let id = with(|driver| driver.open_stream(current()?))?;
        // SAFETY: cuda.h: the caller passes a place for one CUstream.
        unsafe { put(stream, object_handle(id)) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(stream: *mut c_void) -> Status {
    call(|| with(|driver| driver.close_stream(object_id(stream))))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(stream: *mut c_void) -> Status {
    call(|| {
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.synchronize_stream(stream)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamQuery(stream: *mut c_void) -> Status {
    call(|| {
        ready(with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.query_stream(stream)
        })?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _flags: c_uint) -> Status {
    call(|| {
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.wait_event(stream, object_id(event))
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventCreate(event: *mut *mut c_void, flags: c_uint) -> Status {
    call(|| {
        present(event)?;
        let id = with(|driver| driver.open_event(current()?, flags & DISABLE_TIMING == 0))?;
        // SAFETY: cuda.h: the caller passes a place for one CUevent.
        unsafe { put(event, object_handle(id)) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(event: *mut c_void) -> Status {
    call(|| with(|driver| driver.close_event(object_id(event))))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> Status {
    call(|| {
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.record(object_id(event), stream)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(event: *mut c_void) -> Status {
    call(|| with(|driver| driver.synchronize_event(object_id(event))))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(event: *mut c_void) -> Status {
    call(|| ready(with(|driver| driver.query_event(object_id(event)))?))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventElapsedTime(
    milliseconds: *mut f32,
    from: *mut c_void,
    to: *mut c_void,
) -> Status {
    call(|| {
        present(milliseconds)?;
        let elapsed = with(|driver| driver.elapsed_ms(object_id(from), object_id(to)))?;
        // SAFETY: cuda.h: the caller passes a place for one float.
        unsafe { put(milliseconds, elapsed as f32) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventElapsedTime_v2(
    milliseconds: *mut f32,
    from: *mut c_void,
    to: *mut c_void,
) -> Status {
    // SAFETY: the same promise.
    unsafe { cuEventElapsedTime(milliseconds, from, to) }
}

fn ready(done: bool) -> Outcome<()> {
    if done {
        Ok(())
    } else {
        Err(Code::NOT_READY.into())
    }
}
