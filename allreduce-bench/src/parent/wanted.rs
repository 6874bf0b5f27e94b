//! Which calls are measured: those of sizes given by hand, or those that the steps of a model issue.

use std::collections::BTreeSet;

use program::Stop;
use record::unit::ByteCount;
use record::{CollectiveKind, CollectivePath, PlannedStep};
use tp_plan::{EngineFacts, ModelFacts, Surroundings, Vendor, plan};

use crate::cli::RunArgs;
use crate::messages::Job;
use crate::values::EngineArg;

/// The steps whose calls are wanted, and what was assumed on the way to them.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    pub(super) steps: Vec<PlannedStep>,
    pub(super) assumed: Vec<String>,
}

impl Steps {
    /// The steps that the command line asks for, of as many ranks as it says or as there are devices: a plan alone may be asked for
    /// of more.
    ///
    /// # Errors
    /// The model cannot be shared out among so many.
    pub(super) fn of(
        args: &RunArgs,
        model: &ModelFacts,
        devices: u32,
        around: &Surroundings,
    ) -> Result<Self, Stop> {
        let tp = args.tp.unwrap_or(devices);
        model
            .check_tp(tp)
            .map_err(|error| Stop::Usage(error.to_string()))?;
        let mut engine = match args.engine {
            EngineArg::Vllm => EngineFacts::vllm(tp, around),
            EngineArg::Sglang => EngineFacts::sglang(tp, around),
        };
        if args.eager {
            engine = engine.with_eager();
        }
        let chunks = [None].into_iter().chain(args.prefill_chunk.map(Some));
        let steps = chunks
            .flat_map(|chunk| args.batches.iter().map(move |batch| (*batch, chunk)))
            .map(|(batch, chunk)| plan(model, &engine, batch, chunk));
        let may_lack_links = around.vendor == Vendor::Nvidia && tp > 2;
        let assumed = model.assumed.iter().chain(&engine.assumed).cloned();
        let no_links = may_lack_links.then(|| "no NVLink between all pairs".to_owned());
        Ok(Self {
            steps: steps.collect(),
            assumed: assumed.chain(no_links).collect(),
        })
    }

    /// Their calls, each once, in all the ways that the command line asks for.
    pub(super) fn wanted(&self, args: &RunArgs) -> Vec<Job> {
        let calls = self.steps.iter().flat_map(|step| &step.collectives);
        in_all_ways(args, calls.map(|call| (call.kind, call.bytes_per_rank)))
    }

    /// The largest of the calls that the engine does not leave to the library which is measured.
    pub(super) fn own_kernels(&self) -> Option<ByteCount> {
        let calls = self.steps.iter().flat_map(|step| &step.collectives);
        calls
            .filter(|call| call.path == CollectivePath::Custom)
            .map(|call| ByteCount(call.bytes_per_rank))
            .max()
    }
}

/// Host memory that all ranks take for a call at most, in bytes: each has the host's copy of the larger of what it sends and gets;
/// where a device's memory is host memory, also both of these, and as much again goes through the sockets of rank 0.
pub(super) fn host_bytes(call: &Job, ranks: u32, device_is_host: bool) -> u64 {
    let copies = if device_is_host { 4 } else { 1 };
    let parts = u64::from(call.kind.parts(ranks));
    call.bytes_per_rank
        .saturating_mul(parts * copies * u64::from(ranks))
}

/// The operations and sizes given by hand, or the default ones.
pub(super) fn by_hand(args: &RunArgs) -> Vec<Job> {
    let of_kind = |kind| args.sizes.0.iter().map(move |size| (kind, size.0));
    in_all_ways(args, args.ops.iter().copied().flat_map(of_kind))
}

/// Calls with every type of the command line, each once: an operation's sizes follow each other.
fn in_all_ways(args: &RunArgs, calls: impl IntoIterator<Item = (CollectiveKind, u64)>) -> Vec<Job> {
    let of_type = |(kind, bytes_per_rank)| {
        args.dtype.iter().map(move |element| Job {
            kind,
            element: *element,
            bytes_per_rank,
        })
    };
    let wanted: BTreeSet<Job> = calls.into_iter().flat_map(of_type).collect();
    wanted.into_iter().collect()
}

/// Refuses a call that cannot be made of whole elements.
pub(super) fn check_whole(wanted: &[Job]) -> Result<(), Stop> {
    let is_broken = |wanted: &&Job| !wanted.bytes_per_rank.is_multiple_of(wanted.element.bytes());
    wanted.iter().find(is_broken).map_or(Ok(()), |broken| {
        Err(Stop::Usage(format!(
            "{} are not a whole number of {} elements of {} B; use another --sizes or --dtype",
            ByteCount(broken.bytes_per_rank),
            broken.element,
            broken.element.bytes()
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args as _, FromArgMatches as _};
    use record::ElementType;
    use record::PlannedCollective;

    fn args(more: &[&str]) -> RunArgs {
        let line = RunArgs::augment_args(clap::Command::new("allreduce"));
        let matches = line.get_matches_from(["allreduce"].iter().chain(more));
        RunArgs::from_arg_matches(&matches).unwrap()
    }

    fn wanted(kind: CollectiveKind, element: ElementType, bytes_per_rank: u64) -> Job {
        Job {
            kind,
            element,
            bytes_per_rank,
        }
    }

    fn call(kind: CollectiveKind, bytes_per_rank: u64, path: CollectivePath) -> PlannedCollective {
        PlannedCollective {
            kind,
            role: "test".to_owned(),
            count: 1,
            bytes_per_rank,
            path,
            rule: "test".to_owned(),
        }
    }

    fn steps(calls: &[&[PlannedCollective]]) -> Steps {
        let step = |collectives: &&[PlannedCollective]| PlannedStep {
            model: "test".to_owned(),
            engine: "test".to_owned(),
            tp: 2,
            batch: 1,
            padded_batch: 1,
            prefill_tokens: None,
            collectives: collectives.to_vec(),
        };
        Steps {
            steps: calls.iter().map(step).collect(),
            assumed: Vec::new(),
        }
    }

    #[test]
    fn each_call_of_all_steps_is_wanted_once() {
        use CollectiveKind::{AllGather, AllReduce};
        use CollectivePath::{Custom, Library};
        let steps = steps(&[
            &[call(AllReduce, 512, Custom), call(AllGather, 512, Library)],
            &[call(AllReduce, 256, Custom), call(AllReduce, 512, Custom)],
        ]);
        let wanted: Vec<_> = steps
            .wanted(&args(&[]))
            .iter()
            .map(|wanted| (wanted.kind, wanted.bytes_per_rank))
            .collect();
        assert_eq!(
            wanted,
            [(AllReduce, 256), (AllReduce, 512), (AllGather, 512)]
        );
        assert_eq!(steps.own_kernels(), Some(ByteCount(512)));
    }

    #[test]
    fn every_operation_and_type_is_measured_at_every_size_once() {
        use CollectiveKind::{AllGather, AllReduce};
        use ElementType::{Bf16, F32};
        let one = by_hand(&args(&["--sizes", "8K,4K,8K"]));
        assert_eq!(
            one,
            [wanted(AllReduce, Bf16, 4096), wanted(AllReduce, Bf16, 8192)]
        );
        let more = [
            "--ops",
            "all_gather,all_reduce,all_gather",
            "--dtype",
            "f32,bf16",
        ];
        let both = by_hand(&args(&[&["--sizes", "4K"], &more[..]].concat()));
        assert_eq!(
            both,
            [
                wanted(AllReduce, F32, 4096),
                wanted(AllReduce, Bf16, 4096),
                wanted(AllGather, F32, 4096),
                wanted(AllGather, Bf16, 4096)
            ]
        );
        // 21 powers of two from 8 B to 8 MiB.
        assert_eq!(by_hand(&args(&[])).len(), 21);
    }
}
