//! Calls on streams and events. Priorities and callbacks do not exist here; capture is in `graphs`.

use crate::abi::{Handle, Out};
use crate::vendor::Runtime;
use softbox::{Code, Outcome};
use std::ffi::c_uint;

/// `hipEventDisableTiming`.
const DISABLE_TIMING: c_uint = 2;

/// Flags change nothing: no stream here waits for the null stream.
pub(crate) fn open_stream(runtime: &Runtime, stream: Out<Handle>, flags: c_uint) -> Outcome<()> {
    stream.present()?;
    if flags > 1 {
        return Err(Code::INVALID_VALUE.into());
    }
    let id = runtime.on_current(|driver, current| driver.open_stream(current))?;
    stream.put(Handle::of(id))
}

pub(crate) fn close_stream(runtime: &Runtime, stream: Handle) -> Outcome<()> {
    runtime.with(|driver| driver.close_stream(stream.id()))
}

pub(crate) fn synchronize_stream(runtime: &Runtime, stream: Handle) -> Outcome<()> {
    runtime.on_stream(stream, |driver, stream| driver.synchronize_stream(stream))
}

pub(crate) fn wait_event(
    runtime: &Runtime,
    stream: Handle,
    event: Handle,
    _flags: c_uint,
) -> Outcome<()> {
    runtime.on_stream(stream, |driver, stream| {
        driver.wait_event(stream, event.id())
    })
}

pub(crate) fn open_event(runtime: &Runtime, event: Out<Handle>, flags: c_uint) -> Outcome<()> {
    event.present()?;
    let timed = flags & DISABLE_TIMING == 0;
    let id = runtime.on_current(|driver, current| driver.open_event(current, timed))?;
    event.put(Handle::of(id))
}

pub(crate) fn close_event(runtime: &Runtime, event: Handle) -> Outcome<()> {
    runtime.with(|driver| driver.close_event(event.id()))
}

pub(crate) fn record(runtime: &Runtime, event: Handle, stream: Handle) -> Outcome<()> {
    runtime.on_stream(stream, |driver, stream| driver.record(event.id(), stream))
}

pub(crate) fn elapsed(
    runtime: &Runtime,
    milliseconds: Out<f32>,
    from: Handle,
    to: Handle,
) -> Outcome<()> {
    milliseconds.present()?;
    let elapsed = runtime.with(|driver| driver.elapsed_ms(from.id(), to.id()))?;
    milliseconds.put(elapsed as f32)
}
