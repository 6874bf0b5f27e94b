//! Calls on graphs: capturing a stream, and launching what was captured. Nodes cannot be made or changed by hand.

use crate::abi::{Handle, Out, OutText};
use crate::vendor::Runtime;
use softbox::{CaptureState, Code, Outcome};
use std::ffi::{c_int, c_uint, c_ulonglong};

/// The modes (0 to 2) differ in what they refuse of other streams and threads; nothing of that is refused here.
pub(crate) fn begin_capture(runtime: &Runtime, stream: Handle, mode: c_uint) -> Outcome<()> {
    if mode > 2 {
        return Err(Code::INVALID_VALUE.into());
    }
    runtime.on_stream(stream, |driver, stream| driver.begin_capture(stream))
}

/// The graph is null where the capture was spoiled.
pub(crate) fn end_capture(runtime: &Runtime, stream: Handle, graph: Out<Handle>) -> Outcome<()> {
    graph.put(Handle::NULL)?;
    let id = runtime.on_stream(stream, |driver, stream| driver.end_capture(stream))?;
    graph.put(Handle::of(id))
}

pub(crate) fn is_capturing(runtime: &Runtime, stream: Handle, status: Out<c_int>) -> Outcome<()> {
    let state = runtime.on_stream(stream, |driver, stream| driver.capture_state(stream))?;
    status.put(match state {
        CaptureState::None => 0,
        CaptureState::Active => 1,
        CaptureState::Invalidated => 2,
    })
}

/// The graph belongs to the current device. There is never a node to blame nor anything to log.
pub(crate) fn instantiate(
    runtime: &Runtime,
    executable: Out<Handle>,
    graph: Handle,
    node: Out<Handle>,
    _log: OutText,
    _room: usize,
) -> Outcome<()> {
    node.put_if_present(Handle::NULL);
    instantiate_with(runtime, executable, graph, 0)
}

/// Flags are taken and change nothing here.
pub(crate) fn instantiate_with(
    runtime: &Runtime,
    executable: Out<Handle>,
    graph: Handle,
    _flags: c_ulonglong,
) -> Outcome<()> {
    let id = runtime.on_current(|driver, current| driver.instantiate(graph.id(), current))?;
    executable.put(Handle::of(id))
}

pub(crate) fn launch(runtime: &Runtime, executable: Handle, stream: Handle) -> Outcome<()> {
    runtime.on_stream(stream, |driver, stream| {
        driver.launch(executable.id(), stream)
    })
}

pub(crate) fn destroy_executable(runtime: &Runtime, executable: Handle) -> Outcome<()> {
    runtime.with(|driver| driver.destroy_executable(executable.id()))
}

pub(crate) fn destroy_graph(runtime: &Runtime, graph: Handle) -> Outcome<()> {
    runtime.with(|driver| driver.destroy_graph(graph.id()))
}
