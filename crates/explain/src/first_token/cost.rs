//! Whether a time to first token is of a request alone, and how long its prompt was.

use import::{ServeRun, Spread};

use crate::finding::Finding;
use crate::run_shape::RunShape;

/// With more in flight than this a prompt waits for others.
const ALONE: f64 = 1.05;

/// The time to first token of a run in which nothing else was in flight; the error says why it is not reported.
pub(crate) fn alone(run: &ServeRun) -> Result<Spread, Finding> {
    let flight = run
        .in_flight_wanted()
        .or_else(|| RunShape::new(run).in_flight());
    let first = run.ttft_ms.filter(|_| run.streamed);
    let is_alone = flight.is_some_and(|flight| flight <= ALONE);
    first
        .filter(|_| is_alone)
        .ok_or(Finding::FirstTokenNotAlone { in_flight: flight })
}

/// Prompt tokens of a request, rounded.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "held between 1 and a billion"
)]
pub(crate) fn prompt_tokens(run: &ServeRun) -> Option<u32> {
    let tokens = RunShape::new(run).input()?;
    (tokens >= 1.0).then(|| tokens.round().clamp(1.0, 1e9) as u32)
}
