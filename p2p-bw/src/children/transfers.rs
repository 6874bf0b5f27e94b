//! What a case moves, with its memory: the transfers that run at once, or the chain that a kernel walks through.

use std::collections::BTreeMap;
use std::rc::Rc;

use device::pattern::Pattern;
use device::{Backend, Device, DeviceError, HostBuffer, HostKind, Result};
use kernels::Kernels;
use record::Endpoint;

use super::bench::{Bench, End, Say};
use super::staging::Relay;
use crate::cases::{self, Case, Engine, Measures, Memory, Stream};
use crate::messages::Job;

/// Bytes that a kernel's copy moves at once.
const VECTOR: usize = 16;

/// Bytes of the host memory in which a chase tells where it ended.
const END_BYTES: usize = 8;

/// One stream of copies, or one chase.
pub(super) struct Transfer<B: Backend> {
    /// The quantity's name.
    pub(super) name: String,
    pub(super) from: End<B::Device>,
    /// For a chase the same as `from`: the chain.
    pub(super) to: End<B::Device>,
    /// The device whose stream issues the copies.
    pub(super) issuer: usize,
    /// Who does it.
    pub(super) work: Work<B::Device>,
    pub(super) pattern: Pattern,
    /// Node on which its host memory is wanted.
    pub(super) node: Option<u32>,
}

/// Who does the work of a transfer.
pub(super) enum Work<D: Device> {
    /// The copy engine.
    Copies,
    /// The copy engines of two devices, through host memory.
    Relay(Relay<D>),
    /// A kernel on all multiprocessors.
    KernelCopies(Rc<Kernels<D>>),
    /// One thread of a kernel, which tells in this memory where it ended.
    Chase(Rc<Kernels<D>>, HostBuffer),
}

/// The devices that take part in streams, each once.
pub(super) fn stations(streams: &[Stream]) -> Vec<usize> {
    let ends = streams.iter().flat_map(|stream| [stream.from, stream.to]);
    let mut stations: Vec<usize> = ends.filter_map(ordinal).collect();
    stations.sort_unstable();
    stations.dedup();
    stations
}

/// The host memory of a case in the backend's words.
pub(super) fn host_kind(case: &Case) -> Option<HostKind> {
    case.pattern.memory().map(|memory| match memory {
        Memory::Pinned => HostKind::Pinned,
        Memory::Pageable => HostKind::Pageable,
    })
}

/// Makes the transfers of one job.
pub(super) struct Making<'a, B: Backend> {
    pub(super) bench: &'a mut Bench<B>,
    pub(super) case: &'a Case,
    pub(super) job: &'a Job,
    /// Whether host memory is bound to the nodes that the job names.
    pub(super) bound: bool,
    /// Buffers taken so far: of device memory, and of host memory, by device.
    pub(super) taken: (BTreeMap<usize, usize>, BTreeMap<usize, usize>),
}

impl<B: Backend> Making<'_, B> {
    /// The transfers of these streams, with their buffers allocated.
    pub(super) fn transfers(
        mut self,
        streams: &[Stream],
        say: Say<'_>,
    ) -> Result<Vec<Transfer<B>>> {
        streams
            .iter()
            .map(|stream| self.transfer(stream, say))
            .collect()
    }

    fn transfer(&mut self, stream: &Stream, say: Say<'_>) -> Result<Transfer<B>> {
        let issuer = stream.issuer;
        let node = self.node(issuer);
        // Kernels come first: where there are none, nothing is allocated.
        let kernels = match self.case.engine {
            Engine::Copy => None,
            Engine::Kernel => Some(self.bench.kernels(issuer, say)?),
        };
        let (from, to) = match self.case.measures {
            Measures::Latency => {
                let chain = self.end(stream.walked(), stream, say)?;
                (chain.clone(), chain)
            }
            Measures::Bandwidth | Measures::SmallCopies => (
                self.end(stream.from, stream, say)?,
                self.end(stream.to, stream, say)?,
            ),
        };
        let work = match (kernels, self.case.measures) {
            (Some(kernels), Measures::Latency) => {
                let device = &self.bench.station(issuer)?.device;
                let end = device.alloc_host(HostKind::Pinned, END_BYTES, node)?;
                Work::Chase(kernels, end)
            }
            (Some(kernels), _) => Work::KernelCopies(self.whole_vectors(kernels)?),
            (None, _) if self.case.pattern == cases::Pattern::Staged => {
                Work::Relay(self.relay(stream, node)?)
            }
            (None, _) => Work::Copies,
        };
        Ok(Transfer {
            name: stream.name.clone(),
            from,
            to,
            issuer,
            work,
            pattern: Pattern::of(code(stream.from), code(stream.to), self.job.bytes),
            node,
        })
    }

    fn whole_vectors(&self, kernels: Rc<Kernels<B::Device>>) -> Result<Rc<Kernels<B::Device>>> {
        if self.job.bytes.is_multiple_of(VECTOR as u64) {
            return Ok(kernels);
        }
        Err(DeviceError::Unsupported {
            what: "a kernel's copy of this size",
            why: format!("it moves words of {VECTOR} bytes; use --sizes that are multiples"),
        })
    }

    fn relay(&mut self, stream: &Stream, node: Option<u32>) -> Result<Relay<B::Device>> {
        // The staging ring of the host backend needs no locked memory: its workers copy from any.
        let kind = if B::NAME == "host" {
            HostKind::Pageable
        } else {
            HostKind::Pinned
        };
        let to = ordinal(stream.to).unwrap_or(stream.issuer);
        let from = self.bench.station(stream.issuer)?.device.clone();
        let to = self.bench.station(to)?.device.clone();
        let bytes = usize::try_from(self.job.bytes).unwrap_or(usize::MAX);
        Relay::new(&from, &to, bytes, kind, node)
    }

    /// The next free buffer at an end.
    fn end(&mut self, end: Endpoint, stream: &Stream, say: Say<'_>) -> Result<End<B::Device>> {
        let (device, host) = &mut self.taken;
        let next = |taken: &mut BTreeMap<usize, usize>, ordinal| {
            let count = taken.entry(ordinal).or_default();
            *count += 1;
            *count - 1
        };
        match ordinal(end) {
            Some(ordinal) => {
                let slot = next(device, ordinal);
                self.bench.device_end(ordinal, slot, say)
            }
            None => {
                let slot = next(host, stream.issuer);
                let kind = host_kind(self.case).unwrap_or(HostKind::Pinned);
                let node = self.node(stream.issuer);
                self.bench.host_end(stream.issuer, slot, kind, node, say)
            }
        }
    }

    /// The node of host memory for copies with a device.
    fn node(&self, ordinal: usize) -> Option<u32> {
        let mut members = self.job.all.iter();
        let member = members.find(|member| member.ordinal == ordinal)?;
        member.node.filter(|_| self.bound)
    }
}

fn ordinal(end: Endpoint) -> Option<usize> {
    match end {
        Endpoint::Host | Endpoint::All => None,
        Endpoint::Device(ordinal) => Some(ordinal),
    }
}

/// A number for an end, so that every pair has its own pattern.
fn code(end: Endpoint) -> u64 {
    ordinal(end).map_or(0, |ordinal| ordinal as u64 + 1)
}
