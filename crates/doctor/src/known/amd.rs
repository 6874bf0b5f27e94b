//! Known problems of ROCm and RCCL.
//!
//! "RCCL's changelog" is projects/rccl/CHANGELOG.md of ROCm/rocm-systems; an entry says in which release something was mended, and mostly not
//! since when it was broken.

use topology::Fact;
use topology::vendor::AMD;

use super::{Problem, is_named, several};
use crate::{Facts, Verdict};

/// Names of GPUs of gfx942.
const GFX942: &[&str] = &["MI300", "MI308", "MI325"];

pub(super) const PROBLEMS: &[Problem] = &[
    Problem {
        component: "ROCm",
        from: &[7, 2],
        below: Some(&[7, 3]),
        unless: Some(("RCCL", &[2, 28, 3])),
        on: |facts| several(facts, AMD, |id| [0x7550, 0x7551, 0x7590].contains(&id)),
        verdict: Verdict::Bad,
        what: "RCCL of ROCm 7.2 chooses the protocol LL on gfx12 without the memory ordering that it needs there: all-reduces of two \
               and more GPUs hang with the GPUs at 100 %",
        source: "ROCm/rocm-systems#5480, vllm-project/vllm#40980",
        avoided_by: Some(("NCCL_PROTO", "Simple")),
        todo: "export NCCL_PROTO=Simple, or use RCCL 2.28.3 or newer",
    },
    Problem {
        component: "ROCm",
        from: &[7, 2, 1],
        below: Some(&[7, 3]),
        unless: None,
        on: |facts| several(facts, AMD, |id| id == 0x744c),
        verdict: Verdict::Warn,
        what: "collectives of two Radeon RX 7900 XTX were reported to fail with RCCL 2.27.7 of ROCm 7.2.1, and not with ROCm 7.2.0",
        source: "ROCm/legacy-rocm-build#6074",
        avoided_by: None,
        todo: "try them with a deadline: allreduce-bench --backend hip",
    },
    Problem {
        component: "ROCm",
        from: &[6, 3],
        below: Some(&[6, 4, 1]),
        unless: None,
        on: |facts| is_named(facts, GFX942),
        verdict: Verdict::Warn,
        what: "the all-reduce of MSCCL++, which came with ROCm 6.3 for gfx942, gave inexact results in graphs until ROCm 6.4.1",
        source: "RCCL's changelog, 2.22.3 for ROCm 6.4.1",
        avoided_by: Some(("RCCL_MSCCLPP_ENABLE", "0")),
        todo: "use ROCm 6.4.1 or newer, or export RCCL_MSCCLPP_ENABLE=0",
    },
    Problem {
        component: "ROCm",
        from: &[6, 4],
        below: Some(&[6, 4, 1]),
        unless: None,
        on: has_several,
        verdict: Verdict::Warn,
        what: "RCCL could stop responding, rarely, because its proxy threads were not in step; ROCm 6.4.1 mends it",
        source: "RCCL's changelog, 2.22.3 for ROCm 6.4.1",
        avoided_by: None,
        todo: "use ROCm 6.4.1 or newer",
    },
    Problem {
        component: "ROCm",
        from: &[6, 4, 1],
        below: Some(&[7]),
        unless: None,
        on: has_several,
        verdict: Verdict::Warn,
        what: "splitting a communicator, as engines do for groups of ranks, can crash on some GPUs while MSCCL is set up",
        source: "RCCL's changelog, 2.22.3 for ROCm 6.4.1 and 2.26.6 for ROCm 7.0.0",
        avoided_by: Some(("RCCL_MSCCL_ENABLE", "0")),
        todo: "export RCCL_MSCCL_ENABLE=0, or use ROCm 7.0 or newer",
    },
    Problem {
        component: "RCCL",
        from: &[2, 26, 6],
        below: Some(&[2, 28, 3]),
        unless: Some(("HIP", &[6, 4])),
        on: |facts| match facts.version("HIP") {
            Some(_) => has_several(facts),
            None => Fact::Unknown("the HIP runtime does not say its version".to_owned()),
        },
        verdict: Verdict::Warn,
        what: "this RCCL needs HSA_NO_SCRATCH_RECLAIM=1 with a ROCm before 6.4.0",
        source: "RCCL's changelog, known issues of 2.26.6 and 2.27.7",
        avoided_by: Some(("HSA_NO_SCRATCH_RECLAIM", "1")),
        todo: "export HSA_NO_SCRATCH_RECLAIM=1, or use ROCm 6.4 or newer",
    },
    Problem {
        component: "RCCL",
        from: &[2, 30, 4],
        below: Some(&[2, 30, 5]),
        unless: None,
        on: |facts| is_named(facts, &["MI210", "MI250"]),
        verdict: Verdict::Warn,
        what: "processes that use two or three communicators at once, as sharded training with tensor parallelism does, hung in half of \
               all runs and more on MI250",
        source: "ROCm/rccl#2191",
        avoided_by: Some(("NCCL_LAUNCH_ORDER_IMPLICIT", "1")),
        todo: "export NCCL_LAUNCH_ORDER_IMPLICIT=1, which helped with two communicators and not with three",
    },
];

fn has_several(facts: &Facts) -> Fact<bool> {
    several(facts, AMD, |_| true)
}
