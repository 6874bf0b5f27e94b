//! What happens before a call that may be delayed: it is counted, and the delay is put into its stream.

use crate::config::Config;
use crate::driver::Driver;
use crate::frame::Frame;
use crate::log;
use crate::real::Real;
use crate::spin;
use crate::table::Delayed;
use std::time::{Duration, Instant};

/// Counts a call and delays it.
///
/// # Errors
/// The words why the delay could not be put there: the call must not go on.
pub(crate) fn before(real: &Real, delayed: Delayed, frame: &Frame) -> Result<(), String> {
    let config = Config::get()?;
    if !config.operations.contains(&delayed.operation) {
        log::pass();
        return Ok(());
    }
    let stream = frame.argument(delayed.stream_at);
    let driver = Driver::get(real.library.driver, real.handle);
    let is_capturing = driver.is_some_and(|driver| driver.is_capturing(stream));
    if config.delay_us > 0.0 {
        match driver {
            Some(driver) => {
                spin::put(driver, stream, config.delay_us)?;
                log::spins_by("kernel");
            }
            None => {
                spin_here(config.delay_us);
                log::spins_by("thread");
            }
        }
    }
    log::delay(&real.file, real.version, is_capturing);
    Ok(())
}

/// Keeps the calling thread busy. It does not sleep: the kernel wakes late by tens of microseconds.
fn spin_here(microseconds: f64) {
    let duration = Duration::from_secs_f64(microseconds / 1e6);
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}
