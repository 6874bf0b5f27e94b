//! What is heard of the load's thread: the next thing it tells, how it ended, and what the warm-up came to.

use std::collections::BTreeMap;
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

/// Why there is nothing to measure: not one warm-up request succeeded.
pub(super) fn refusal(warmups: &[ServeRequest]) -> Option<String> {
    let failed = |request: &ServeRequest| request.error.is_some();
    (!warmups.is_empty() && warmups.iter().all(failed)).then(|| failures(warmups))
}

/// Failures by kind with the first words of each; empty for none.
pub(super) fn failures(requests: &[ServeRequest]) -> String {
    let mut kinds: BTreeMap<RequestErrorKind, (u32, &str)> = BTreeMap::new();
    for error in requests.iter().filter_map(|one| one.error.as_ref()) {
        kinds.entry(error.kind).or_insert((0, &error.seen)).0 += 1;
    }
    let kinds: Vec<String> = kinds
        .into_iter()
        .map(|(kind, (count, seen))| {
            format!("{count} of {} requests: {kind} ({seen})", requests.len())
        })
        .collect();
    kinds.join("; ")
}
