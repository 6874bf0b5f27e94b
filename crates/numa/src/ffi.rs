//! The Linux calls of this crate and the mapped region they work on; every `unsafe` of the crate is here.
//!
//! Nothing is decided here: each function makes one call and gives its answer or its error number.
#![expect(unsafe_code, reason = "Linux has NUMA calls that no safe crate wraps")]

use std::ptr::{self, NonNull};
use std::slice;

use libc::{c_int, c_long, c_ulong, c_void};

use crate::error::Errno;

/// `MAX_NUMNODES` of the kernel is at most this (`CONFIG_NODES_SHIFT` up to 10).
pub(crate) const MAX_NODES: usize = 1024;
const WORD_BITS: usize = c_ulong::BITS as usize;
/// The kernel takes one off the number of bits it is given (`get_nodes` in mm/mempolicy.c).
const MASK_BITS: c_ulong = MAX_NODES as c_ulong + 1;

/// Of linux/mempolicy.h: the node of the page at an address instead of a policy.
const MPOL_F_NODE: c_ulong = 1;
const MPOL_F_ADDR: c_ulong = 2;

/// A set of nodes as the kernel takes it, with a word more than needed for calls that round up.
pub(crate) type NodeMask = [c_ulong; MAX_NODES / WORD_BITS + 1];

/// A policy in the kernel's terms: mode with its flags, and nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawPolicy {
    pub(crate) mode: c_int,
    pub(crate) nodes: NodeMask,
}

/// The mask of some nodes; a number that the kernel cannot have is `EINVAL`, as the kernel itself would say.
pub(crate) fn node_mask(nodes: &[u32]) -> Result<NodeMask, Errno> {
    let mut mask = NodeMask::default();
    for &node in nodes {
        let node = node as usize;
        if node >= MAX_NODES {
            return Err(Errno(libc::EINVAL));
        }
        mask[node / WORD_BITS] |= 1 << (node % WORD_BITS);
    }
    Ok(mask)
}

/// The size of a page in bytes.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: sysconf(3) takes a number and touches no memory of ours.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // Every Linux answers; 4096 is what it would be if one did not.
    usize::try_from(bytes)
        .ok()
        .filter(|&b| b > 0)
        .unwrap_or(4096)
}

/// CPU set of a thread as words of bits; sched_getaffinity(2) with room for `words`. Thread 0 is the caller.
pub(crate) fn affinity(thread: i32, words: usize) -> Result<Vec<c_ulong>, Errno> {
    let mut mask: Vec<c_ulong> = vec![0; words];
    let bytes = size_of_val(mask.as_slice());
    // SAFETY: the kernel writes at most `bytes` bytes to `mask`, which we own and which is that long.
    check(unsafe {
        libc::syscall(
            libc::SYS_sched_getaffinity,
            thread,
            bytes,
            mask.as_mut_ptr(),
        )
    })?;
    Ok(mask)
}

/// Restricts a thread; sched_setaffinity(2). Thread 0 is the caller.
pub(crate) fn set_affinity(thread: i32, mask: &[c_ulong]) -> Result<(), Errno> {
    let bytes = size_of_val(mask);
    // SAFETY: the kernel reads `bytes` bytes from `mask`, which is that long.
    check(unsafe { libc::syscall(libc::SYS_sched_setaffinity, thread, bytes, mask.as_ptr()) })
}

/// CPU and node the calling thread runs on; getcpu(2).
pub(crate) fn getcpu() -> Result<(u32, u32), Errno> {
    let (mut cpu, mut node) = (0_u32, 0_u32);
    let none = ptr::null_mut::<c_void>();
    // SAFETY: the kernel writes one unsigned int to each of the two pointers; the third argument is unused since 2.6.24.
    check(unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, none) })?;
    Ok((cpu, node))
}

/// Memory policy of the calling thread; get_mempolicy(2) without flags.
pub(crate) fn policy() -> Result<RawPolicy, Errno> {
    let mut policy = RawPolicy {
        mode: 0,
        nodes: NodeMask::default(),
    };
    let mode = &raw mut policy.mode;
    let nodes = policy.nodes.as_mut_ptr();
    let none = ptr::null_mut::<c_void>();
    let no_flags: c_ulong = 0;
    // SAFETY: the kernel writes an int to `mode` and at most MASK_BITS rounded up to words to `nodes`, which has room.
    check(unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            mode,
            nodes,
            MASK_BITS,
            none,
            no_flags,
        )
    })?;
    Ok(policy)
}

/// Sets the memory policy of the calling thread; set_mempolicy(2).
pub(crate) fn set_policy(policy: &RawPolicy) -> Result<(), Errno> {
    let nodes = policy.nodes.as_ptr();
    // SAFETY: the kernel reads MASK_BITS rounded up to words from `nodes`, which is that long.
    check(unsafe { libc::syscall(libc::SYS_set_mempolicy, policy.mode, nodes, MASK_BITS) })
}

/// The node of each page, or the negated error number of its own; move_pages(2) as a query.
pub(crate) fn nodes_of_pages(addresses: &[usize]) -> Result<Vec<c_int>, Errno> {
    let mut status: Vec<c_int> = vec![0; addresses.len()];
    let count = addresses.len() as c_ulong;
    let no_targets = ptr::null::<c_int>();
    let (pages, answers, no_flags) = (addresses.as_ptr(), status.as_mut_ptr(), 0 as c_int);
    // SAFETY: the kernel reads `count` addresses and writes `count` ints, which both vectors hold. With no target nodes
    // nothing is moved, and an address that is not ours gets an error of its own. Process 0 is the caller.
    check(unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            count,
            pages,
            no_targets,
            answers,
            no_flags,
        )
    })?;
    Ok(status)
}

/// The node of the page at an address; get_mempolicy(2) with MPOL_F_NODE and MPOL_F_ADDR. A page that is not there is made.
pub(crate) fn node_of_page(address: usize) -> Result<c_int, Errno> {
    let mut node: c_int = 0;
    let (answer, no_nodes) = (&raw mut node, ptr::null_mut::<c_ulong>());
    let (no_bits, flags): (c_ulong, c_ulong) = (0, MPOL_F_NODE | MPOL_F_ADDR);
    // SAFETY: the kernel writes an int to `answer` and nothing to a null mask; an address that is not ours is an error.
    check(unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            answer,
            no_nodes,
            no_bits,
            address,
            flags,
        )
    })?;
    Ok(node)
}

/// Moves a process's pages from nodes to nodes and gives how many stayed; migrate_pages(2).
pub(crate) fn migrate_pages(process: i32, from: &NodeMask, to: &NodeMask) -> Result<u64, Errno> {
    let (from, to) = (from.as_ptr(), to.as_ptr());
    // SAFETY: the kernel reads MASK_BITS rounded up to words from both masks, which are that long. The process sees no change.
    let answer = unsafe { libc::syscall(libc::SYS_migrate_pages, process, MASK_BITS, from, to) };
    check(answer)?;
    Ok(answer.unsigned_abs())
}

/// The soft limit of locked memory in bytes, `None` where there is no limit; getrlimit(2).
pub(crate) fn lock_limit() -> Result<Option<u64>, Errno> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: libc writes one `rlimit` to the pointer.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    check(c_long::from(answer))?;
    Ok((limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur))
}

/// A private anonymous region of memory, unmapped when it is dropped.
///
/// It owns `bytes` bytes from `start` on, page aligned, readable and writable, that nothing else of this process uses.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping belongs to the process and not to the thread that made it; munmap(2) may come from any thread.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference gives out shared slices and addresses only; writing takes an exclusive reference.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps whole pages, all zero and not yet backed by memory; mmap(2). `bytes` is above 0.
    pub(crate) fn new(bytes: usize) -> Result<Self, Errno> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: without MAP_FIXED the kernel picks a range that is free; the mapping is ours and unmapped in `drop`.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let start = NonNull::new(start.cast()).ok_or(Errno(libc::ENOMEM))?;
        Ok(Self { start, bytes })
    }

    /// Binds the region to nodes before it is touched; mbind(2) with MPOL_BIND.
    pub(crate) fn bind(&self, nodes: &NodeMask) -> Result<(), Errno> {
        let (start, bytes) = (self.start.as_ptr(), self.bytes as c_ulong);
        let (mask, no_flags) = (nodes.as_ptr(), 0 as c_int);
        let mode = libc::MPOL_BIND;
        // SAFETY: the range is our own mapping; the kernel reads MASK_BITS rounded up to words from `mask`.
        check(unsafe {
            libc::syscall(
                libc::SYS_mbind,
                start,
                bytes,
                mode,
                mask,
                MASK_BITS,
                no_flags,
            )
        })
    }

    /// Keeps the region in memory until it is unmapped; mlock(2).
    pub(crate) fn lock(&self) -> Result<(), Errno> {
        // SAFETY: the range is our own mapping.
        let answer = unsafe { libc::mlock(self.start.as_ptr().cast(), self.bytes) };
        check(c_long::from(answer))
    }

    /// Writes one byte of each page, so that each one is backed by memory.
    pub(crate) fn touch(&mut self, page_bytes: usize) {
        for byte in self.as_mut_slice().iter_mut().step_by(page_bytes) {
            // SAFETY: `byte` is an exclusive reference into the mapping; volatile, so that the write is not left out.
            unsafe { ptr::write_volatile(byte, 0) };
        }
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: the mapping has `bytes` bytes, all initialised (the kernel zeroes them), and lives as long as `self`.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the exclusive reference keeps every other slice away.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped in `new`, is unmapped only here, and no slice of it outlives `self`.
        let answer = unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert_eq!(answer, 0, "munmap of our own mapping");
    }
}

/// A call's answer: -1 stands for the error number that the thread has.
fn check(answer: c_long) -> Result<(), Errno> {
    if answer < 0 {
        Err(Errno::last())
    } else {
        Ok(())
    }
}
