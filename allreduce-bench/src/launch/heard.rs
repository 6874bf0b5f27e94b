//! What a rank says next, wherever its process is.

use std::time::Duration;

use record::Failure;
use runner::child::last_line;
use runner::{Event, Interrupt, Signal, Worker};

use crate::messages::RankReply;

/// What came from a rank.
pub(crate) enum Heard {
    /// It answered.
    Reply(RankReply),
    /// It ended, or cannot be understood any more.
    Lost(Failure),
    /// Nothing came in time.
    Silent,
    /// A signal came, here or to the process that started the rank.
    Interrupted(Signal),
}

/// What comes next from a child of this process.
pub(super) fn heard(worker: &mut Worker, limit: Duration, interrupt: &Interrupt) -> Heard {
    match worker.next::<RankReply>(limit, interrupt) {
        Event::Message(reply) => Heard::Reply(reply),
        Event::Silent { .. } => Heard::Silent,
        Event::Interrupted(signal) => Heard::Interrupted(signal),
        Event::Exited(status) => {
            let said = last_line(&worker.tail());
            Heard::Lost(format!("it ended with {status}: {said}").into())
        }
        Event::Garbled { error, .. } => {
            Heard::Lost(format!("its answer was not understood: {error}").into())
        }
    }
}
