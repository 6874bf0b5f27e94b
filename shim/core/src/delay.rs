//! What happens before an all-reduce: it is counted, and the delay is put into its stream.

use crate::config::delay_us;
use crate::driver::Driver;
use crate::log;
use crate::real::Real;
use crate::spin;
use std::ffi::c_void;
use std::time::{Duration, Instant};

/// Counts a call and delays it in its stream.
///
/// # Errors
/// The words why the delay could not be put there: the call must not go on.
pub(crate) fn before(real: &'static Real, stream: *mut c_void) -> Result<(), String> {
    let delay_us = delay_us()?;
    let driver = Driver::get(real.library.driver, real.handle);
    let is_capturing = driver.is_some_and(|driver| driver.is_capturing(stream));
    if delay_us > 0.0 {
        match driver {
            Some(driver) => spin::put(driver, stream, delay_us)?,
            None => spin_here(delay_us),
        }
    }
    log::delay(&real.file, is_capturing);
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
