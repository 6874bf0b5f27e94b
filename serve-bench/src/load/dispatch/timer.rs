//! Waits until an instant more finely than tokio does, whose timer has steps of a millisecond.

use std::io;
use std::time::{Duration, Instant};

use rustix::fd::OwnedFd;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;
use tokio::task::yield_now;

/// The kernel's timer wakes about this long after its instant; the rest is waited by giving way to the others.
const EARLY: Duration = Duration::from_micros(60);

/// A timer of the kernel; where there is none, tokio's.
pub(super) struct Timer(Option<AsyncFd<OwnedFd>>);

impl Timer {
    /// A timer for the runtime that runs.
    #[expect(
        deprecated,
        reason = "its successor is unsafe, which this crate forbids; the descriptor is owned here and nobody else closes it"
    )]
    pub(super) fn new() -> Self {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let made = timerfd_create(TimerfdClockId::Monotonic, flags);
        Self(made.ok().and_then(|fd| AsyncFd::new(fd).ok()))
    }

    /// Waits until an instant.
    pub(super) async fn until(&mut self, instant: Instant) {
        let left = instant.saturating_duration_since(Instant::now());
        if let Some(sleep) = left.checked_sub(EARLY).filter(|sleep| !sleep.is_zero())
            && self.sleep(sleep).await.is_err()
        {
            tokio::time::sleep(sleep).await;
        }
        while Instant::now() < instant {
            yield_now().await;
        }
    }

    async fn sleep(&self, time: Duration) -> io::Result<()> {
        let timer = self
            .0
            .as_ref()
            .ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec::try_from(time).map_err(io::Error::other)?,
        };
        timerfd_settime(timer.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        // Readable once it has expired; setting it again takes that back.
        let mut ready = timer.readable().await?;
        ready.clear_ready();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_wakes_before_its_instant_and_can_be_used_again() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut timer = Timer::new();
            for step in [0, 300, 1700, 20] {
                let instant = Instant::now() + Duration::from_micros(step);
                timer.until(instant).await;
                assert!(Instant::now() >= instant, "{step}");
            }
        });
    }
}
