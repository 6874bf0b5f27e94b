//! What a worker has open between jobs: the driver, its devices and kernels, the pipe to the parent. Memory is filled and checked
//! from the host here.

use std::collections::BTreeMap;
use std::rc::Rc;

use device::pattern::{Difference, Pattern};
use device::{Backend, Device, DeviceBuffer, HostBuffer, HostKind, Result, Stream};
use kernels::{Kernels, Place};
use program::Effort;
use runner::child::Line;

use crate::messages::{WorkerReply, WorkerRequest};

/// An open backend.
///
/// It keeps no stream: the host backend's first stream works on the device's own CPU, and that one is for the timed copies.
pub(super) struct Bench<B: Backend> {
    pub(super) backend: B,
    pub(super) line: Line<WorkerRequest>,
    /// Whether what is being done is not told: the steps of a probe tell it.
    pub(super) is_quiet: bool,
    devices: BTreeMap<usize, B::Device>,
    kernels: BTreeMap<usize, Rc<Kernels<B::Device>>>,
    /// What device memory is filled from and compared in; any device can copy from and to it.
    scratch: Option<HostBuffer>,
}

/// One end of a copy.
pub(super) enum End<D: Device> {
    /// Host memory, and the node on which it is wanted.
    Host(HostBuffer, Option<u32>),
    /// A device and its memory.
    Device(D, D::DeviceBuffer),
}

impl<D: Device> End<D> {
    /// As kernels take it.
    pub(super) fn place(&self) -> Place<'_, D> {
        match self {
            Self::Host(buffer, _) => Place::Host(buffer, 0),
            Self::Device(_, buffer) => Place::Device(buffer, 0),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Host(buffer, _) => buffer.len(),
            Self::Device(_, buffer) => buffer.len(),
        }
    }

    /// A number for it, so that every pair has its own pattern.
    pub(super) fn code(&self) -> u64 {
        match self {
            Self::Host(..) => 0,
            Self::Device(device, _) => device.ordinal() as u64 + 1,
        }
    }
}

impl<B: Backend> Bench<B> {
    pub(super) fn new(backend: B, line: Line<WorkerRequest>) -> Self {
        Self {
            backend,
            line,
            is_quiet: false,
            devices: BTreeMap::new(),
            kernels: BTreeMap::new(),
            scratch: None,
        }
    }

    /// Tells the parent something, which restarts its deadline. One that is gone takes this process along.
    pub(super) fn tell(&mut self, reply: &WorkerReply) {
        let _ = self.line.send(reply);
    }

    /// Tells what begins now.
    pub(super) fn doing(&mut self, doing: &str) {
        if !self.is_quiet {
            self.tell(&WorkerReply::Doing(doing.to_owned()));
        }
    }

    /// How much is copied.
    pub(super) fn effort(&self) -> &'static Effort {
        Effort::timed_by(self.backend.time_source())
    }

    /// Whether the machine is a simulated one.
    pub(super) fn is_soft(&self) -> bool {
        self.backend.driver().soft_box.is_some()
    }

    /// A device, which stays open.
    pub(super) fn device(&mut self, ordinal: usize) -> Result<B::Device> {
        if let Some(device) = self.devices.get(&ordinal) {
            return Ok(device.clone());
        }
        let device = self.backend.device(ordinal)?;
        self.devices.insert(ordinal, device.clone());
        Ok(device)
    }

    /// The kernels of a device, loaded when they are first asked for.
    ///
    /// # Errors
    /// `Unsupported`, with the reason, where it has none; what loading reported.
    pub(super) fn kernels(&mut self, ordinal: usize) -> Result<Rc<Kernels<B::Device>>> {
        if let Some(kernels) = self.kernels.get(&ordinal) {
            return Ok(Rc::clone(kernels));
        }
        self.doing("loading the kernels");
        let kernels = Rc::new(Kernels::load(&self.device(ordinal)?)?);
        self.kernels.insert(ordinal, Rc::clone(&kernels));
        Ok(kernels)
    }

    /// Memory of a device as an end of copies.
    pub(super) fn device_end(
        &mut self,
        ordinal: usize,
        bytes: usize,
    ) -> Result<Rc<End<B::Device>>> {
        let device = self.device(ordinal)?;
        self.doing("allocating device memory");
        let memory = device.alloc(bytes)?;
        Ok(Rc::new(End::Device(device, memory)))
    }

    /// Writes what `write` makes into an end, and waits until it is there.
    pub(super) fn write(
        &mut self,
        end: &End<B::Device>,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        match end {
            End::Host(buffer, _) => {
                self.doing("writing the pattern");
                buffer.with_bytes(write)
            }
            End::Device(device, buffer) => {
                let scratch = self.scratch(device, end.bytes())?;
                self.doing("writing the pattern");
                scratch.with_bytes(write)?;
                self.doing("copying the pattern to the device");
                let stream = device.stream()?;
                stream.host_to_device((buffer, 0), (&scratch, 0), end.bytes())?;
                stream.synchronize()
            }
        }
    }

    /// Compares an end with a pattern; device memory is read back by the device that owns it.
    pub(super) fn check(
        &mut self,
        end: &End<B::Device>,
        pattern: Pattern,
    ) -> Result<Option<Difference>> {
        let buffer = match end {
            End::Host(buffer, _) => buffer.clone(),
            End::Device(device, buffer) => {
                let scratch = self.scratch(device, end.bytes())?;
                self.doing("clearing what the data is read back to");
                // What the read-back does not deliver must not look right by what lay there before.
                scratch.with_bytes(|bytes| bytes.fill(0))?;
                self.doing("reading the data back");
                let stream = device.stream()?;
                stream.device_to_host((&scratch, 0), (buffer, 0), end.bytes())?;
                stream.synchronize()?;
                scratch
            }
        };
        self.doing("comparing the data");
        buffer.with_bytes(|bytes| pattern.first_difference(bytes))
    }

    /// Host memory of so many bytes to fill and compare in.
    fn scratch(&mut self, device: &B::Device, bytes: usize) -> Result<HostBuffer> {
        if let Some(scratch) = self.scratch.as_ref().filter(|kept| kept.len() == bytes) {
            return Ok(scratch.clone());
        }
        self.doing("allocating host memory to compare in");
        self.scratch = None;
        let scratch = device.alloc_host(HostKind::Pageable, bytes, None)?;
        self.scratch = Some(scratch.clone());
        Ok(scratch)
    }
}
