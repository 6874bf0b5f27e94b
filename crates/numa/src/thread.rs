//! Where the calling thread may run and where it runs.
//!
//! Only the calling thread is pinned; threads and processes that it starts afterwards inherit its CPUs. Other processes are
//! pinned in `process.rs`.

use std::ffi::c_ulong;

use crate::error::{Errno, NumaError};
use crate::ffi;

const WORD_BITS: usize = c_ulong::BITS as usize;
/// Words of the largest CPU set that is asked for: 65536 CPUs.
const MOST_WORDS: usize = 65_536 / WORD_BITS;

/// Where a thread runs at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// CPU number.
    pub cpu: usize,
    /// NUMA node of the CPU.
    pub node: u32,
}

/// Restricts the calling thread to some CPUs.
///
/// CPUs that are offline or not in the process's cpuset are left out by the kernel; it is an error where none is left.
/// To be certain, compare [`allowed_cpus`] afterwards.
pub fn pin_thread_to_cpus(cpus: &[usize]) -> Result<(), NumaError> {
    let mask = cpu_mask(cpus)?;
    ffi::set_affinity(0, &mask).map_err(|errno| refused(cpus, errno))
}

/// CPUs as the kernel takes them.
pub(crate) fn cpu_mask(cpus: &[usize]) -> Result<Vec<c_ulong>, NumaError> {
    let highest = cpus.iter().copied().max().ok_or(NumaError::NoCpu)?;
    let words = highest / WORD_BITS + 1;
    if words > MOST_WORDS {
        return Err(refused(cpus, Errno(libc::EINVAL)));
    }
    let mut mask: Vec<c_ulong> = vec![0; words];
    for &cpu in cpus {
        mask[cpu / WORD_BITS] |= 1 << (cpu % WORD_BITS);
    }
    Ok(mask)
}

fn refused(cpus: &[usize], errno: Errno) -> NumaError {
    NumaError::Refused {
        what: format!("pinning to CPUs {cpus:?}"),
        errno,
        hint: "see which are allowed with `taskset -p $$`",
    }
}

fn unanswered(call: &str, errno: Errno) -> NumaError {
    NumaError::Refused {
        what: call.to_owned(),
        errno,
        hint: "see whether the container's seccomp profile allows it",
    }
}

/// The CPUs that the calling thread may run on, smallest first.
pub fn allowed_cpus() -> Result<Vec<usize>, NumaError> {
    let mut words = 1024 / WORD_BITS;
    let mask = loop {
        match ffi::affinity(0, words) {
            Ok(mask) => break mask,
            // The kernel has more CPUs than there was room for.
            Err(Errno(libc::EINVAL)) if words < MOST_WORDS => words *= 2,
            Err(errno) => return Err(unanswered("sched_getaffinity", errno)),
        }
    };
    let bit = |cpu: &usize| mask[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1;
    Ok((0..mask.len() * WORD_BITS).filter(bit).collect())
}

/// The CPU and NUMA node the calling thread runs on; it may have moved by the time this returns, unless it is pinned.
pub fn current_cpu_and_node() -> Result<Running, NumaError> {
    let (cpu, node) = ffi::getcpu().map_err(|errno| unanswered("getcpu", errno))?;
    Ok(Running {
        cpu: cpu as usize,
        node,
    })
}
