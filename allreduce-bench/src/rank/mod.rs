//! The child that is one rank: opens its device and the collective library, joins, and does what the parent asks.

mod bench;
mod gap;
mod sums;
#[cfg(test)]
mod tests;
mod timing;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::bail;
use device::VisitCollectives;
use device::collectives::Collectives;
use runner::child::Line;

use crate::messages::{RankReply, RankRequest};
use bench::Bench;
pub(crate) use sums::LARGEST;

/// The hidden subcommand.
pub(crate) const CHILD: &str = "__rank";

/// Variables by which libraries write of what they do. A named file is written line by line, where standard output would be kept
/// back until the process ends (NCCL's src/debug.cc).
const LOGS: [[(&str, &str); 3]; 2] = [
    [
        ("NCCL_DEBUG", "INFO"),
        ("NCCL_DEBUG_SUBSYS", "INIT,ENV,P2P,SHM,NET,TUNING"),
        ("NCCL_DEBUG_FILE", "/dev/stderr"),
    ],
    [
        ("MCCL_DEBUG", "INFO"),
        ("MCCL_DEBUG_SUBSYS", "INIT,ENV,P2P,SHM,NET,TUNING"),
        ("MCCL_DEBUG_FILE", "/dev/stderr"),
    ],
];

/// The variables of [`LOGS`] by which this process's environment asks for a log.
pub(crate) fn asked_to_log() -> impl Iterator<Item = &'static str> {
    let names = LOGS.iter().map(|[(name, _), ..]| *name);
    names.filter(|name| std::env::var_os(name).is_some())
}

/// What a rank's process sees besides this process's variables: those that ask for the library's log, or else keep it from writing
/// while it is timed, where warnings are enough.
pub(crate) fn environment(log: bool) -> Vec<(OsString, OsString)> {
    let pair = |(name, value): (&str, &str)| (name.into(), value.into());
    if log {
        return LOGS.into_iter().flatten().map(pair).collect();
    }
    asked_to_log().map(|name| pair((name, "WARN"))).collect()
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
        }) => backend.visit_collectives(Rank {
            line,
            ordinal,
            library,
        }),
        Some(other) => bail!("{other:?} came before the device was opened"),
        None => Ok(()),
    }
}

/// A rank whose device is not opened yet.
struct Rank {
    line: Line<RankRequest>,
    ordinal: usize,
    library: Option<PathBuf>,
}

impl VisitCollectives for Rank {
    type Output = anyhow::Result<()>;

    fn visit<C: Collectives>(self) -> anyhow::Result<()> {
        serve::<C>(self.line, self.ordinal, self.library.as_deref())
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
                reason: error.failure(),
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
            reason: error.failure(),
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
            reason: "it was asked to open a device twice".into(),
        },
        RankRequest::MakeId => RankReply::Id {
            id: bench.unique_id()?,
        },
        RankRequest::Join { id, ranks, rank } => {
            bench.join(&id, ranks, rank)?;
            RankReply::Joined
        }
        RankRequest::Prepare { job } => bench.prepare(job, say)?,
        RankRequest::Time {
            mode,
            calls,
            samples,
            gap_us,
        } => bench.time(mode, (calls, samples), gap_us, say)?,
        RankRequest::Check => RankReply::Checked {
            verification: bench.check(say)?,
        },
        RankRequest::Describe => RankReply::NotThere {
            reason: "a library is described when it is opened".into(),
        },
    })
}
