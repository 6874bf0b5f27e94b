//! The child that is one rank: opens its device and the collective library, joins, and does what the parent asks.

mod bench;
mod sums;

use std::path::Path;

use anyhow::bail;
use device::collectives::Collectives;
use device::cuda::Nccl;
use device::host::SharedMemory;
use inventory::Built;
use program::child::Line;

use crate::messages::{RankReply, RankRequest};
use bench::Bench;

/// The hidden subcommand.
pub(crate) const CHILD: &str = "__rank";

/// The library that a backend's collectives need and that is not loaded yet; `None` where they are there.
pub(crate) fn missing_library(backend: Built) -> Option<&'static str> {
    match backend {
        Built::Cuda | Built::Host => None,
        other => other.collective_library(),
    }
}

/// Does what the parent asks until it has no more to ask.
///
/// # Errors
/// The pipes broke, or a request was not understood or came out of turn; findings are answers, not errors.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut line: Line<RankRequest> = Line::open()?;
    match line.request()? {
        Some(RankRequest::Open {
            backend,
            ordinal,
            library,
        }) => match backend {
            Built::Cuda => serve::<Nccl>(line, ordinal, library.as_deref()),
            Built::Host => serve::<SharedMemory>(line, ordinal, library.as_deref()),
            _ => bail!("the {} backend has no collectives", backend.name()),
        },
        Some(other) => bail!("{other:?} came before the device was opened"),
        None => Ok(()),
    }
}

fn serve<C: Collectives>(
    mut line: Line<RankRequest>,
    ordinal: usize,
    library: Option<&Path>,
) -> anyhow::Result<()> {
    let (mut bench, opened) = match Bench::<C>::open(ordinal, library) {
        Ok(opened) => opened,
        Err(error) => {
            return line.send(&RankReply::Failed {
                reason: error.to_string(),
            });
        }
    };
    line.send(&opened)?;
    while let Some(request) = line.request()? {
        let mut pipe = Ok(());
        let mut say = |doing: &str| {
            if pipe.is_ok() {
                pipe = line.send(&RankReply::Doing {
                    doing: doing.to_owned(),
                });
            }
        };
        let reply = answer(&mut bench, request, &mut say);
        pipe?;
        line.send(&reply.unwrap_or_else(|error| RankReply::Failed {
            reason: error.to_string(),
        }))?;
    }
    Ok(())
}

fn answer<C: Collectives>(
    bench: &mut Bench<C>,
    request: RankRequest,
    say: &mut dyn FnMut(&str),
) -> device::Result<RankReply> {
    Ok(match request {
        RankRequest::Open { .. } => RankReply::Failed {
            reason: "it was asked to open a device twice".to_owned(),
        },
        RankRequest::MakeId => RankReply::Id {
            id: bench.unique_id()?,
        },
        RankRequest::Join { id, ranks, rank } => {
            bench.join(&id, ranks, rank)?;
            RankReply::Joined
        }
        RankRequest::Prepare { job } => RankReply::Prepared {
            verification: bench.prepare(job, say)?,
        },
        RankRequest::Time {
            mode,
            calls,
            samples,
        } => match bench.time(mode, calls, samples, say)? {
            Some(microseconds) => RankReply::Timed { microseconds },
            None => RankReply::NotThere {
                reason: format!("the {} backend has no graphs", bench.backend_name()),
            },
        },
        RankRequest::Check => RankReply::Checked {
            verification: bench.check(say)?,
        },
    })
}
