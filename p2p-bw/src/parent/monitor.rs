//! The parent's side of the monitor: asks for link readings while copies run, and gives up on it where it blocks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use measure::record::LinkReading;
use supervisor::{Event, Interrupt, Worker};
use topology::PcieLink;

use super::Stop;
use super::choose::{SHORT_LADDER, start};
use crate::children::Child;
use crate::messages::{Built, MonitorReading, MonitorReply, MonitorRequest};

/// Readings are asked for at most this often: 20 a second.
const PERIOD: Duration = Duration::from_millis(50);

/// How long an answer may take before the monitor counts as blocked.
const ANSWER: Duration = Duration::from_secs(3);

/// Readings of links through a child.
pub(super) struct Monitor<'a> {
    child: Option<Worker>,
    interrupt: &'a Interrupt,
    asked: u64,
    answered: u64,
    last_asked: Option<Instant>,
    /// Why there is none any more.
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
        let mut child = start(Child::Monitor, None)?;
        let watch = child.send(&MonitorRequest::Watch {
            backend,
            sysfs,
            devices,
        });
        let lost = watch.err().map(|error| error.to_string());
        Ok(Self {
            child: Some(child),
            interrupt,
            asked: 0,
            answered: 0,
            last_asked: None,
            lost,
        })
    }

    /// Asks for a reading now, unless one was asked for just before or is outstanding.
    pub(super) fn ask(&mut self, devices: &[usize]) {
        let soon = self.last_asked.is_some_and(|at| at.elapsed() < PERIOD);
        if self.lost.is_some() || soon || self.asked > self.answered + 1 {
            return;
        }
        self.asked += 1;
        self.last_asked = Some(Instant::now());
        let request = MonitorRequest::Read {
            ticket: self.asked,
            devices: devices.to_vec(),
        };
        let sent = self.child.as_mut().map(|child| child.send(&request));
        if let Some(Err(error)) = sent {
            self.lost = Some(error.to_string());
        }
    }

    /// Waits for what is outstanding and adds it up.
    pub(super) fn collect(&mut self) -> Readings {
        let mut readings = Readings::new();
        while self.lost.is_none() && self.answered < self.asked {
            let Some(child) = &mut self.child else { break };
            match child.next::<MonitorReply>(ANSWER, self.interrupt) {
                Event::Message(reply) => {
                    self.answered = self.answered.max(reply.ticket);
                    for (device, reading) in reply.readings {
                        add(readings.entry(device).or_default(), &reading);
                    }
                }
                Event::Silent { waited } => {
                    self.lost = Some(format!(
                        "the monitor did not answer within {} s",
                        waited.as_secs()
                    ));
                }
                Event::Interrupted(_) => break,
                Event::Exited(status) => {
                    self.lost = Some(format!("the monitor ended with {status}"))
                }
                Event::Garbled { error, .. } => self.lost = Some(error),
            }
        }
        self.last_asked = None;
        readings
    }

    /// Ends the child.
    pub(super) fn finish(mut self) {
        if let Some(mut child) = self.child.take() {
            child.end(SHORT_LADDER);
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
    if let Some((_, now)) = before
        .zip(now)
        .filter(|(before, now)| now.width() < before.width())
    {
        sum.narrowed_to = sum
            .narrowed_to
            .filter(|other| other.width() <= now.width())
            .or(Some(now));
    }
    sum.device = faster(sum.device, device);
    sum.slot = faster(sum.slot, slot);
    sum.slot_maximum = reading.slot_maximum.or(sum.slot_maximum);
    sum.readings += 1;
    let missing: Vec<&str> = [reading.device.as_ref().err(), reading.slot.as_ref().err()]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    sum.unreadable = (!missing.is_empty()).then(|| missing.join("; "));
}

fn faster(a: Option<PcieLink>, b: Option<PcieLink>) -> Option<PcieLink> {
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
    fn a_card_wider_inside_than_its_slot_did_not_get_narrower() {
        let mut sum = LinkReading::default();
        let (inside, slot) = (PcieLink::new(5, 16).unwrap(), PcieLink::new(5, 8).unwrap());
        let reading = MonitorReading {
            device: Ok(Some(inside)),
            slot: Ok(slot),
            slot_maximum: None,
        };
        add(&mut sum, &reading);
        add(&mut sum, &reading);
        assert_eq!(sum.narrowed_to, None);
        assert_eq!(sum.limiting().unwrap().to_string(), "Gen5 x8");
    }
}
