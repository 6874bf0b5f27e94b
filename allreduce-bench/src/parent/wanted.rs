//! Which calls are measured: those of sizes given by hand, or those that the steps of a model issue.

use std::collections::BTreeSet;

use measure::record::{CollectiveKind, CollectivePath, ElementType, PlannedStep};
use measure::unit::{ByteCount, parse_sizes};
use tp_plan::{EngineFacts, ModelFacts, Surroundings, plan};

use crate::cli::{EngineArg, RunArgs};

/// Sizes where neither `--sizes` nor `--model` says: what decoding sends, from one sequence on, up to where links are full.
const DEFAULT_SIZES: &str = "1K..8M";

/// A call to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wanted {
    pub(super) kind: CollectiveKind,
    pub(super) bytes_per_rank: u64,
}

impl Wanted {
    /// Host memory that all ranks take for it at most, in bytes: each has what it sends, the result, and the host's copy of the
    /// result; where a device's memory is host memory, all of these are, and as much again goes through the shared segment.
    pub(super) fn host_bytes(&self, ranks: u64, device_is_host: bool) -> u64 {
        let result = match self.kind {
            CollectiveKind::AllReduce => self.bytes_per_rank,
            CollectiveKind::AllGather => self.bytes_per_rank.saturating_mul(ranks),
        };
        let each = if device_is_host {
            self.bytes_per_rank
                .saturating_mul(2)
                .saturating_add(result.saturating_mul(2))
        } else {
            result
        };
        each.saturating_mul(ranks)
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

    /// Their calls, each once.
    pub(super) fn wanted(&self) -> Vec<Wanted> {
        let calls = self.steps.iter().flat_map(|step| &step.collectives);
        let wanted: BTreeSet<Wanted> = calls
            .map(|call| Wanted {
                kind: call.kind,
                bytes_per_rank: call.bytes_per_rank,
            })
            .collect();
        wanted.into_iter().collect()
    }

    /// What to say of calls that the engine does not leave to the library which is measured.
    pub(super) fn own_kernels(&self) -> Option<String> {
        let calls = self.steps.iter().flat_map(|step| &step.collectives);
        let largest = calls
            .filter(|call| call.path == CollectivePath::Custom)
            .map(|call| call.bytes_per_rank)
            .max()?;
        Some(format!(
            "the engine does all-reduces of up to {} here with a kernel of its own, which is not measured: the library's time \
             at these sizes is as a rule more than the engine's",
            ByteCount(largest)
        ))
    }
}

/// All-reduces of the sizes given by hand, or of the default ones.
pub(super) fn by_hand(args: &RunArgs) -> Result<Vec<Wanted>, String> {
    let sizes = match &args.sizes {
        Some(sizes) => sizes.0.clone(),
        None => parse_sizes(DEFAULT_SIZES).map_err(|error| error.to_string())?,
    };
    let sizes: BTreeSet<u64> = sizes.into_iter().map(|size| size.0).collect();
    let wanted = sizes.into_iter().map(|bytes_per_rank| Wanted {
        kind: CollectiveKind::AllReduce,
        bytes_per_rank,
    });
    Ok(wanted.collect())
}

/// Why a call cannot be made of whole elements.
pub(super) fn not_whole(wanted: &[Wanted], element: ElementType) -> Option<String> {
    let broken = wanted
        .iter()
        .find(|wanted| !wanted.bytes_per_rank.is_multiple_of(element.bytes()))?;
    Some(format!(
        "{} are not a whole number of {element} elements of {} B; use another --sizes or --dtype",
        ByteCount(broken.bytes_per_rank),
        element.bytes()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::record::PlannedCollective;

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
            .wanted()
            .iter()
            .map(|wanted| (wanted.kind, wanted.bytes_per_rank))
            .collect();
        assert_eq!(
            wanted,
            [(AllReduce, 256), (AllReduce, 512), (AllGather, 512)]
        );
        assert!(steps.own_kernels().unwrap().contains("up to 512 B"));
    }

    #[test]
    fn host_memory_is_counted_over_all_ranks() {
        let wanted = |kind| Wanted {
            kind,
            bytes_per_rank: 10,
        };
        // 2 ranks: a host copy of 10 each; on host memory 10 sent, 10 shared, 10 of result and 10 of copy each.
        let reduce = wanted(CollectiveKind::AllReduce);
        assert_eq!(
            (reduce.host_bytes(2, false), reduce.host_bytes(2, true)),
            (20, 80)
        );
        // A gather's result is 20: 20 each; 10 + 10 + 20 + 20 each.
        let gather = wanted(CollectiveKind::AllGather);
        assert_eq!(
            (gather.host_bytes(2, false), gather.host_bytes(2, true)),
            (40, 120)
        );
        assert_eq!(
            wanted(CollectiveKind::AllReduce).host_bytes(u64::MAX, true),
            u64::MAX
        );
    }

    #[test]
    fn a_size_that_is_no_whole_number_of_elements_is_named() {
        let wanted = [Wanted {
            kind: CollectiveKind::AllReduce,
            bytes_per_rank: 6,
        }];
        // 6 B are three elements of 2 B and one and a half of 4 B.
        assert_eq!(not_whole(&wanted, ElementType::Bf16), None);
        assert!(
            not_whole(&wanted, ElementType::F32)
                .unwrap()
                .contains("6 B")
        );
    }
}
