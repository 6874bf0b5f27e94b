//! The instant of a read, and from the kernel's clock of packets to the program's: real time to monotonic time.
//!
//! The kernel stamps packets with the real-time clock, which may step while a load runs. So the offset between the two is
//! taken again every millisecond, and where it changed, stamps around the step are not used.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// When bytes came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    /// After the read.
    pub(super) read: Instant,
    /// When the kernel received the last of them, not after the read; `None` where it did not say.
    pub(super) received: Option<Instant>,
}

impl Arrival {
    /// The kernel's instant, and without one that of the read.
    pub(super) fn at(&self) -> Instant {
        self.received.unwrap_or(self.read)
    }
}

/// How long one offset is used.
const RENEWED: Duration = Duration::from_millis(1);

/// Changes of the offset that are taken for the noise of taking it.
const NOISE: Duration = Duration::from_micros(50);

/// A pair taken faster than this is good enough.
const FAST: Duration = Duration::from_micros(2);

/// Packets that waited longer than this are taken for a clock that stepped.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The same moment on both clocks.
#[derive(Debug, Clone, Copy)]
struct Pair {
    instant: Instant,
    /// Since 1970.
    real: Duration,
}

impl Pair {
    /// The best of a few, for a thread that is suspended in between reads two moments.
    fn now() -> Option<Self> {
        let mut best: Option<(Duration, Self)> = None;
        for _ in 0..4 {
            let before = Instant::now();
            let real = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
            let took = before.elapsed();
            if best.is_none_or(|(least, _)| took < least) {
                let instant = before + took / 2;
                best = Some((took, Self { instant, real }));
            }
            if took < FAST {
                break;
            }
        }
        best.map(|(_, pair)| pair)
    }

    /// The real time of an instant that is not before the pair's.
    fn real_of(&self, instant: Instant) -> Duration {
        self.real + instant.saturating_duration_since(self.instant)
    }
}

/// Brings kernel time stamps to the program's clock.
#[derive(Debug, Default)]
pub(super) struct Clock(Option<Pair>);

impl Clock {
    /// When a packet came that has this stamp (since 1970) and was read at this instant, the present one; `None` where the
    /// clock stepped meanwhile.
    pub(super) fn receipt(&mut self, stamp: Duration, read: Instant) -> Option<Instant> {
        if self
            .0
            .is_none_or(|pair| read.saturating_duration_since(pair.instant) > RENEWED)
        {
            let pair = Pair::now()?;
            let stepped = self.0.is_some_and(|old| is_step(&old, &pair));
            self.0 = Some(pair);
            if stepped {
                return None;
            }
        }
        waited(&self.0?, stamp, read).map(|waited| read - waited)
    }
}

/// Whether the real-time clock was set between two pairs.
fn is_step(old: &Pair, new: &Pair) -> bool {
    old.real_of(new.instant).abs_diff(new.real) > NOISE
}

/// How long a packet waited to be read.
fn waited(pair: &Pair, stamp: Duration, read: Instant) -> Option<Duration> {
    // The pair may be a moment younger than the read.
    let real = match pair.instant.checked_duration_since(read) {
        Some(younger) => pair.real.checked_sub(younger)?,
        None => pair.real_of(read),
    };
    match real.checked_sub(stamp) {
        Some(waited) => (waited < LONGEST_WAIT).then_some(waited),
        // Later than it was read: by the noise of the pair, or because the clock was set back.
        None => (stamp - real < NOISE).then_some(Duration::ZERO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    fn pair() -> Pair {
        Pair {
            instant: Instant::now(),
            real: Duration::from_secs(1000),
        }
    }

    #[test]
    fn the_wait_of_a_packet_is_the_real_time_since_its_stamp() {
        let pair = pair();
        // Read 500 us behind the pair, at 1000.0005 s; stamped 200 us before the pair.
        let read = pair.instant + 500 * US;
        assert_eq!(waited(&pair, pair.real - 200 * US, read), Some(700 * US));
        // Read 5 us before the pair was taken.
        let read = pair.instant - 5 * US;
        assert_eq!(waited(&pair, pair.real - 20 * US, read), Some(15 * US));
    }

    #[test]
    fn a_stamp_from_the_future_or_from_long_ago_is_not_used() {
        let pair = pair();
        let waited = |stamp| waited(&pair, stamp, pair.instant);
        assert_eq!(waited(pair.real + 10 * US), Some(Duration::ZERO));
        assert_eq!(waited(pair.real + 100 * US), None);
        assert_eq!(waited(pair.real - Duration::from_secs(61)), None);
    }

    #[test]
    fn a_clock_that_was_set_is_noticed() {
        let old = pair();
        let new = |real| Pair {
            instant: old.instant + 1000 * US,
            real,
        };
        assert!(!is_step(&old, &new(old.real + 1010 * US)));
        assert!(is_step(&old, &new(old.real + 1100 * US)));
        assert!(is_step(&old, &new(old.real)));
    }

    #[test]
    fn the_present_is_read_as_the_present() {
        let mut clock = Clock::default();
        let before = Instant::now();
        let stamp = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let read = Instant::now();
        // The stamp lies between the two instants, but for the noise.
        if let Some(receipt) = clock.receipt(stamp, read) {
            assert!(receipt + NOISE >= before && receipt <= read);
        }
    }
}
