//! Known problems of ROCm and RCCL.
//!
//! "RCCL's changelog" is projects/rccl/CHANGELOG.md of ROCm/rocm-systems; an entry says in which release something was fixed, and mostly not
//! since when it was broken.

use topology::Fact;
use topology::vendor::AMD;

use super::{Problem, is_named, several};
use crate::{Facts, Verdict};

/// Names of GPUs of gfx942.
const GFX942: &[&str] = &["MI300", "MI308", "MI325"];

pub(super) const PROBLEMS: &[Problem] = &[
    Problem {
        code: "rocm-7-2-ll-hang",
        component: "ROCm",
        from: &[7, 2],
        below: Some(&[7, 3]),
        unless: Some(("RCCL", &[2, 28, 3])),
        on: |facts| several(facts, AMD, |id| [0x7550, 0x7551, 0x7590].contains(&id)),
        verdict: Verdict::Bad,
        avoided_by: Some(("NCCL_PROTO", "Simple")),
    },
    Problem {
        code: "rocm-7-2-1-rx7900",
        component: "ROCm",
        from: &[7, 2, 1],
        below: Some(&[7, 3]),
        unless: None,
        on: |facts| several(facts, AMD, |id| id == 0x744c),
        verdict: Verdict::Warn,
        avoided_by: None,
    },
    Problem {
        code: "rocm-6-3-mscclpp-inexact",
        component: "ROCm",
        from: &[6, 3],
        below: Some(&[6, 4, 1]),
        unless: None,
        on: |facts| is_named(facts, GFX942),
        verdict: Verdict::Warn,
        avoided_by: Some(("RCCL_MSCCLPP_ENABLE", "0")),
    },
    Problem {
        code: "rocm-6-4-proxy-hang",
        component: "ROCm",
        from: &[6, 4],
        below: Some(&[6, 4, 1]),
        unless: None,
        on: has_several,
        verdict: Verdict::Warn,
        avoided_by: None,
    },
    Problem {
        code: "rocm-6-4-1-split-crash",
        component: "ROCm",
        from: &[6, 4, 1],
        below: Some(&[7]),
        unless: None,
        on: has_several,
        verdict: Verdict::Warn,
        avoided_by: Some(("RCCL_MSCCL_ENABLE", "0")),
    },
    Problem {
        code: "rccl-scratch-reclaim",
        component: "RCCL",
        from: &[2, 26, 6],
        below: Some(&[2, 28, 3]),
        unless: Some(("HIP", &[6, 4])),
        on: |facts| match facts.version("HIP") {
            Some(_) => has_several(facts),
            None => Fact::Unknown("the HIP runtime does not say its version".to_owned()),
        },
        verdict: Verdict::Warn,
        avoided_by: Some(("HSA_NO_SCRATCH_RECLAIM", "1")),
    },
    Problem {
        code: "rccl-2-30-4-mi250-hang",
        component: "RCCL",
        from: &[2, 30, 4],
        below: Some(&[2, 30, 5]),
        unless: None,
        on: |facts| is_named(facts, &["MI210", "MI250"]),
        verdict: Verdict::Warn,
        avoided_by: Some(("NCCL_LAUNCH_ORDER_IMPLICIT", "1")),
    },
];

fn has_several(facts: &Facts) -> Fact<bool> {
    several(facts, AMD, |_| true)
}
