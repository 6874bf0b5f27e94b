//! The delay as a kernel in a stream: loaded and measured once for each context, then launched before each call.
//!
//! What is asked for is what a call adds to its stream, and a kernel without work takes some microseconds there too. So an empty one
//! is measured by events behind each other, with the GPU kept busy until all are queued, the argument is what is asked for less
//! that, and the result is measured again. The clock is `%globaltimer` on NVIDIA's GPUs and not the cycles of a multiprocessor, whose
//! rate changes with the load: it goes on in steps of 32 ns to about 1 us, depending on the chip, and a delay is as long as that
//! uncertain. On AMD's it is the constant clock of 100 MHz; where that is slower, the second measurement shows it and the argument
//! is scaled. Kernels of one graph follow each other some tenths of a microsecond closer than those measured here.

use crate::driver::Driver;
use crate::log;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// Kernels between two events.
const BATCH: u32 = 16;
/// Batches of a measurement, of which the median counts.
const ROUNDS: usize = 5;
/// What keeps the GPU busy while a batch is queued, nanoseconds: twenty times what queueing takes.
const LEAD_NS: u64 = 1_000_000;
/// How far off the delay may be: this part of it, or so many microseconds.
const TOLERANCE: f64 = 0.05;
const TOLERANCE_US: f64 = 1.0;

/// A kernel with the argument that makes it as long as asked.
#[derive(Debug, Clone, Copy)]
struct Ready {
    kernel: usize,
    duration_ns: u64,
}

/// By context or device. What failed once is not tried again.
static READY: Mutex<BTreeMap<u64, Result<Ready, String>>> = Mutex::new(BTreeMap::new());

/// Puts a delay into a stream.
///
/// # Errors
/// Why it cannot be there, or not for as long as asked.
pub(crate) fn put(driver: &Driver, stream: *mut c_void, delay_us: f64) -> Result<(), String> {
    let place = driver.place()?;
    let mut all = READY.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || driver.beside_captures(|| prepare(driver, delay_us));
    let ready = all.entry(place).or_insert_with(make).clone()?;
    drop(all);
    driver.launch(ready.kernel as *mut c_void, stream, ready.duration_ns)
}

fn prepare(driver: &Driver, asked_us: f64) -> Result<Ready, String> {
    let bench = Bench::open(driver)?;
    let empty_us = bench.measure(0)?;
    if asked_us < empty_us {
        return Err(format!(
            "a delay of {asked_us} us was asked for, and a kernel without work takes {empty_us:.2} us in a stream; ask for more"
        ));
    }
    let mut duration_ns = ((asked_us - empty_us) * 1e3).round() as u64;
    let mut measured_us = bench.measure(duration_ns)?;
    if !holds(asked_us, measured_us) && measured_us > empty_us {
        duration_ns = scaled(duration_ns, asked_us - empty_us, measured_us - empty_us);
        measured_us = bench.measure(duration_ns)?;
    }
    log::measured(measured_us);
    if !holds(asked_us, measured_us) {
        return Err(format!(
            "a delay of {asked_us} us was asked for and {measured_us:.2} us were measured in a stream"
        ));
    }
    Ok(Ready {
        kernel: bench.kernel as usize,
        duration_ns,
    })
}

fn holds(asked_us: f64, measured_us: f64) -> bool {
    (measured_us - asked_us).abs() <= TOLERANCE_US.max(asked_us * TOLERANCE)
}

/// The argument by what came of the first one: a clock of another rate than is thought.
fn scaled(first_ns: u64, wanted_us: f64, spun_us: f64) -> u64 {
    (first_ns as f64 * wanted_us / spun_us).round() as u64
}

/// A stream of its own to measure in.
struct Bench<'a> {
    driver: &'a Driver,
    kernel: *mut c_void,
    stream: *mut c_void,
    events: [*mut c_void; 2],
}

impl<'a> Bench<'a> {
    fn open(driver: &'a Driver) -> Result<Self, String> {
        let (stream, events) = driver.open()?;
        Ok(Self {
            kernel: driver.load()?,
            driver,
            stream,
            events,
        })
    }

    /// The median microseconds of a kernel, over the batches.
    fn measure(&self, duration_ns: u64) -> Result<f64, String> {
        let batches = (0..ROUNDS).map(|_| self.batch(duration_ns));
        let mut found = batches.collect::<Result<Vec<f64>, String>>()?;
        found.sort_by(f64::total_cmp);
        Ok(found[ROUNDS / 2])
    }

    fn batch(&self, duration_ns: u64) -> Result<f64, String> {
        let (driver, stream, events) = (self.driver, self.stream, self.events);
        driver.launch(self.kernel, stream, LEAD_NS)?;
        driver.record(events[0], stream)?;
        for _ in 0..BATCH {
            driver.launch(self.kernel, stream, duration_ns)?;
        }
        driver.record(events[1], stream)?;
        Ok(driver.elapsed_us(stream, events)? / f64::from(BATCH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_of_another_rate_is_scaled_away() {
        // 1 us, or a twentieth of more than 20 us.
        assert!(holds(20.0, 19.0) && holds(20.0, 21.0) && !holds(20.0, 21.01));
        assert!(holds(100.0, 105.0) && !holds(100.0, 105.1));
        // A clock of 25 MHz that is taken for one of 100 MHz: 17.5 us become 70. A quarter is right.
        assert_eq!(scaled(17_500, 17.5, 70.0), 4_375);
    }
}
