//! What is known of the box as far as it decides how an engine communicates.

use std::time::Duration;

use inventory::{Built, Found};
use program::Stop;
use runner::child::{SHORT_LADDER, last_line, start};
use runner::{Event, Interrupt};
use tp_plan::{Surroundings, Vendor};

use crate::messages::{PeersReply, PeersRequest};
use crate::peers;

/// What decides the paths between these devices, as the driver says; a driver that is silent for `deadline` says nothing. `apart`
/// says why no one process can ask about all of them.
pub(super) fn surroundings(
    backend: Built,
    found: &[Found],
    apart: Option<String>,
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
            Some(reason) => Err(reason),
            None => ask(backend, found, deadline, interrupt)?,
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

/// What the plan rests on beyond what was read.
pub(super) fn assumed(surroundings: &Surroundings, ranks: u32) -> Option<String> {
    (surroundings.vendor == Vendor::Nvidia && ranks > 2)
        .then(|| "no NVLink between all pairs".to_owned())
}

fn ask(
    backend: Built,
    found: &[Found],
    deadline: Duration,
    interrupt: &Interrupt,
) -> Result<Result<bool, String>, Stop> {
    let mut child = start(peers::CHILD, peers::CHILD)?;
    let request = PeersRequest {
        backend,
        ordinals: found.iter().map(|device| device.ordinal).collect(),
    };
    child.send(&request).map_err(anyhow::Error::from)?;
    let told = match child.next::<PeersReply>(deadline, interrupt) {
        Event::Message(PeersReply::Told { every_pair }) => Ok(every_pair),
        Event::Message(PeersReply::NotTold { reason }) => Err(reason),
        Event::Interrupted(signal) => {
            child.end(SHORT_LADDER);
            return Err(Stop::Interrupted(signal));
        }
        Event::Silent { waited } => Err(format!("no answer within {} s", waited.as_secs())),
        Event::Exited(status) => Err(format!(
            "it ended with {status}: {}",
            last_line(&child.tail())
        )),
        Event::Garbled { error, .. } => Err(error),
    };
    child.end(SHORT_LADDER);
    Ok(told)
}
