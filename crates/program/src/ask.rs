//! A child that is asked one thing and ends.

use std::time::Duration;

use runner::child::{SHORT_LADDER, start};
use runner::{Interrupt, Unanswered};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::stop::Stop;

/// What a hidden subcommand answers; the inner error says in words why it does not.
///
/// # Errors
/// It cannot be started or asked, or a signal came.
pub fn ask<M: DeserializeOwned>(
    child: &str,
    request: &impl Serialize,
    deadline: Duration,
    interrupt: &Interrupt,
) -> Result<Result<M, String>, Stop> {
    let mut worker = start(child, child)?;
    worker.send(request)?;
    let answer = worker.answer([deadline; 2], interrupt, Some);
    worker.end(SHORT_LADDER);
    match answer {
        Ok(reply) => Ok(Ok(reply)),
        Err(Unanswered::Interrupted(signal)) => Err(Stop::Interrupted(signal)),
        Err(Unanswered::Silent(silence)) => Ok(Err(silence.to_string())),
        Err(Unanswered::Gone(words)) => Ok(Err(words)),
    }
}
