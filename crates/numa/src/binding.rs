//! [`Binding`]: CPUs and memory for the calling thread and for the programs that it starts, and what can be done to processes
//! that run already.
//!
//! The kernel has no call that sets the memory policy of another process: a running process can be moved to other CPUs, and its
//! pages can be moved once, but where it takes its next page from stays its own matter. With the default policy that is the node
//! it runs on.

use std::path::Path;

use crate::error::{Errno, NumaError};
use crate::ffi;
use crate::policy::MemoryPolicy;
use crate::process;
use crate::thread::{cpu_mask, pin_thread_to_cpus};

/// Where a program is to run and to take its memory from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// CPU numbers; none leaves the CPUs as they are.
    pub cpus: Vec<usize>,
    /// Memory.
    pub memory: MemoryPolicy,
}

/// What became of the two halves of a [`Binding`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The CPUs.
    pub cpus: Result<(), NumaError>,
    /// The memory policy.
    pub memory: Result<(), NumaError>,
}

impl Applied {
    /// What was refused.
    pub fn refusals(&self) -> impl Iterator<Item = &NumaError> {
        [&self.cpus, &self.memory]
            .into_iter()
            .filter_map(|half| half.as_ref().err())
    }
}

impl Binding {
    /// Binds the calling thread for good. Threads and processes that it starts afterwards inherit both halves, and keep them
    /// when they execute another program.
    ///
    /// One half can be refused and the other be granted, as containers do; each says its own.
    pub fn apply(&self) -> Applied {
        let cpus = match self.cpus[..] {
            [] => Ok(()),
            _ => pin_thread_to_cpus(&self.cpus),
        };
        Applied {
            cpus,
            memory: self.memory.set(),
        }
    }
}

/// Restricts every thread of a process to some CPUs and gives how many threads it has; `proc` is the folder of procfs.
///
/// Looks again until no thread is new, as one that is not restricted yet may start others.
///
/// # Errors
/// The first thread that was refused; a process that has ended, and one without CPUs.
pub fn pin_process(proc: &Path, pid: u32, cpus: &[usize]) -> Result<usize, NumaError> {
    /// A process that starts threads faster than this many looks pass is not pinned.
    const LOOKS: usize = 16;
    let mask = cpu_mask(cpus)?;
    let mut pinned = Vec::new();
    for _ in 0..LOOKS {
        let threads = process::thread_ids(proc, pid)?;
        let before = pinned.len();
        for thread in threads {
            if pinned.contains(&thread) {
                continue;
            }
            let refuse = |errno| NumaError::Process {
                call: "sched_setaffinity",
                pid: thread,
                errno,
            };
            let id = i32::try_from(thread).map_err(|_| refuse(Errno(libc::ESRCH)))?;
            match ffi::set_affinity(id, &mask) {
                // It ended meanwhile.
                Err(Errno(libc::ESRCH)) if thread != pid => {}
                answer => answer.map_err(refuse)?,
            }
            pinned.push(thread);
        }
        if pinned.len() == before {
            break;
        }
    }
    Ok(pinned.len())
}

/// Moves the pages that a process has on some nodes to others, and gives how many could not be moved.
///
/// Source: migrate_pages(2). It needs the right to trace the process, and moves pages that others share only with
/// `CAP_SYS_NICE`. What the process takes afterwards is not steered by it.
///
/// # Errors
/// [`NumaError::Process`].
pub fn move_process_memory(pid: u32, from: &[u32], to: &[u32]) -> Result<u64, NumaError> {
    let refuse = |errno| NumaError::Process {
        call: "migrate_pages",
        pid,
        errno,
    };
    let id = i32::try_from(pid).map_err(|_| refuse(Errno(libc::ESRCH)))?;
    let from = ffi::node_mask(from).map_err(refuse)?;
    let to = ffi::node_mask(to).map_err(refuse)?;
    ffi::migrate_pages(id, &from, &to).map_err(refuse)
}
