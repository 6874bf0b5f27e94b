//! Reservations about the devices, whatever is measured on them.

use measure::caveat::Caveat;
use measure::record::LinkDevice;

use crate::choose::Chosen;
use crate::messages::Found;

/// More than this in use without a process counts as somebody else's: drivers keep less for themselves.
const BUSY_BYTES: u64 = 256 << 20;

/// Devices that others use.
pub fn busy(devices: &[LinkDevice]) -> impl Iterator<Item = Caveat> {
    devices.iter().filter_map(|device| {
        let busy = device.busy.as_ref()?;
        let in_use = busy.used_bytes > BUSY_BYTES || !busy.processes.is_empty();
        in_use.then(|| Caveat::DeviceBusy {
            device: device.label.clone(),
            used_mib: busy.used_bytes >> 20,
            processes: busy.processes.iter().map(of_whom).collect(),
        })
    })
}

/// A process, and that it is none of this machine where a soft box made it up.
fn of_whom(process: &String) -> String {
    match program::sim::box_name() {
        Some(_) => format!("{process} of the soft box"),
        None => process.clone(),
    }
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
    Some(Caveat::Note {
        text: said.join("; ").replace(":;", ":"),
    })
}

/// Devices of the host backend that share a CPU.
#[must_use]
pub fn shared_cpus(found: &[Found], devices: &[LinkDevice]) -> Vec<Caveat> {
    let mut cpus: Vec<usize> = found.iter().filter_map(|device| device.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let on = |cpu: usize| -> Vec<String> {
        let pairs = found
            .iter()
            .zip(devices)
            .filter(|(found, _)| found.cpu == Some(cpu));
        pairs.map(|(_, device)| device.label.clone()).collect()
    };
    let shared = cpus
        .into_iter()
        .map(|cpu| (cpu, on(cpu)))
        .filter(|(_, devices)| devices.len() > 1);
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
    (listed > seen).then(|| Caveat::Note {
        text: format!(
            "the management library lists {listed} MIG instances and the driver shows {seen} to one process: drivers \
             before R570 show one; set CUDA_VISIBLE_DEVICES to the UUID of the instance to measure"
        ),
    })
}

/// Why it is not known who else uses the devices.
#[must_use]
pub fn unmanaged(chosen: &Chosen) -> Option<Caveat> {
    let reason = chosen.inventory.unmanaged.as_ref()?;
    let managed = chosen.backend.managed();
    let tool = managed.map_or("the vendor's tool", |managed| managed.tool);
    Some(Caveat::Note {
        text: format!("who else uses the devices is not known: {reason}; check with {tool}"),
    })
}
