//! The child that reads link states when the parent asks, while copies run in another process.
//!
//! The management library and the PCI configuration space can both block on a failing device; then only this child does.

use anyhow::Result;
use device::management::Management;
use inventory::Built;
use program::child::Line;
use topology::{Machine, SlotPath, Sysfs};

use crate::messages::{MonitorReading, MonitorReply, MonitorRequest};

pub(super) fn run(mut line: Line<MonitorRequest>) -> Result<()> {
    let mut watch = None;
    while let Some(request) = line.request()? {
        match (request, &watch) {
            (
                MonitorRequest::Watch {
                    backend,
                    sysfs,
                    devices,
                },
                _,
            ) => {
                watch = Some(Watch::new(backend, Sysfs::at(sysfs), &devices));
            }
            (MonitorRequest::Read { ticket, devices }, Some(watch)) => {
                let read = |device: usize| Some((device, watch.devices.get(device)?.read(watch)));
                line.send(&MonitorReply {
                    ticket,
                    readings: devices.into_iter().filter_map(read).collect(),
                })?;
            }
            (MonitorRequest::Read { ticket, .. }, None) => {
                line.send(&MonitorReply {
                    ticket,
                    readings: Vec::new(),
                })?;
            }
        }
    }
    Ok(())
}

struct Watch {
    sysfs: Sysfs,
    management: Result<Box<dyn Management>, String>,
    devices: Vec<Watched>,
}

/// One device: how the library names it, and the links between slot and card.
struct Watched {
    pci: Option<String>,
    path: Result<SlotPath, String>,
}

impl Watch {
    fn new(backend: Built, sysfs: Sysfs, devices: &[Option<String>]) -> Self {
        let management = backend.managed().map_or_else(
            || {
                Err(format!(
                    "nothing tells links of the {} backend",
                    backend.name()
                ))
            },
            |managed| (managed.open)(&sysfs),
        );
        let machine = Machine::read(&sysfs).map_err(|error| error.to_string());
        let watched = |pci: &Option<String>| {
            let machine = machine.as_ref().map_err(Clone::clone);
            Watched {
                pci: pci.clone(),
                path: machine.and_then(|machine| machine.slot_path_of(pci.as_deref())),
            }
        };
        let devices = devices.iter().map(watched).collect();
        Self {
            sysfs,
            management,
            devices,
        }
    }
}

impl Watched {
    fn read(&self, watch: &Watch) -> MonitorReading {
        let device = match (&watch.management, &self.pci) {
            (Ok(management), Some(pci)) => management.link(pci).map(|link| link.current),
            (Err(reason), _) => Err(reason.clone()),
            (_, None) => Err("the device has no PCI address".to_owned()),
        };
        let slot = self
            .path
            .clone()
            .and_then(|path| path.read(&watch.sysfs).map_err(|error| error.to_string()));
        let card = self.path.as_ref().ok();
        MonitorReading {
            device,
            card: card.and_then(|path| path.card_link(&watch.sysfs)),
            slot_maximum: slot.as_ref().ok().and_then(|link| link.maximum),
            slot: slot.map(|link| link.current),
        }
    }
}
