//! CPUs and memory for the calling thread and for the program that it becomes, and what can be done to processes that run already.
//!
//! The kernel has no call that sets the memory policy of another process: a running process can be moved to other CPUs, and its
//! pages can be moved once, but where it takes its next page from stays its own matter. With the default policy that is the node
//! it runs on.

use std::fs;

use crate::error::{Errno, NumaError, process_hint};
use crate::thread::{cpu_mask, pin_thread_to_cpus};
use crate::{ffi, policy};

/// Binds the calling thread and all that it starts to CPUs, none of which leaves them as they are, and to the memory of nodes; gives
/// what was refused, in which case the other half is bound all the same.
#[must_use]
pub fn bind_thread(cpus: &[usize], nodes: &[u32]) -> Vec<NumaError> {
    let pinned = match cpus {
        [] => Ok(()),
        cpus => pin_thread_to_cpus(cpus),
    };
    let halves = [pinned, policy::set(nodes)];
    halves.into_iter().filter_map(Result::err).collect()
}

/// Restricts every thread of a process to some CPUs and gives how many threads it has; `proc` is the folder of procfs.
///
/// Looks again until no thread is new, as one that is not restricted yet may start others.
///
/// # Errors
/// The first thread that was refused; a process that has ended, and one without CPUs.
pub fn pin_process(pid: u32, cpus: &[usize]) -> Result<usize, NumaError> {
    /// A process that starts threads faster than this many looks pass is not pinned.
    const LOOKS: usize = 16;
    let mask = cpu_mask(cpus)?;
    let mut pinned = Vec::new();
    for _ in 0..LOOKS {
        let threads = thread_ids(pid)?;
        let before = pinned.len();
        for thread in threads {
            if pinned.contains(&thread) {
                continue;
            }
            let refuse = refused("sched_setaffinity", thread);
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
/// [`NumaError::Refused`].
pub fn move_process_memory(pid: u32, from: &[u32], to: &[u32]) -> Result<u64, NumaError> {
    let refuse = refused("migrate_pages", pid);
    let id = i32::try_from(pid).map_err(|_| refuse(Errno(libc::ESRCH)))?;
    let from = ffi::node_mask(from).map_err(&refuse)?;
    let to = ffi::node_mask(to).map_err(&refuse)?;
    ffi::migrate_pages(id, &from, &to).map_err(refuse)
}

fn thread_ids(pid: u32) -> Result<Vec<u32>, NumaError> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).map_err(|error| {
        let errno = Errno(error.raw_os_error().unwrap_or(libc::EIO));
        refused("reading /proc/*/task", pid)(errno)
    })?;
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    Ok(entries.flatten().filter_map(number).collect())
}

/// The refusal of a call for another process or thread.
fn refused(call: &str, pid: u32) -> impl Fn(Errno) -> NumaError {
    move |errno| NumaError::Refused {
        what: format!("{call} of process {pid}"),
        errno,
        hint: process_hint(errno),
    }
}
