//! What the single requests of a result measured, to know the same run again under another name, time stamp or form.

use std::path::Path;

use super::read::read_all;
use crate::error::ImportError;
use record::metric::{e2el, ttft};

/// The requests of a result by their own times, in no order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples(Vec<Times>);

/// End-to-end latency and time to first token of a request, us; the latter is `None` where nobody timed it.
type Times = (i64, Option<i64>);

/// Fewer requests than this may be alike by chance.
const LEAST: usize = 2;

/// What the requests of a result measured; `None` where its file has no times of single requests, or of one alone.
///
/// # Errors
/// As those of [`super::read`].
pub fn samples(path: &Path) -> Result<Option<Samples>, ImportError> {
    let results = read_all(path)?;
    let succeeded = results
        .iter()
        .flat_map(|result| &result.requests)
        .filter(|request| request.error.is_none());
    let mut times: Vec<Times> = succeeded
        .map(|request| (whole_us(e2el::of(request)), ttft::of(request).map(whole_us)))
        .collect();
    times.sort_unstable();
    Ok((times.len() >= LEAST).then_some(Samples(times)))
}

/// Forms keep times to less than a us differently.
#[expect(
    clippy::cast_possible_truncation,
    reason = "times of a load are far below 2^63 us"
)]
fn whole_us(ms: f64) -> i64 {
    (ms * 1e3).round() as i64
}
