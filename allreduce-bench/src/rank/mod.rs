//! The child that is one rank: opens its device and the collective library, joins, and does what the parent asks.

mod bench;
mod gap;
mod sums;
#[cfg(test)]
mod tests;
mod timing;

use std::ffi::OsString;

use anyhow::bail;
use device::VisitCollectives;
use device::collectives::Collectives;
use inventory::Found;
use runner::child::Line;

use crate::messages::{Open, RankReply, RankRequest};
use bench::Bench;
pub(crate) use sums::LARGEST;

/// The hidden subcommand.
pub(crate) const CHILD: &str = "__rank";

/// Variables by which libraries write of what they do, the first of each being that which switches it on. A named file is written
/// line by line, where standard output would be kept back until the process ends (NCCL's src/debug.cc).
const LOGS: [[&str; 3]; 2] = [
    ["NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"],
    ["MCCL_DEBUG", "MCCL_DEBUG_SUBSYS", "MCCL_DEBUG_FILE"],
];

/// What asks for everything that is read of the transport.
const ASKED: [&str; 3] = ["INFO", "INIT,ENV,P2P,SHM,NET,TUNING", "/dev/stderr"];

/// The variables of [`LOGS`] by which this process's environment asks for a log.
pub(crate) fn asked_to_log() -> impl Iterator<Item = &'static str> {
    let names = LOGS.iter().map(|[name, ..]| *name);
    names.filter(|name| std::env::var_os(name).is_some())
}

/// What a rank's process sees besides this process's variables: those that ask for the library's log, or else keep it from writing
/// while it is timed, where warnings are enough.
pub(crate) fn environment(log: bool) -> Vec<(OsString, OsString)> {
    let pair = |(name, value): (&str, &str)| (name.into(), value.into());
    if log {
        let all = LOGS
            .into_iter()
            .flat_map(|names| names.into_iter().zip(ASKED));
        return all.map(pair).collect();
    }
    asked_to_log().map(|name| pair((name, "WARN"))).collect()
}

/// Lets several ranks of a communicator be on one GPU.
const MULTI_RANK: &str = "NCCL_MULTI_RANK_GPU_ENABLE";

/// The number that a rank's device has in its process, and what the process sees besides the variables that all have.
pub(crate) type Place = (usize, Vec<(OsString, OsString)>);

/// Where the ranks on these devices find them.
///
/// A process sees one MIG instance before R570, so that each rank is shown its own; ranks on instances of one GPU are refused by
/// NCCL without a variable (2.30 and newer, `init.cc`). Ranks of a launcher have its variables.
pub(crate) fn places(found: &[Found], by_launcher: bool) -> Vec<Place> {
    let parent = |device: &Found| device.mig.as_ref()?.parent_uuid.clone();
    let place = |device: &Found| {
        let Some(uuid) = device.instance().filter(|_| !by_launcher) else {
            return (device.ordinal, Vec::new());
        };
        let mut environment = vec![("CUDA_VISIBLE_DEVICES".into(), uuid.into())];
        let on_its_gpu = found.iter().filter(|other| parent(other) == parent(device));
        if parent(device).is_some() && on_its_gpu.count() > 1 {
            environment.push((MULTI_RANK.into(), "1".into()));
        }
        (0, environment)
    };
    found.iter().map(place).collect()
}

/// Does what the parent asks until it has no more to ask.
///
/// # Errors
/// The pipes broke, or a request was not understood or came out of turn; findings are answers, not errors.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut line: Line<RankRequest> = Line::open()?;
    match line.request()? {
        Some(RankRequest::Open(open)) => open.backend.visit_collectives(Rank { line, open }),
        Some(other) => bail!("{other:?} came before the device was opened"),
        None => Ok(()),
    }
}

/// A rank whose device is not opened yet.
struct Rank {
    line: Line<RankRequest>,
    open: Open,
}

impl VisitCollectives for Rank {
    type Output = anyhow::Result<()>;

    fn visit<C: Collectives>(self) -> anyhow::Result<()> {
        let mut line = self.line;
        let failed = |error: device::DeviceError| RankReply::Failed {
            reason: error.failure(),
        };
        let (mut bench, opened) = match Bench::<C>::open(&self.open) {
            Ok(opened) => opened,
            Err(error) => return line.send(&failed(error)),
        };
        line.send(&RankReply::Opened(opened))?;
        while let Some(request) = line.request()? {
            let mut pipe = Ok(());
            let mut say = |doing: &str| {
                if pipe.is_ok() {
                    let doing = doing.to_owned();
                    pipe = line.send(&RankReply::Doing { doing });
                }
            };
            let reply = bench.answer(request, &mut say);
            pipe?;
            line.send(&reply.unwrap_or_else(failed))?;
        }
        Ok(())
    }
}
