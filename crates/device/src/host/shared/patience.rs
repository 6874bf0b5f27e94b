//! How to wait for another process: first without giving the CPU away, then giving it away, then with naps.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

/// Looks before the CPU is given away, where every rank can have one: some 50 to 200 us.
const SPINS: u32 = 4000;
/// From here on the wait is long, and naps cost little of it.
const SHORT: Duration = Duration::from_millis(5);
const NAP: Duration = Duration::from_micros(50);
/// How often the others are looked after.
const CARE: Duration = Duration::from_millis(20);

/// A wait under way.
pub(super) struct ProgressDeadline {
    spins: u32,
    began: Option<Instant>,
    cared: Option<Instant>,
}

impl ProgressDeadline {
    /// A new wait. Without a CPU for each rank, looking again at once only keeps another rank from working.
    pub(super) fn new(has_own_cpu: bool) -> Self {
        Self {
            spins: if has_own_cpu { SPINS } else { 0 },
            began: None,
            cared: None,
        }
    }

    /// Waits a little; says for how long it has waited when it is time to look after the others.
    pub(super) fn wait(&mut self) -> Option<Duration> {
        if self.spins > 0 {
            self.spins -= 1;
            hint::spin_loop();
            return None;
        }
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        if now - began > SHORT {
            thread::sleep(NAP);
        } else {
            thread::yield_now();
        }
        let since = self.cared.unwrap_or(began);
        (now - since >= CARE).then(|| {
            self.cared = Some(now);
            now - began
        })
    }
}
