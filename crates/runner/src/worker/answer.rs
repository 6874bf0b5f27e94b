//! One request's answer: messages are progress until one of them is the answer, and silence beyond the deadline is the end.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::process::{Event, Worker};
use super::tail::last_line;
use crate::deadline::{ProgressDeadline, Silence};
use crate::interrupt::{Interrupt, Signal};

/// Why a worker gave no answer; it still runs where it is not gone.
#[derive(Debug)]
pub enum Unanswered {
    /// It made no progress.
    Silent(Silence),
    /// A signal came to this process.
    Interrupted(Signal),
    /// It ended, or what it said is not understood: in words.
    Gone(String),
}

impl Worker {
    /// Waits for the answer to what was sent. `take` gets each message and gives the answer once it has it; until then each message
    /// restarts the deadline. The first message has `opening`.
    ///
    /// # Errors
    /// There is none.
    pub fn answer<M: DeserializeOwned, T>(
        &mut self,
        [opening, deadline]: [Duration; 2],
        interrupt: &Interrupt,
        mut take: impl FnMut(M) -> Option<T>,
    ) -> Result<T, Unanswered> {
        let mut patience = ProgressDeadline::new(opening, [self.id()]);
        loop {
            match self.next(patience.left(), interrupt) {
                Event::Message(message) => {
                    if let Some(answer) = take(message) {
                        return Ok(answer);
                    }
                    patience.restart_with(deadline);
                }
                Event::Silent { .. } => {
                    if let Some(silence) = patience.over() {
                        let silence = silence.or_stopped(self.was_resumed());
                        return Err(Unanswered::Silent(silence));
                    }
                }
                Event::Interrupted(signal) => return Err(Unanswered::Interrupted(signal)),
                Event::Exited(status) => {
                    let last = last_line(&self.tail());
                    let words = format!("it ended with {status}{}: {last}", killer(status));
                    return Err(Unanswered::Gone(words));
                }
                Event::Garbled { error, .. } => {
                    let words = format!("its answer was not understood: {error}");
                    return Err(Unanswered::Gone(words));
                }
            }
        }
    }
}

/// Who sends SIGKILL as a rule.
fn killer(status: ExitStatus) -> &'static str {
    match status.signal() {
        Some(9) => " (perhaps the kernel's out-of-memory killer; ask for less memory)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_by_sigkill_names_the_out_of_memory_killer() {
        // A wait status of 9 is an end by signal 9, of 6 by SIGABRT (wait(2)).
        assert!(killer(ExitStatus::from_raw(9)).contains("out-of-memory"));
        assert_eq!(killer(ExitStatus::from_raw(6)), "");
    }
}
