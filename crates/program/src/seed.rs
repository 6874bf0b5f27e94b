//! The seed of what is drawn at random, where the command line names none.

use std::time::SystemTime;

/// Another number each run, so that runs do not share an order: milliseconds since 1970.
#[must_use]
pub fn seed_of_now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    // Whole milliseconds stay exact in every JSON reader, also those that hold numbers as doubles.
    now.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}
