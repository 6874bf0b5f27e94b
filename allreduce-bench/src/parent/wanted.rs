//! Which calls are measured: those of sizes given by hand, or those that the steps of a model issue.

use std::collections::BTreeSet;

use program::Stop;
use record::unit::ByteCount;
use record::{CollectiveKind, CollectivePath, ElementType, PlannedStep};
use tp_plan::{EngineFacts, ModelFacts, Surroundings, plan};

use crate::cli::{EngineArg, RunArgs, message_sizes};
use crate::messages::Job;

/// Sizes where neither `--sizes` nor `--model` says: from what a call costs at least up to where links are full.
const DEFAULT_SIZES: &str = "8..8M";

/// A call to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wanted {
    pub(super) kind: CollectiveKind,
    pub(super) element: ElementType,
    pub(super) bytes_per_rank: u64,
}

impl Wanted {
    /// What a rank is asked for it.
    pub(super) fn job(&self, verify: bool) -> Job {
        Job {
            kind: self.kind,
            element: self.element,
            bytes_per_rank: self.bytes_per_rank,
            verify,
        }
    }

    /// Host memory that all ranks take for it at most, in bytes: each has the host's copy of the larger of what it sends and gets;
    /// where a device's memory is host memory, also both of these, and as much again goes through the sockets of rank 0.
    pub(super) fn host_bytes(&self, ranks: u32, device_is_host: bool) -> u64 {
        let copies = if device_is_host { 4 } else { 1 };
        let parts = u64::from(self.kind.parts(ranks));
        [parts, copies, u64::from(ranks)]
            .into_iter()
            .fold(self.bytes_per_rank, u64::saturating_mul)
    }
}

/// The steps whose calls are wanted, and what was assumed on the way to them.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    pub(super) steps: Vec<PlannedStep>,
    pub(super) assumed: Vec<String>,
}

impl Steps {
    /// The steps that the command line asks for, of so many ranks.
    pub(super) fn of(
        args: &RunArgs,
        model: &ModelFacts,
        ranks: u32,
        surroundings: &Surroundings,
    ) -> Self {
        let engine = match args.engine {
            EngineArg::Vllm => EngineFacts::vllm(ranks, surroundings),
            EngineArg::Sglang => EngineFacts::sglang(ranks, surroundings),
        };
        let engine = if args.eager {
            engine.with_eager()
        } else {
            engine
        };
        let chunks = [None].into_iter().chain(args.prefill_chunk.map(Some));
        let steps = chunks
            .flat_map(|chunk| args.batches.iter().map(move |batch| (*batch, chunk)))
            .map(|(batch, chunk)| plan(model, &engine, batch, chunk))
            .collect();
        let assumed = model.assumed.iter().chain(&engine.assumed);
        Self {
            steps,
            assumed: assumed.cloned().collect(),
        }
    }

    /// Their calls, each once, in all the ways that the command line asks for.
    pub(super) fn wanted(&self, args: &RunArgs) -> Vec<Wanted> {
        let calls = self.steps.iter().flat_map(|step| &step.collectives);
        let calls: BTreeSet<_> = calls.map(|call| (call.kind, call.bytes_per_rank)).collect();
        in_all_ways(args, &calls.into_iter().collect::<Vec<_>>())
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

/// The operations and sizes given by hand, or the default ones.
pub(super) fn by_hand(args: &RunArgs) -> Result<Vec<Wanted>, Stop> {
    let sizes = match &args.sizes {
        Some(sizes) => sizes.clone(),
        None => message_sizes(DEFAULT_SIZES).map_err(Stop::Usage)?,
    };
    let kinds: BTreeSet<_> = args
        .ops
        .iter()
        .flat_map(|op| op.0.iter().copied())
        .collect();
    let calls: Vec<_> = kinds
        .into_iter()
        .flat_map(|kind| sizes.0.iter().map(move |size| (kind, size.0)))
        .collect();
    Ok(in_all_ways(args, &calls))
}

/// Calls with every type of the command line, each once: an operation's sizes follow each other.
fn in_all_ways(args: &RunArgs, calls: &[(CollectiveKind, u64)]) -> Vec<Wanted> {
    let mut wanted = BTreeSet::new();
    for (kind, bytes_per_rank) in calls.iter().copied() {
        for element in &args.dtype {
            wanted.insert(Wanted {
                kind,
                element: *element,
                bytes_per_rank,
            });
        }
    }
    wanted.into_iter().collect()
}

/// Refuses a call that cannot be made of whole elements.
pub(super) fn check_whole(wanted: &[Wanted]) -> Result<(), Stop> {
    let is_broken =
        |wanted: &&Wanted| !wanted.bytes_per_rank.is_multiple_of(wanted.element.bytes());
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
    use record::PlannedCollective;

    fn args(more: &[&str]) -> RunArgs {
        let line = RunArgs::augment_args(clap::Command::new("allreduce"));
        let matches = line.get_matches_from(["allreduce"].iter().chain(more));
        RunArgs::from_arg_matches(&matches).unwrap()
    }

    fn wanted(kind: CollectiveKind, element: ElementType, bytes_per_rank: u64) -> Wanted {
        Wanted {
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
        let one = by_hand(&args(&["--sizes", "8K,4K,8K"])).unwrap();
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
        let both = by_hand(&args(&[&["--sizes", "4K"], &more[..]].concat())).unwrap();
        assert_eq!(
            both,
            [
                wanted(AllReduce, F32, 4096),
                wanted(AllReduce, Bf16, 4096),
                wanted(AllGather, F32, 4096),
                wanted(AllGather, Bf16, 4096)
            ]
        );
        // 21 powers of two from 8 B to 8 MiB and 6 sizes between.
        assert_eq!(by_hand(&args(&[])).unwrap().len(), 27);
    }
}
