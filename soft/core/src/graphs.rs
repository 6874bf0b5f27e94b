//! The simulated driver's calls on graphs: capturing one stream, and launching what was captured. Forks, joins, child graphs and
//! changes of a graph do not exist here.

use crate::work::{Capture, Node};
use crate::{Code, Outcome, SoftDriver};
use std::sync::Arc;

/// Whether a stream captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureState {
    /// No.
    None,
    /// Yes.
    Active,
    /// Yes, but the capture was spoiled and can only be ended.
    Invalidated,
}

impl SoftDriver {
    /// Begins to capture what is given to a stream, instead of doing it.
    ///
    /// # Errors
    /// [`Code::CAPTURE_UNSUPPORTED`] for a null stream, [`Code::ILLEGAL_STATE`] where it captures, [`Code::INVALID_HANDLE`].
    pub fn begin_capture(&mut self, stream: u64) -> Outcome<()> {
        self.stream(stream)?;
        if self.null_streams.contains(&stream) {
            return Err(Code::CAPTURE_UNSUPPORTED.into());
        }
        if self.captures.contains_key(&stream) {
            return Err(Code::ILLEGAL_STATE.into());
        }
        self.captures.insert(stream, Capture::default());
        Ok(())
    }

    /// Ends a capture, and answers the graph.
    ///
    /// # Errors
    /// [`Code::ILLEGAL_STATE`] where the stream does not capture, [`Code::CAPTURE_INVALIDATED`], [`Code::INVALID_HANDLE`].
    pub fn end_capture(&mut self, stream: u64) -> Outcome<u64> {
        self.stream(stream)?;
        let capture = self.captures.remove(&stream).ok_or(Code::ILLEGAL_STATE)?;
        if capture.spoiled {
            return Err(Code::CAPTURE_INVALIDATED.into());
        }
        let graph = self.sim.fresh();
        self.graphs.insert(graph, capture.nodes.into());
        Ok(graph)
    }

    /// Whether a stream captures.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`].
    pub fn capture_state(&self, stream: u64) -> Outcome<CaptureState> {
        self.stream(stream)?;
        Ok(match self.captures.get(&stream) {
            None => CaptureState::None,
            Some(capture) if capture.spoiled => CaptureState::Invalidated,
            Some(_) => CaptureState::Active,
        })
    }

    /// Makes a graph executable on a device.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`].
    pub fn instantiate(&mut self, graph: u64, ordinal: usize) -> Outcome<u64> {
        self.usable(ordinal)?;
        let nodes = Arc::clone(self.graphs.get(&graph).ok_or(Code::INVALID_HANDLE)?);
        let executable = self.sim.fresh();
        self.executables.insert(executable, (ordinal, nodes));
        Ok(executable)
    }

    /// Issues all that a graph holds in a stream.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`] also for a stream of another device, [`Code::CAPTURE_UNSUPPORTED`] in a stream that captures,
    /// [`Code::INVALID_VALUE`] where memory that it needs was freed, and what a copy or a kernel may report.
    pub fn launch(&mut self, executable: u64, stream: u64) -> Outcome<()> {
        let of_stream = self.stream(stream)?;
        let (ordinal, nodes) = self
            .executables
            .get(&executable)
            .ok_or(Code::INVALID_HANDLE)?;
        if *ordinal != of_stream {
            return Err(Code::INVALID_HANDLE.into());
        }
        let nodes = Arc::clone(nodes);
        self.refuse_captured(stream)?;
        for node in nodes.iter() {
            match node {
                Node::Copy(copy) => {
                    self.issue_copy(*copy, stream)?;
                }
                Node::Kernel(kernel) => self.issue_kernel(*kernel, stream)?,
                Node::Foreign(foreign) => {
                    self.check_foreign(foreign, stream)?;
                    self.issue_foreign(foreign.clone(), stream, true);
                }
            }
        }
        Ok(())
    }

    /// Forgets a graph; what was made of it stays.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`].
    pub fn destroy_graph(&mut self, graph: u64) -> Outcome<()> {
        self.devices()?;
        let known = self.graphs.remove(&graph);
        known.map(drop).ok_or(Code::INVALID_HANDLE.into())
    }

    /// Forgets an executable graph; launches of it that are under way go on.
    ///
    /// # Errors
    /// [`Code::INVALID_HANDLE`].
    pub fn destroy_executable(&mut self, executable: u64) -> Outcome<()> {
        self.devices()?;
        let known = self.executables.remove(&executable);
        known.map(drop).ok_or(Code::INVALID_HANDLE.into())
    }

    /// Takes an operation into the stream's capture; `false` where the stream does not capture.
    pub(crate) fn capture(&mut self, stream: u64, node: impl FnOnce() -> Node) -> Outcome<bool> {
        match self.captures.get_mut(&stream) {
            None => Ok(false),
            Some(capture) if capture.spoiled => Err(Code::CAPTURE_INVALIDATED.into()),
            Some(capture) => {
                capture.nodes.push(node());
                Ok(true)
            }
        }
    }

    /// Refuses, in a stream that captures, what cannot be captured, and spoils the capture.
    pub(crate) fn refuse_captured(&mut self, stream: u64) -> Outcome<()> {
        match self.captures.get_mut(&stream) {
            None => Ok(()),
            Some(capture) => {
                capture.spoiled = true;
                Err(Code::CAPTURE_UNSUPPORTED.into())
            }
        }
    }
}
