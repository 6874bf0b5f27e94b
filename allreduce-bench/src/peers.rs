//! The child that asks the driver whether devices reach each other's memory.
//!
//! It is a process of its own and ends before the ranks start: to ask, it opens all devices, and a rank has only its own. It
//! copies nothing: that a driver says so is no proof, which is what `tplens p2p` is for.

use device::{Backend, Device, Visit};
use runner::child::Line;

use crate::messages::{PeersReply, PeersRequest};

/// The hidden subcommand.
pub(crate) const CHILD: &str = "__peers";

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
