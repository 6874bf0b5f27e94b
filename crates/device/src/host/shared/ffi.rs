//! The unsafe steps of shared memory: mapping it, and moving bytes between it and buffers that an operation holds.
//!
//! What may be moved when is the protocol's matter; every range is checked here.
#![expect(unsafe_code, reason = "memory that several processes map")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::error::Result;
use crate::memory::{HostMemory, InFlight, check_range};

/// Makes the file system set pages aside, so that writing to the mapping cannot fail for want of them (SIGBUS).
pub(super) fn reserve(file: &File, at: usize, bytes: usize) -> io::Result<()> {
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let at = libc::off_t::try_from(at).map_err(invalid)?;
    let bytes = libc::off_t::try_from(bytes).map_err(invalid)?;
    // SAFETY: posix_fallocate(3) takes a descriptor, which `file` keeps open, and two numbers.
    let code = unsafe { libc::posix_fallocate(file.as_raw_fd(), at, bytes) };
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(code))
    }
}

/// The first bytes of a file, shared with every process that maps it.
///
/// No reference to its bytes is ever made but to words that are atomic: another process may write them at any time.
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping belongs to the process and not to a thread.
unsafe impl Send for Mapping {}
// SAFETY: words are reached as atomics, other bytes by copies only, which the protocol of `Operation` keeps apart.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` of a file, which must be as long; whoever shortens it later ends this process by a signal.
    pub(super) fn new(file: &File, bytes: usize) -> io::Result<Self> {
        if file.metadata()?.len() < bytes as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: mmap(2) at an address of the kernel's choice touches no memory of ours; unmapped in Drop.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), bytes, access, shared, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }

    /// The word of a number, counted from the start.
    pub(super) fn word(&self, number: usize) -> &AtomicU64 {
        assert!(
            number < self.bytes / 8,
            "word {number} lies behind the mapping"
        );
        let word = self.start.as_ptr().wrapping_add(number * 8).cast::<u64>();
        // SAFETY: inside the mapping, which lives as long as self and begins at a page, so that it is aligned; every process
        // reaches these words as atomics only.
        unsafe { AtomicU64::from_ptr(word) }
    }

    /// Copies from a part of a buffer to here.
    pub(super) fn take(&self, at: usize, part: &Part, from: usize, bytes: usize) -> Result<()> {
        let (target, source) = (self.at(at, bytes)?, part.at(from, bytes)?);
        // SAFETY: memcpy(3); both ranges lie inside live memory and never overlap, as one is the mapping's. This slot is
        // this rank's, and the others do not read it before it has arrived.
        unsafe { ptr::copy_nonoverlapping(source, target, bytes) };
        Ok(())
    }

    /// Copies from here to a part of a buffer.
    pub(super) fn give(&self, at: usize, part: &Part, to: usize, bytes: usize) -> Result<()> {
        let (source, target) = (self.at(at, bytes)?, part.at(to, bytes)?);
        // SAFETY: memcpy(3) as in `take`; the rank of this slot has arrived and does not write it before this one arrives
        // again.
        unsafe { ptr::copy_nonoverlapping(source, target, bytes) };
        Ok(())
    }

    /// Copies from here to memory of this thread.
    pub(super) fn read(&self, at: usize, to: &mut [u8]) -> Result<()> {
        let source = self.at(at, to.len())?;
        // SAFETY: memcpy(3) to bytes that are ours alone; as in `give`.
        unsafe { ptr::copy_nonoverlapping(source, to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    fn at(&self, at: usize, bytes: usize) -> Result<*mut u8> {
        check_range(at, bytes, self.bytes)?;
        Ok(self.start.as_ptr().wrapping_add(at))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: munmap(2) of what `new` mapped, once; words borrow from self, so that none is in use.
        // What it returns changes nothing: there is nothing left to do.
        let _ = unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// A part of a host buffer that an operation reads or writes.
///
/// Invariant: the range lies inside the buffer, and `held` keeps it alive and the host away from it.
pub(super) struct Part {
    memory: Arc<HostMemory>,
    start: usize,
    bytes: usize,
    held: InFlight,
}

impl Part {
    /// Checks the range and holds the buffer.
    pub(super) fn new(memory: &Arc<HostMemory>, start: usize, bytes: usize) -> Result<Self> {
        check_range(start, bytes, memory.len())?;
        Ok(Self {
            held: InFlight::begin(memory)?,
            memory: Arc::clone(memory),
            start,
            bytes,
        })
    }

    /// Writes bytes of this thread.
    pub(super) fn write(&self, at: usize, bytes: &[u8]) -> Result<()> {
        let target = self.at(at, bytes.len())?;
        // SAFETY: memcpy(3) inside a live buffer to which no reference exists (the invariant), from bytes that are ours.
        // As with copies, a second operation on the same bytes in another stream without an event between them is the
        // caller's doing, and leaves undefined content that nothing reads before both streams were waited for.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
        Ok(())
    }

    /// Its length.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What it held, to be kept until the stream was waited for.
    pub(super) fn into_held(self) -> InFlight {
        self.held
    }

    fn at(&self, at: usize, bytes: usize) -> Result<*mut u8> {
        check_range(at, bytes, self.bytes)?;
        Ok(self.memory.pointer().as_ptr().wrapping_add(self.start + at))
    }
}
