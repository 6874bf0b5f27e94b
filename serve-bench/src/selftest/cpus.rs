//! Which CPUs server and client have.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs of a selftest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cpus {
    /// One for each side.
    Apart {
        /// The server's.
        server: usize,
        /// The client's.
        client: usize,
    },
    /// There is one for both, or the system does not let them be chosen.
    Shared,
}

impl Cpus {
    /// The first and the last of those that this process may use.
    pub(super) fn choose() -> Self {
        let Ok(allowed) = sched_getaffinity(None) else {
            return Self::Shared;
        };
        let mut these = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        match (these.next(), these.next_back()) {
            (Some(server), Some(client)) => Self::Apart { server, client },
            _ => Self::Shared,
        }
    }

    /// The server's, where it has its own.
    pub(super) fn server(self) -> Option<usize> {
        match self {
            Self::Apart { server, .. } => Some(server),
            Self::Shared => None,
        }
    }

    /// The client's, where it has its own.
    pub(super) fn client(self) -> Option<usize> {
        match self {
            Self::Apart { client, .. } => Some(client),
            Self::Shared => None,
        }
    }
}

/// Starts a process on one CPU: a child has its parent's at the start, so this thread is there for that time.
pub(super) fn on<T>(cpu: Option<usize>, start: impl FnOnce() -> T) -> T {
    let before = cpu.and_then(|cpu| {
        let before = sched_getaffinity(None).ok()?;
        let mut only = CpuSet::new();
        only.set(cpu);
        sched_setaffinity(None, &only).ok()?;
        Some(before)
    });
    let started = start();
    if let Some(before) = before {
        // It was allowed a moment ago; where it is not any more, this thread only waits anyway.
        let _ = sched_setaffinity(None, &before);
    }
    started
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_on_one_cpu_leaves_this_thread_where_it_was() {
        let cpus = || sched_getaffinity(None).unwrap();
        let before = cpus();
        let within = on(Cpus::choose().client(), || cpus().count());
        assert!(within == 1 || before.count() == 1);
        assert_eq!(cpus(), before);
    }
}
