//! The parent's side of the monitor: asks for link readings while copies run; one that blocks or dies is left alone.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use inventory::OPENING_STEPS;
use program::Stop;
use record::LinkReading;
use runner::Interrupt;

use super::link::merged;
use crate::begun::Begun;
use crate::messages::{Answer, SamplerReply, What};
use crate::monitor::watch::{Over, Watch};

/// Readings are asked for at most this often: 20 a second.
const PERIOD: Duration = Duration::from_millis(50);

/// How long an answer may take before the monitor counts as blocked. The first one waits for the driver to open.
const ANSWER: Duration = Duration::from_secs(3);

/// Readings of one span by position of the device.
pub(super) type Readings = BTreeMap<usize, LinkReading>;

/// Readings of links through a child.
pub(super) struct Monitor<'a> {
    /// The child; `None` for host memory, which has no links, and once it is lost.
    watch: Option<Watch<'a>>,
    /// Requests since the last [`Monitor::collect`].
    asked: Vec<Instant>,
    /// What came since then.
    readings: Readings,
    /// Those of them that came while copies ran: a later one may be of a link that idles.
    running: Readings,
    /// How long the next answer may take.
    patience: Duration,
    /// What happened to the child, where it was lost.
    lost: Option<String>,
}

impl<'a> Monitor<'a> {
    /// Starts the child on devices.
    pub(super) fn start(
        begun: &Begun,
        deadline: Duration,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Stop> {
        let has_links = !begun.is_host();
        Ok(Self {
            watch: has_links
                .then(|| Watch::start(begun, interrupt))
                .transpose()?,
            asked: Vec::new(),
            readings: Readings::new(),
            running: Readings::new(),
            patience: ANSWER.max(deadline * OPENING_STEPS),
            lost: None,
        })
    }

    /// Asks for a reading now, unless one was asked for just before or is outstanding.
    ///
    /// The first two of a span follow at once: one reading alone does not prove that a link got slower.
    pub(super) fn ask(&mut self, devices: impl IntoIterator<Item = usize>) {
        self.take(Duration::ZERO);
        let soon = matches!(self.asked[..], [_, .., last] if last.elapsed() < PERIOD);
        let watch = self.watch.as_mut();
        if let Some(watch) = watch.filter(|watch| !soon && !watch.is_waiting()) {
            self.asked.push(Instant::now());
            for device in devices {
                watch.ask(device, What::Link);
            }
        }
    }

    /// Waits for what is outstanding and gives the sum since the last call, and that of what came while copies ran.
    pub(super) fn collect(&mut self) -> (Readings, Readings) {
        self.take(self.patience);
        self.asked.clear();
        (
            std::mem::take(&mut self.readings),
            std::mem::take(&mut self.running),
        )
    }

    /// Ends the child, and says what happened to it, where it was lost.
    pub(super) fn finish(&mut self) -> Option<String> {
        if let Some(watch) = self.watch.take() {
            watch.end();
        }
        self.lost.take()
    }

    /// Adds up answers until none is outstanding; no time at all takes what is there.
    fn take(&mut self, patience: Duration) {
        while let Some(watch) = self.watch.as_mut().filter(|watch| watch.is_waiting()) {
            let lost = match watch.next(Instant::now() + patience) {
                Some(Ok((SamplerReply { device, answer }, _))) => {
                    self.patience = ANSWER;
                    if let Answer::Link(reading) = answer {
                        let sums = [&mut self.readings, &mut self.running];
                        for sums in sums.into_iter().take(1 + usize::from(patience.is_zero())) {
                            let sum = merged(sums.get(&device), reading.clone());
                            sums.insert(device, sum);
                        }
                    }
                    continue;
                }
                Some(Err(Over::Ended(why))) => why,
                None if !patience.is_zero() => {
                    format!("the monitor did not answer within {} s", patience.as_secs())
                }
                _ => return,
            };
            // Dropping kills it and does not wait: copies run meanwhile. What was read before stands.
            self.watch = None;
            self.lost = Some(lost);
        }
    }
}
