//! Caveats about the devices, whatever is measured on them.

use std::collections::BTreeMap;

use record::LinkDevice;
use record::caveat::{Caveat, Condition};

use crate::choose::Chosen;
use crate::messages::Found;

/// More than this in use without a process counts as somebody else's: drivers keep less for themselves.
const BUSY_BYTES: u64 = 256 << 20;

/// Devices that others use.
pub fn busy(devices: &[LinkDevice]) -> impl Iterator<Item = Caveat> {
    // A process of a simulated machine is none of this one.
    let whose = match program::sim::box_name() {
        Some(_) => " (simulated)",
        None => "",
    };
    let named = move |process: &String| format!("{process}{whose}");
    devices.iter().filter_map(move |device| {
        let busy = device.busy.as_ref()?;
        let in_use = busy.used_bytes > BUSY_BYTES || !busy.processes.is_empty();
        in_use.then(|| Caveat::DeviceBusy {
            device: device.label.clone(),
            used_mib: busy.used_bytes >> 20,
            processes: busy.processes.iter().map(named).collect(),
        })
    })
}

/// What was said when the backend was chosen.
#[must_use]
pub fn said(chosen: &Chosen) -> Option<Caveat> {
    if !chosen.absent.is_empty() {
        let reasons = chosen.absent.clone();
        return Some(Caveat::NoDriver { reasons });
    }
    if chosen.said.is_empty() {
        return None;
    }
    let said: Vec<&str> = chosen.said.iter().map(|line| line.trim()).collect();
    Some(Condition::BackendSaid.with(said.join("; ").replace(":;", ":")))
}

/// Devices of the host backend that share a CPU.
#[must_use]
pub fn shared_cpus(found: &[Found], devices: &[LinkDevice]) -> Vec<Caveat> {
    let mut on: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (found, device) in found.iter().zip(devices) {
        if let Some(cpu) = found.cpu {
            on.entry(cpu).or_default().push(device.label.clone());
        }
    }
    on.retain(|_, devices| devices.len() > 1);
    let shared = on.into_iter();
    shared
        .map(|(cpu, devices)| Caveat::SharedCpu { devices, cpu })
        .collect()
}

/// MIG instances that the driver does not show to one process.
#[must_use]
pub fn hidden_mig(chosen: &Chosen) -> Option<Caveat> {
    let listed = chosen.inventory.mig_listed.len();
    let devices = chosen.inventory.devices.iter();
    let seen = devices.filter(|device| device.mig.is_some()).count();
    (listed > seen).then(|| Condition::MigHidden.with(format!("{seen} of {listed}")))
}

/// Why it is not known who else uses the devices.
#[must_use]
pub fn unmanaged(chosen: &Chosen) -> Option<Caveat> {
    let reason = chosen.inventory.unmanaged.as_ref()?;
    let managed = chosen.backend.managed();
    let tool = managed.map_or("the vendor's tool", |managed| managed.tool);
    Some(Condition::UsersUnknown.with(format!("{reason}; {tool}")))
}
