//! The unsafe steps of shared memory: mapping it, and moving bytes between it and buffers that an operation holds.
//!
//! What may be moved when is the protocol's matter; every range is checked here.
#![expect(unsafe_code, reason = "memory that several processes map")]

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::error::Result;
use crate::memory::{HostMemory, InFlight, check_range};

/// Makes a file that lies in memory and in no folder.
pub(super) fn nameless(shown: &CStr) -> io::Result<File> {
    // SAFETY: memfd_create(2) reads a string that ends with 0, which `shown` is.
    let descriptor = unsafe { libc::memfd_create(shown.as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: memfd_create(2) has just opened it for this call alone; closed by File's Drop.
    Ok(unsafe { File::from_raw_fd(descriptor) })
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
// SAFETY: words are reached as atomics, other bytes by copies only, which the protocol of `operation` keeps apart.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` of a file, which must be as long; whoever shortens it later ends this process by a signal.
    pub(super) fn new(file: &File, bytes: usize) -> io::Result<Self> {
        if file.metadata()?.len() < bytes as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (flags, fd) = (libc::MAP_SHARED, file.as_raw_fd());
        // SAFETY: mmap(2) at an address of the kernel's choice touches no memory of ours; unmapped in Drop.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, fd, 0) };
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

    /// A range of it.
    pub(super) fn range(&self, at: usize, bytes: usize) -> Result<Range<'_>> {
        check_range(at, bytes, self.bytes)?;
        Ok(Range {
            start: self.start.as_ptr().wrapping_add(at),
            bytes,
            of: PhantomData,
        })
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
    start: *mut u8,
    bytes: usize,
    held: InFlight,
}

// SAFETY: the pointer is one into memory that `held` keeps, which belongs to the process and not to a thread.
unsafe impl Send for Part {}

impl Part {
    /// Checks the range and holds the buffer.
    pub(super) fn new(memory: &Arc<HostMemory>, start: usize, bytes: usize) -> Result<Self> {
        check_range(start, bytes, memory.len())?;
        Ok(Self {
            start: memory.pointer().as_ptr().wrapping_add(start),
            bytes,
            held: InFlight::begin(memory)?,
        })
    }

    /// Its length.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A range of it.
    pub(super) fn range(&self, at: usize, bytes: usize) -> Result<Range<'_>> {
        check_range(at, bytes, self.bytes)?;
        Ok(Range {
            start: self.start.wrapping_add(at),
            bytes,
            of: PhantomData,
        })
    }

    /// What it held, to be kept until the stream was waited for.
    pub(super) fn into_held(self) -> InFlight {
        self.held
    }
}

/// Bytes of the mapping or of a part, which are read and written by value: no reference to them is made.
///
/// Invariant: `bytes` from `start` on are live for as long as what this borrows from.
///
/// That nobody else writes what is read here, and reads or writes what is written here, is the protocol's matter (`operation`): a slot is written by its own rank before that arrives, and read by the others after it has. Among the operations of one rank it is the caller's: a second one on the same bytes in another stream
/// without an event between them leaves undefined content, which nothing reads before both streams were waited for.
#[derive(Clone, Copy)]
pub(super) struct Range<'a> {
    start: *mut u8,
    bytes: usize,
    of: PhantomData<&'a u8>,
}

impl Range<'_> {
    /// Its length.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes the bytes of another one that is as long, apart from it.
    pub(super) fn copy_from(&self, from: &Self) -> Result<()> {
        check_range(0, self.bytes, from.bytes)?;
        // SAFETY: memcpy(3); both ranges are live and as long (the invariant). They do not overlap: one of them lies in the
        // mapping, or both lie in parts whose aliasing was checked.
        unsafe { ptr::copy_nonoverlapping(from.start, self.start, self.bytes) };
        Ok(())
    }

    /// The bytes from a place on.
    #[inline]
    pub(super) fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        assert!(self.has(at, N), "{N} bytes from {at} on lie behind it");
        let start = self.start.wrapping_add(at).cast::<[u8; N]>();
        // SAFETY: inside a live range, by the line above; bytes have no alignment and any value is one.
        unsafe { start.read() }
    }

    /// Writes bytes at a place.
    #[inline]
    pub(super) fn set<const N: usize>(&self, at: usize, bytes: [u8; N]) {
        assert!(self.has(at, N), "{N} bytes from {at} on lie behind it");
        let start = self.start.wrapping_add(at).cast::<[u8; N]>();
        // SAFETY: as in `get`.
        unsafe { start.write(bytes) }
    }

    #[inline]
    fn has(&self, at: usize, bytes: usize) -> bool {
        at <= self.bytes && bytes <= self.bytes - at
    }
}
