//! Waiting on file descriptors with a deadline, over poll(2).
//!
//! It does not read them and keeps no state.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Waits until one of the descriptors can be read or has hung up, and says which.
///
/// `None` waits without limit. A signal handler that runs meanwhile also ends the wait, with nothing ready: callers
/// look at their state again and come back.
pub(crate) fn readable<const N: usize>(
    descriptors: [Option<BorrowedFd<'_>>; N],
    limit: Option<Duration>,
) -> [bool; N] {
    wait(descriptors, PollFlags::IN, limit)
}

/// Waits until the descriptor takes more bytes, hung up, or the limit has passed.
pub(crate) fn writable(descriptor: BorrowedFd<'_>, limit: Duration) {
    wait([Some(descriptor)], PollFlags::OUT, Some(limit));
}

fn wait<const N: usize>(
    descriptors: [Option<BorrowedFd<'_>>; N],
    flags: PollFlags,
    limit: Option<Duration>,
) -> [bool; N] {
    let mut asked: Vec<PollFd<'_>> = descriptors
        .iter()
        .flatten()
        .map(|descriptor| PollFd::from_borrowed_fd(*descriptor, flags))
        .collect();
    // A limit beyond what the kernel can express (292 billion years) is no limit.
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    let ready = poll(&mut asked, limit.as_ref()).is_ok_and(|ready| ready > 0);
    let mut answers = asked
        .iter()
        .map(|asked| ready && !asked.revents().is_empty());
    descriptors.map(|descriptor| descriptor.is_some() && answers.next().unwrap_or(false))
}
