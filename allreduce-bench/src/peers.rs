//! What is known of the box as far as it decides how an engine communicates, and the child that asks the driver whether devices
//! reach each other's memory.
//!
//! It is a process of its own and ends before the ranks start: to ask, it opens all devices, and a rank has only its own. It
//! copies nothing: that a driver says so is no proof, which is what `tplens p2p` is for.

use std::time::Duration;

use device::{Backend, Device, Visit};
use inventory::{Built, Found, OPENING_STEPS};
use program::Stop;
use runner::Interrupt;
use runner::child::Line;
use serde::{Deserialize, Serialize};
use tp_plan::{Surroundings, Vendor};

/// The hidden subcommand.
pub(crate) const CHILD: &str = "__peers";

/// Asks whether devices reach each other's memory.
#[derive(Debug, Serialize, Deserialize)]
struct PeersRequest {
    backend: Built,
    /// The backend's indexes.
    ordinals: Vec<usize>,
}

/// Whether every device reaches every other, as the driver says; or why it does not say.
type PeersReply = Result<bool, String>;

/// What decides the paths between these devices, as the driver says; a driver that is silent for `deadline` says nothing. `apart`
/// says why no one process can ask about all of them.
pub(crate) fn surroundings(
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
                program::ask(CHILD, &request, deadline * OPENING_STEPS, interrupt)?
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

/// Asks the driver and answers the parent, once.
///
/// # Errors
/// The pipes broke, or the request was not understood.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut line: Line<PeersRequest> = Line::open()?;
    let Some(PeersRequest { backend, ordinals }) = line.request()? else {
        return Ok(());
    };
    let told = backend.visit(EveryPair(&ordinals));
    let told: PeersReply = told.map_err(|error| error.to_string());
    line.send(&told)
}

/// The question, for whichever backend is meant.
struct EveryPair<'a>(&'a [usize]);

impl Visit for EveryPair<'_> {
    type Output = device::Result<bool>;

    fn visit<B: Backend>(self) -> device::Result<bool> {
        every_pair::<B>(self.0)
    }
}

fn every_pair<B: Backend>(ordinals: &[usize]) -> device::Result<bool> {
    let backend = B::open()?;
    let devices = ordinals
        .iter()
        .map(|ordinal| backend.device(*ordinal))
        .collect::<device::Result<Vec<_>>>()?;
    for one in &devices {
        for other in devices
            .iter()
            .filter(|other| other.ordinal() != one.ordinal())
        {
            if !one.can_access_peer(other)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
