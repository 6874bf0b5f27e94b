//! What is heard of the load's thread: the next thing it tells, how it ended, and what the warm-up came to.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use record::{RequestErrorKind, ServeRequest};

use super::dispatch::{Sent, Told};
use super::progress;

/// After replies those of this time are kept together: a thread that is woken for each takes turns from the load.
pub(super) const KEPT: Duration = Duration::from_millis(100);

/// The next thing that the load tells; looked for after a rest where nothing waits, and for so long as the display may stand still.
pub(super) fn next(told: &Receiver<Told>, rest: Duration) -> Result<Told, RecvTimeoutError> {
    if let Ok(told) = told.try_recv() {
        return Ok(told);
    }
    std::thread::sleep(rest);
    told.recv_timeout(progress::REDRAW)
}

/// How the load ended.
pub(super) enum Heard {
    /// All requests ended.
    Ended(Sent),
    /// Nothing can be measured.
    Refused(String),
    /// The record holds no more.
    Full,
    /// It broke off.
    Stopped,
}

/// Failures by kind with the first words of each; empty for none.
pub(super) fn failures(requests: &[ServeRequest]) -> String {
    let errors = || requests.iter().filter_map(|one| one.error.as_ref());
    let of = requests.len();
    let words = |(kind, count): (RequestErrorKind, u32)| {
        let first = errors().find(|error| error.kind == kind);
        let seen = first.map_or("", |error| &error.seen);
        format!("{count} of {of} requests: {kind} ({seen})")
    };
    let kinds = record::failures(requests).into_iter().map(words);
    kinds.collect::<Vec<String>>().join("; ")
}
