//! The wall clock of a driver: how its virtual time follows the monotonic clock, and how calls wait for an instant.
//!
//! Without it, virtual time is not coupled with anything.

use crate::transfers::Transfer;
use crate::{Failure, Outcome, Simulation, SoftDriver};
use std::hint;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long the lock stays open between two attempts of a call that waits for another process.
const PAUSE: Duration = Duration::from_micros(50);
/// What a sleep may be late by: the last stretch is waited for without sleeping.
const STRETCH: Duration = Duration::from_micros(200);
/// How often a call looks whether the host has raised a gate's flag.
const LOOK_NS: f64 = 20_000.0;

impl SoftDriver {
    /// Couples the virtual time with the monotonic clock: its 0 is now. Calls are to be made through [`patiently`].
    #[must_use]
    pub fn on_wall_clock(mut self) -> Self {
        self.wall = Some(Instant::now());
        self
    }

    /// On a wall clock, lets the virtual time run up to it; gates whose flags were raised open first.
    pub fn catch_up(&mut self) {
        if let Some(origin) = self.wall {
            self.open_raised();
            self.sim.run_to(origin.elapsed().as_secs_f64() * 1e9);
        }
    }

    /// What a call is to do that waits for what has not ended by the wall clock.
    pub(crate) fn wait_on(&mut self, origin: Instant) -> Outcome<()> {
        let Some(mut next) = self.sim.next_change() else {
            return Err(Failure::Hang);
        };
        if !self.finish_early() {
            // Another process may come any moment.
            next = self.sim.now();
        } else if self.sim.closed_gates().next().is_some() {
            next = next.min(self.sim.now() + LOOK_NS);
        }
        Err(Failure::Early(
            origin + Duration::from_nanos(next.ceil() as u64),
        ))
    }

    /// Moves the bytes of other libraries' works that have begun, so that they are there when the time of these is over; whether
    /// all are. It does nothing before what has ended was moved.
    pub(crate) fn finish_early(&mut self) -> bool {
        if !self.unmoved.is_empty() {
            return false;
        }
        let mut all = true;
        for operation in self.sim.under_way() {
            if let Some(Transfer::Foreign(foreign, ticket)) = self.pending.get(&operation) {
                if foreign.work.finish(*ticket, false) {
                    self.early.push(operation);
                } else {
                    all = false;
                }
            }
        }
        for operation in self.early.drain(..) {
            self.pending.remove(&operation);
        }
        all
    }

    /// Makes a call on the driver that must not be made again, with all that it waits for.
    pub(crate) fn run_through(&mut self, done: impl Fn(&Simulation) -> bool) -> Outcome<()> {
        loop {
            match self.run_until(&done) {
                Err(Failure::Early(instant)) => wait_until(instant),
                outcome => return outcome,
            }
            self.catch_up();
        }
    }
}

/// Makes a call on a driver, holding the lock; again where it was [`Failure::Blocked`] or [`Failure::Early`], with the lock
/// open to other threads in between.
///
/// # Errors
/// What `call` reports otherwise.
pub fn patiently<T>(
    driver: &Mutex<SoftDriver>,
    mut call: impl FnMut(&mut SoftDriver) -> Outcome<T>,
) -> Outcome<T> {
    loop {
        let outcome = {
            // A panic is reported to the caller as an unknown error where it happened; the state is still usable.
            let mut driver = driver.lock().unwrap_or_else(PoisonError::into_inner);
            driver.catch_up();
            call(&mut driver)
        };
        match outcome {
            Err(Failure::Blocked) => thread::sleep(PAUSE),
            Err(Failure::Early(instant)) => wait_until(instant),
            outcome => return outcome,
        }
    }
}

/// Sleeps while the instant is far, then spins.
fn wait_until(instant: Instant) {
    loop {
        let left = instant.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        match left.checked_sub(STRETCH) {
            Some(far) if !far.is_zero() => thread::sleep(far),
            _ => hint::spin_loop(),
        }
    }
}
