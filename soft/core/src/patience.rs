//! How calls wait for another process: with the driver open to other threads.

use crate::{Failure, Outcome, SoftDriver};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long the lock stays open between two attempts of a call that waits for another process.
const PAUSE: Duration = Duration::from_micros(50);

/// Makes a call on a driver, holding the lock; again where it was [`Failure::Blocked`], with the lock open to other threads in
/// between.
///
/// # Errors
/// What `call` reports otherwise.
pub(crate) fn patiently<T>(
    driver: &Mutex<SoftDriver>,
    mut call: impl FnMut(&mut SoftDriver) -> Outcome<T>,
) -> Outcome<T> {
    loop {
        // A panic is reported to the caller as an unknown error where it happened; the state is still usable.
        let outcome = call(&mut driver.lock().unwrap_or_else(PoisonError::into_inner));
        match outcome {
            Err(Failure::Blocked) => thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
}
