//! What is known of the box as far as it decides how an engine communicates.

use std::time::Duration;

use inventory::{Built, Found};
use program::Stop;
use runner::Interrupt;
use tp_plan::{Surroundings, Vendor};

use crate::messages::{PeersReply, PeersRequest};
use crate::peers;

/// What decides the paths between these devices, as the driver says; a driver that is silent for `deadline` says nothing. `apart`
/// says why no one process can ask about all of them.
pub(super) fn surroundings(
    backend: Built,
    found: &[Found],
    apart: Option<&str>,
    deadline: Duration,
    interrupt: &Interrupt,
) -> Result<Surroundings, Stop> {
    let mig = found.iter().any(|device| device.mig.is_some());
    let names: Vec<&str> = found.iter().map(|device| device.name.as_str()).collect();
    let memory = found.iter().filter_map(|device| device.memory_bytes).min();
    let vendor = Vendor::of(backend.name());
    let told = match backend {
        Built::Host => Err(String::new()),
        _ if mig => Err(String::new()),
        _ => match apart {
            Some(reason) => Err(reason.to_owned()),
            None => {
                let request = PeersRequest {
                    backend,
                    ordinals: found.iter().map(|device| device.ordinal).collect(),
                };
                program::ask(peers::CHILD, &request, deadline, interrupt)?
                    .and_then(|told: PeersReply| told)
            }
        },
    };
    let access = told.as_ref().ok().copied();
    let mut around = Surroundings::of_gpus(vendor, &names, memory, mig, access);
    match told {
        Err(reason) if !reason.is_empty() => {
            around.no_peer_reason = format!("the driver was asked in vain: {reason}");
        }
        _ if backend == Built::Host => {
            around.no_peer_reason = "host memory has no peers".to_owned();
        }
        _ => {}
    }
    Ok(around)
}
