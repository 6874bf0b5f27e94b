//! The child that reads devices when the parent asks, one thread for each, so that one that blocks holds up no other.
//!
//! Management libraries and the PCI configuration space can block on a failing device; then only a thread of this child does.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use device::Built;
use device::management::{Management, Sample};
use measure::record::MonitorValues;
use supervisor::child::{self, Inbox, Outbox};
use topology::{Machine, SlotPath, Sysfs};

use super::messages::{SamplerReply, SamplerRequest};

/// Answers the parent until it has no more to ask.
///
/// # Errors
/// The pipes broke, or a request was not understood; what cannot be read is an answer, not an error.
pub(crate) fn run() -> Result<()> {
    child::die_with_parent(child::expected_parent()?)?;
    let outbox = Arc::new(Mutex::new(Outbox::claim()?));
    let requests: Inbox<SamplerRequest> = child::inbox()?;
    let mut readers: Vec<Sender<()>> = Vec::new();
    for request in requests {
        match request.context("reading a request")? {
            SamplerRequest::Watch {
                backend,
                sysfs,
                devices,
            } => readers = start(backend, &sysfs, &devices, &outbox)?,
            SamplerRequest::Read { device } => {
                // A reader that ended has said why on standard error; the parent sees that nothing comes.
                let _ = readers.get(device).map(|reader| reader.send(()));
            }
        }
    }
    Ok(())
}

/// Starts a thread for each device.
fn start(
    backend: Built,
    root: &Path,
    devices: &[Option<String>],
    outbox: &Arc<Mutex<Outbox>>,
) -> Result<Vec<Sender<()>>> {
    let sysfs = Sysfs::at(root);
    let machine = Machine::read(&sysfs).map_err(|error| error.to_string());
    let mut readers = Vec::new();
    for (device, pci) in devices.iter().enumerate() {
        let machine = machine.as_ref().map_err(Clone::clone);
        let reader = Reader {
            device,
            slot: machine.and_then(|machine| machine.slot_path_of(pci.as_deref())),
            pci: pci.clone(),
            sysfs: sysfs.clone(),
            backend,
        };
        let (asked, requests) = channel();
        let outbox = Arc::clone(outbox);
        thread::Builder::new()
            .name(format!("device{device}"))
            .spawn(move || reader.answer(&requests, &outbox))
            .context("starting a reader")?;
        readers.push(asked);
    }
    Ok(readers)
}

fn address(pci: &Option<String>) -> Result<&str, String> {
    let none = || "the device has no PCI address".to_owned();
    pci.as_deref().ok_or_else(none)
}

/// What reads one device.
struct Reader {
    device: usize,
    pci: Option<String>,
    slot: Result<SlotPath, String>,
    sysfs: Sysfs,
    backend: Built,
}

impl Reader {
    /// Answers until the parent is done, or gone.
    fn answer(&self, requests: &Receiver<()>, outbox: &Mutex<Outbox>) {
        let management = self.open();
        for () in requests {
            let reply = self.read(management.as_deref());
            let mut outbox = outbox.lock().unwrap_or_else(PoisonError::into_inner);
            if outbox.send(&reply).is_err() {
                return;
            }
        }
    }

    /// Opens what tells of the device, for this thread alone.
    fn open(&self) -> Result<Box<dyn Management>, String> {
        let managed = self.backend.managed();
        let nobody = || {
            format!(
                "nothing tells such values of the {} backend",
                self.backend.name()
            )
        };
        let managed = managed.ok_or_else(nobody)?;
        (managed.open)(&self.sysfs)
    }

    fn read(&self, management: Result<&dyn Management, &String>) -> SamplerReply {
        let slot = self.slot.clone().and_then(|path| {
            let link = path.sample(&self.sysfs);
            link.map_err(|error| error.to_string())
        });
        let sample = match (address(&self.pci), management) {
            (Ok(pci), Ok(management)) => management.sample(pci),
            (Err(reason), _) => Sample::missing(&reason),
            (_, Err(reason)) => Sample::missing(reason),
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
        SamplerReply {
            device: self.device,
            values: Box::new(values),
            missing,
        }
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
