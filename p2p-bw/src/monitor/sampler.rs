//! The child that reads devices when the parent asks, one thread for each, so that one that blocks holds up no other.
//!
//! Management libraries and the PCI configuration space can block on a failing device; then only a thread of this child does.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use device::Built;
use device::management::{Management, Sample};
use record::{LinkReading, MonitorValues};
use runner::child::{self, Inbox, Outbox};
use topology::{Machine, SlotPath, Sysfs};

use crate::messages::{Answer, MonitorRequest, SamplerReply, What};

/// Answers the parent until it has no more to ask.
///
/// # Errors
/// The pipes broke, or a request was not understood; what cannot be read is an answer, not an error.
pub(crate) fn run() -> Result<()> {
    child::die_with_parent(child::expected_parent()?)?;
    let outbox = Arc::new(Mutex::new(Outbox::claim()?));
    let requests: Inbox<MonitorRequest> = child::inbox()?;
    let mut readers: Vec<Sender<What>> = Vec::new();
    for request in requests {
        match request.context("reading a request")? {
            MonitorRequest::Watch {
                backend,
                sysfs,
                devices,
            } => readers = started(backend, &Sysfs::at(&sysfs), devices, &outbox)?,
            // A reader that ended has said why on standard error; the parent sees that nothing comes.
            MonitorRequest::Read { device, what } => {
                let reader = readers.get(device);
                let _ = reader.map(|reader| reader.send(what));
            }
        }
    }
    Ok(())
}

/// Starts a thread for each device, which answers until the parent is done, or gone.
fn started(
    backend: Built,
    sysfs: &Sysfs,
    devices: Vec<Option<String>>,
    outbox: &Arc<Mutex<Outbox>>,
) -> Result<Vec<Sender<What>>> {
    let machine = Machine::read(sysfs).map_err(|error| error.to_string());
    let start = |(device, pci): (usize, Option<String>)| {
        let machine = machine.as_ref().map_err(Clone::clone);
        let slot = machine.and_then(|machine| machine.slot_path_of(pci.as_deref()));
        let ((asked, requests), outbox) = (channel(), Arc::clone(outbox));
        let sysfs = sysfs.clone();
        let answer = move || {
            let managed = managed(backend, &sysfs, pci);
            let reader = Reader {
                slot,
                sysfs,
                managed,
            };
            for what in requests {
                let answer = match what {
                    What::Link => Answer::Link(reader.link()),
                    What::Values => reader.values(),
                };
                let mut outbox = outbox.lock().unwrap_or_else(PoisonError::into_inner);
                if outbox.send(&SamplerReply { device, answer }).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name(format!("device{device}"));
        thread.spawn(answer).context("starting a reader")?;
        Ok(asked)
    };
    devices.into_iter().enumerate().map(start).collect()
}

/// The address of a device and what tells of it, or why nothing does.
type Managed = Result<(String, Box<dyn Management>), String>;

/// Opens what tells of a device, for this thread alone.
fn managed(backend: Built, sysfs: &Sysfs, pci: Option<String>) -> Managed {
    let pci = pci.ok_or("the device has no PCI address")?;
    let none = || format!("nothing tells such values of {}", backend.name());
    let managed = backend.managed().ok_or_else(none)?;
    Ok((pci, (managed.open)(sysfs)?))
}

/// What reads one device.
struct Reader {
    slot: Result<SlotPath, String>,
    sysfs: Sysfs,
    managed: Managed,
}

impl Reader {
    /// The link of the device and of its slot now.
    fn link(&self) -> LinkReading {
        let slot = self.slot.clone().and_then(|path| path.read(&self.sysfs));
        let device = match &self.managed {
            Ok((pci, management)) => management.link(pci),
            Err(reason) => Err(reason.clone()),
        };
        let missing = [device.as_ref().err(), slot.as_ref().err()];
        let missing: Vec<&str> = missing.into_iter().flatten().map(String::as_str).collect();
        let slot = slot.as_ref().ok();
        LinkReading {
            unreadable: (!missing.is_empty()).then(|| missing.join("; ")),
            card: self
                .slot
                .as_ref()
                .ok()
                .and_then(|path| path.card_link(&self.sysfs)),
            slot_maximum: slot.and_then(|link| link.maximum),
            slot: slot.map(|link| link.current),
            device: device.ok().flatten(),
            readings: 1,
            narrowed_to: None,
        }
    }

    fn values(&self) -> Answer {
        let slot = self.slot.clone().and_then(|path| path.sample(&self.sysfs));
        let sample = match &self.managed {
            Ok((pci, management)) => management.sample(pci),
            Err(reason) => Sample::missing(reason),
        };
        let mut missing = BTreeMap::new();
        let mut gaps = Gaps(&mut missing);
        let values = MonitorValues {
            slot_link: gaps.of("slot_link", slot),
            device_link: gaps.of("device_link", sample.device_link),
            pcie_rx_kb_per_s: gaps.of("pcie_rx_kb_per_s", sample.pcie_rx_kb_per_s),
            pcie_tx_kb_per_s: gaps.of("pcie_tx_kb_per_s", sample.pcie_tx_kb_per_s),
            pcie_replays: gaps.of("pcie_replays", sample.pcie_replays),
            ecc_corrected: gaps.of("ecc_corrected", sample.ecc_corrected),
            ecc_uncorrected: gaps.of("ecc_uncorrected", sample.ecc_uncorrected),
            row_remaps: gaps.of("row_remaps", sample.row_remaps),
            retired_pages: gaps.of("retired_pages", sample.retired_pages),
            sm_clock_mhz: gaps.of("sm_clock_mhz", sample.sm_clock_mhz),
            memory_clock_mhz: gaps.of("memory_clock_mhz", sample.memory_clock_mhz),
            power_w: gaps.of("power_w", sample.power_w),
            temperature_sensor: gaps.of("temperature_sensor", sample.temperature_sensor),
            temperature_c: gaps.of("temperature_c", sample.temperature_c),
            temperature_margin_c: gaps.of("temperature_margin_c", sample.temperature_margin_c),
            slowdown_c: gaps.of("slowdown_c", sample.slowdown_c),
            shutdown_c: gaps.of("shutdown_c", sample.shutdown_c),
            most_operating_c: gaps.of("most_operating_c", sample.most_operating_c),
            utilisation_percent: gaps.of("utilisation_percent", sample.utilisation_percent),
            memory_used_bytes: gaps.of("memory_used_bytes", sample.memory_used_bytes),
            throttle: gaps.of("throttle", sample.throttle),
        };
        Answer::Values(Box::new(values), missing)
    }
}

/// Collects why values are missing.
struct Gaps<'a>(&'a mut BTreeMap<String, String>);

impl Gaps<'_> {
    fn of<T>(&mut self, key: &str, answer: Result<T, String>) -> Option<T> {
        match answer {
            Ok(value) => Some(value),
            Err(reason) => {
                self.0.insert(key.to_owned(), reason);
                None
            }
        }
    }
}
