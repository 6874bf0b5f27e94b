//! The wall clock of a driver: how its virtual time follows the monotonic clock, and how calls wait for an instant.
//!
//! Without it, virtual time is not coupled with anything.

use crate::transfers::Transfer;
use crate::{Failure, Outcome, Simulation, SoftDriver, monotonic_ns};
use std::hint;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long the lock stays open between two attempts of a call that waits for another process.
const PAUSE: Duration = Duration::from_micros(50);
/// What a sleep may be late by: the last stretch is waited for without sleeping.
const STRETCH_NS: u64 = 200_000;
/// How often a call looks whether the host has raised a gate's flag.
const LOOK_NS: f64 = 20_000.0;
/// So long before the end that a call waits for it does what is to be done at the end, and then waits for the rest: what that
/// costs this machine is none of the box's time.
const LEAD_NS: f64 = 1000.0;

/// How virtual time follows the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wall {
    /// Virtual time 0, as [`monotonic_ns`].
    origin: u64,
    /// The virtual time that real time had come to at the present call.
    real: f64,
}

impl Wall {
    /// The real instant of a virtual one.
    fn instant(self, virtual_ns: f64) -> u64 {
        self.origin + virtual_ns.ceil() as u64
    }
}

impl SoftDriver {
    /// Couples the virtual time with the monotonic clock: its 0 is now. Calls are to be made through [`patiently`].
    #[must_use]
    pub fn on_wall_clock(mut self) -> Self {
        self.wall = Some(Wall {
            origin: monotonic_ns(),
            real: 0.0,
        });
        self
    }

    /// On a wall clock, lets the virtual time run up to it; gates whose flags were raised open first.
    pub fn catch_up(&mut self) {
        if self.wall.is_some() {
            self.catch_up_to(monotonic_ns());
        }
    }

    fn catch_up_to(&mut self, instant: u64) {
        if let Some(wall) = &mut self.wall {
            wall.real = instant.saturating_sub(wall.origin) as f64;
            let real = wall.real;
            self.open_raised();
            self.sim.run_to(real);
        }
    }

    /// Lets the virtual time run to the next change where that is near; else says until when a call has to wait for it.
    pub(crate) fn wait_on(&mut self, wall: Wall) -> Outcome<()> {
        let Some(mut next) = self.sim.next_change() else {
            return Err(Failure::Hang);
        };
        if !self.finish_early() {
            // Another process may come any moment.
            next = self.sim.now();
        } else if self.sim.closed_gates().next().is_some() {
            next = next.min(self.sim.now() + LOOK_NS);
        } else if next <= wall.real + LEAD_NS {
            self.sim.run_to(next);
            return Ok(());
        } else {
            next -= LEAD_NS;
        }
        Err(Failure::Early(wall.instant(next)))
    }

    /// The instant of the present virtual time where real time may not have come there: a call does not return before.
    fn ahead(&self) -> Option<u64> {
        let wall = self.wall.filter(|wall| self.sim.now() > wall.real)?;
        Some(wall.instant(self.sim.now()))
    }

    /// Moves the bytes of other libraries' works that have begun, so that they are there when the time of these is over; whether
    /// all are. It does nothing before what has ended was moved.
    pub(crate) fn finish_early(&mut self) -> bool {
        if !self.unmoved.is_empty() {
            return false;
        }
        let mut all = true;
        for (operation, end) in self.sim.under_way() {
            if let Some(Transfer::Foreign(foreign, ticket)) = self.pending.get(operation) {
                if foreign.work.finish(*ticket, false) {
                    self.early.push(operation);
                    // It has only a latency, and moving the bytes may have taken longer.
                    let is_late = |wall: Wall| monotonic_ns() > wall.instant(end);
                    self.late += u64::from(self.wall.is_some_and(is_late));
                } else {
                    all = false;
                }
            }
        }
        for operation in self.early.drain(..) {
            self.pending.remove(operation);
        }
        all
    }

    /// Works of other libraries whose bytes were there later than the box says: the machine or another process was too slow. None
    /// where virtual time follows no clock.
    #[must_use]
    pub fn late_works(&self) -> u64 {
        self.late
    }

    /// Nanoseconds that the box takes for the works of other libraries that were issued so far, captured ones where they run.
    #[must_use]
    pub fn foreign_ns(&self) -> f64 {
        self.foreign_ns
    }

    /// Makes a call on the driver that must not be made again, with all that it waits for.
    pub(crate) fn run_through(&mut self, done: impl Fn(&Simulation) -> bool) -> Outcome<()> {
        loop {
            match self.run_until(&done) {
                Err(Failure::Early(instant)) => wait_until(instant),
                outcome => {
                    self.ahead().into_iter().for_each(wait_until);
                    return outcome;
                }
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
    call: impl FnMut(&mut SoftDriver) -> Outcome<T>,
) -> Outcome<T> {
    attempts(driver, SoftDriver::catch_up, call)
}

/// As [`patiently`], of a call that the program made then: on a wall clock it begins at that instant, and what was done in the
/// process since is none of the box's time.
///
/// # Errors
/// As [`patiently`].
pub fn patiently_since<T>(
    driver: &Mutex<SoftDriver>,
    entered_ns: u64,
    call: impl FnMut(&mut SoftDriver) -> Outcome<T>,
) -> Outcome<T> {
    let mut entered = Some(entered_ns);
    let catch_up = |driver: &mut SoftDriver| match entered.take() {
        Some(instant) => driver.catch_up_to(instant),
        None => driver.catch_up(),
    };
    attempts(driver, catch_up, call)
}

fn attempts<T>(
    driver: &Mutex<SoftDriver>,
    mut catch_up: impl FnMut(&mut SoftDriver),
    mut call: impl FnMut(&mut SoftDriver) -> Outcome<T>,
) -> Outcome<T> {
    loop {
        let (outcome, ahead) = {
            // A panic is reported to the caller as an unknown error where it happened; the state is still usable.
            let mut driver = driver.lock().unwrap_or_else(PoisonError::into_inner);
            catch_up(&mut driver);
            (call(&mut driver), driver.ahead())
        };
        match outcome {
            Err(Failure::Blocked) => thread::sleep(PAUSE),
            Err(Failure::Early(instant)) => wait_until(instant),
            outcome => {
                ahead.into_iter().for_each(wait_until);
                return outcome;
            }
        }
    }
}

/// Sleeps while the instant, as [`monotonic_ns`], is far, then spins.
fn wait_until(instant: u64) {
    loop {
        let left = instant.saturating_sub(monotonic_ns());
        if left == 0 {
            return;
        }
        match left.saturating_sub(STRETCH_NS) {
            // At the very end the clock is looked at as often as can be.
            0 if left < LEAD_NS as u64 => {}
            0 => hint::spin_loop(),
            far => thread::sleep(Duration::from_nanos(far)),
        }
    }
}
