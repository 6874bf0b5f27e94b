//! Groups of calls: how many are open on a thread, and the sends and receives that wait for the last to close.

use crate::abi::{Handle, Outcome, Status, refuse};
use crate::communicator::Communicator;
use crate::operation::{Message, Operation};
use std::cell::RefCell;
use std::mem::take;
use std::sync::Arc;

/// A send or a receive of a group.
struct Pending {
    communicator: Arc<Communicator>,
    stream: Handle,
    message: Message,
}

#[derive(Default)]
struct Groups {
    open: u32,
    pending: Vec<Pending>,
}

thread_local! {
    static GROUPS: RefCell<Groups> = RefCell::default();
}

/// Opens a group.
pub(crate) fn enter() {
    GROUPS.with_borrow_mut(|groups| groups.open += 1);
}

/// Closes a group; the outermost issues what waits.
pub(crate) fn leave(prefix: &str) -> Outcome<()> {
    let pending = GROUPS.with_borrow_mut(|groups| {
        groups.open = groups.open.checked_sub(1)?;
        Some(match groups.open {
            0 => take(&mut groups.pending),
            _ => Vec::new(),
        })
    });
    match pending {
        Some(pending) => issue(pending),
        None => refuse(
            Status::INVALID_USAGE,
            format!("{prefix}GroupEnd: not in a group call."),
        ),
    }
}

/// Issues a message at the end of the group that is open, or by itself.
pub(crate) fn add(
    communicator: Arc<Communicator>,
    stream: Handle,
    message: Message,
) -> Outcome<()> {
    let pending = Pending {
        communicator,
        stream,
        message,
    };
    let alone = GROUPS.with_borrow_mut(|groups| match groups.open {
        0 => Some(pending),
        _ => {
            groups.pending.push(pending);
            None
        }
    });
    issue(alone.into_iter().collect())
}

/// One work for each communicator and stream, in the order of their first messages.
fn issue(mut pending: Vec<Pending>) -> Outcome<()> {
    while let Some(first) = pending.first() {
        let own = (first.communicator.number, first.stream);
        let is_own = |one: &Pending| (one.communicator.number, one.stream) == own;
        let communicator = Arc::clone(&first.communicator);
        let (now, later) = pending.into_iter().partition(is_own);
        pending = later;
        let now: Vec<Pending> = now;
        let messages = now.into_iter().map(|one| one.message).collect();
        Operation::exchange(communicator, messages)?.enqueue("Group", own.1)?;
    }
    Ok(())
}
