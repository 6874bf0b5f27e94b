//! The parent's side of the monitor: asks for link readings while copies run; one that blocks or dies is left alone.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use inventory::Built;
use program::Stop;
use record::LinkReading;
use runner::Interrupt;
use topology::PcieLink;

use crate::messages::{Answer, MonitorReading, SamplerReply, What};
use crate::monitor::watch::{Came, Watch};

/// Readings are asked for at most this often: 20 a second.
const PERIOD: Duration = Duration::from_millis(50);

/// How long an answer may take before the monitor counts as blocked.
const ANSWER: Duration = Duration::from_secs(3);

/// Readings of links through a child.
pub(super) struct Monitor<'a> {
    watch: Option<Watch<'a>>,
    /// Requests since the last [`Monitor::collect`].
    asked_here: u32,
    last_asked: Option<Instant>,
    /// What came since then.
    readings: Readings,
    /// What happened to the child, where it was lost.
    pub(super) lost: Option<String>,
}

/// Readings of one span by position of the device.
pub(super) type Readings = BTreeMap<usize, LinkReading>;

impl<'a> Monitor<'a> {
    /// Starts the child on devices by PCI address.
    pub(super) fn start(
        backend: Built,
        sysfs: PathBuf,
        devices: Vec<Option<String>>,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Stop> {
        Ok(Self {
            watch: Some(Watch::start(backend, sysfs, devices, interrupt)?),
            asked_here: 0,
            last_asked: None,
            readings: Readings::new(),
            lost: None,
        })
    }

    /// Asks for a reading now, unless one was asked for just before or is outstanding.
    ///
    /// The first two of a span follow at once: one reading alone does not prove that a link got slower.
    pub(super) fn ask(&mut self, devices: &[usize]) {
        self.take(Duration::ZERO);
        let soon = self.last_asked.is_some_and(|at| at.elapsed() < PERIOD) && self.asked_here >= 2;
        let Some(watch) = self
            .watch
            .as_mut()
            .filter(|watch| !soon && !watch.is_waiting())
        else {
            return;
        };
        self.asked_here += 1;
        self.last_asked = Some(Instant::now());
        devices.iter().for_each(|one| watch.ask(*one, What::Link));
    }

    /// Waits for what is outstanding and gives the sum since the last call.
    pub(super) fn collect(&mut self) -> Readings {
        self.take(ANSWER);
        self.last_asked = None;
        self.asked_here = 0;
        std::mem::take(&mut self.readings)
    }

    /// Ends the child.
    pub(super) fn finish(mut self) {
        if let Some(watch) = self.watch.take() {
            watch.end();
        }
    }

    /// Adds up answers until none is outstanding; no time at all takes what is there.
    fn take(&mut self, patience: Duration) {
        while let Some(watch) = self.watch.as_mut().filter(|watch| watch.is_waiting()) {
            let lost = match watch.next(patience) {
                Came::Answer(SamplerReply { device, answer }, _) => {
                    if let Answer::Link { reading } = answer {
                        add(self.readings.entry(device).or_default(), &reading);
                    }
                    continue;
                }
                Came::Nothing if patience.is_zero() => return,
                Came::Nothing => {
                    format!("the monitor did not answer within {} s", ANSWER.as_secs())
                }
                Came::Signal(_) => return,
                Came::Ended(why) => why,
            };
            // Dropping kills it and does not wait: copies run meanwhile. What was read before stands.
            self.watch = None;
            self.lost = Some(lost);
        }
    }
}

/// Adds one reading: the fastest state is kept, since a link that idles between copies trains down; a narrower width
/// than the widest is kept beside it, since widths do not idle.
fn add(sum: &mut LinkReading, reading: &MonitorReading) {
    let device = reading.device.as_ref().ok().copied().flatten();
    let slot = reading.slot.as_ref().ok().copied();
    // The slot decides; the device's own link where the slot is unreadable.
    let (before, now) = if slot.is_some() {
        (sum.slot, slot)
    } else {
        (sum.device, device)
    };
    let fell = |(before, now): &(PcieLink, PcieLink)| {
        now.width() < before.width() && now.cmp_rate(*before).is_lt()
    };
    if let Some((_, now)) = before.zip(now).filter(fell) {
        // Of one width the faster state, as it is under load.
        let is_kept = |other: &PcieLink| {
            let width = other.width().cmp(&now.width());
            width.then(now.cmp_rate(*other)).is_le()
        };
        sum.narrowed_to = sum.narrowed_to.filter(is_kept).or(Some(now));
    }
    sum.device = faster(sum.device, device);
    sum.slot = faster(sum.slot, slot);
    sum.card = faster(sum.card, reading.card);
    sum.slot_maximum = reading.slot_maximum.or(sum.slot_maximum);
    sum.readings += 1;
    let missing: Vec<&str> = [reading.device.as_ref().err(), reading.slot.as_ref().err()]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    sum.unreadable = (!missing.is_empty()).then(|| missing.join("; "));
}

/// The faster of two states, or the one that is known.
pub(super) fn faster(a: Option<PcieLink>, b: Option<PcieLink>) -> Option<PcieLink> {
    [a, b].into_iter().flatten().max_by(|a, b| a.cmp_rate(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(generation: u8, width: u8) -> MonitorReading {
        let link = PcieLink::new(generation, width).unwrap();
        MonitorReading {
            device: Ok(Some(link)),
            slot: Ok(link),
            card: Some(link),
            slot_maximum: None,
        }
    }

    #[test]
    fn a_link_that_idles_is_shown_as_it_was_under_load() {
        let mut sum = LinkReading::default();
        for (generation, width) in [(1, 16), (4, 16), (1, 16)] {
            add(&mut sum, &reading(generation, width));
        }
        assert_eq!(sum.limiting().unwrap().to_string(), "Gen4 x16");
        assert_eq!((sum.narrowed_to, sum.readings), (None, 3));
    }

    #[test]
    fn a_link_that_gets_narrower_is_told() {
        let mut sum = LinkReading::default();
        for width in [16, 16, 8] {
            add(&mut sum, &reading(4, width));
        }
        assert_eq!(sum.narrowed_to.unwrap().to_string(), "Gen4 x8");
    }

    #[test]
    fn a_narrow_link_that_idles_is_shown_at_its_speed_under_load() {
        let mut sum = LinkReading::default();
        for (generation, width) in [(4, 16), (1, 8), (4, 8), (1, 8)] {
            add(&mut sum, &reading(generation, width));
        }
        assert_eq!(sum.narrowed_to.unwrap().to_string(), "Gen4 x8");
    }

    #[test]
    fn a_card_wider_inside_than_its_slot_did_not_get_narrower() {
        let mut sum = LinkReading::default();
        let (inside, slot) = (PcieLink::new(5, 16).unwrap(), PcieLink::new(5, 8).unwrap());
        let reading = MonitorReading {
            device: Ok(Some(inside)),
            slot: Ok(slot),
            card: Some(slot),
            slot_maximum: None,
        };
        add(&mut sum, &reading);
        add(&mut sum, &reading);
        assert_eq!(sum.narrowed_to, None);
        assert_eq!(sum.limiting().unwrap().to_string(), "Gen5 x8");
    }
}
