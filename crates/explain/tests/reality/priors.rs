//! The parts of a prediction against figures that others worked out by hand.

use crate::reality::pairs::{Case, Gpu, predicted};
use explain::{Level, PartName};

/// Qwen2.5-72B in FP8 on an RTX PRO 6000, 16 sequences: 58.5 ms of GEMMs by the tables of vLLM 0.19 and 49.2 ms by those of 0.24
/// (aiconfigurator rtx_pro_6000_server), and 1.6 ms of the output head.
#[test]
fn gemms_of_one_gpu_hold_what_published_kernels_take() {
    let case = Case::new(Gpu::RtxPro6000, "qwen2.5-72b-fp8", 1, 16, 89.0, 256.0);
    let one = predicted(&case, None);
    assert_eq!(one.level, Level::Roofline);
    let gemm = one.parts.iter().find(|part| part.name == PartName::Gemm);
    let gemm = gemm.unwrap().ms;
    assert!(gemm.low < 49.2 + 1.6 && gemm.high > 58.5 + 1.6, "{gemm:?}");
    // 72.7 GB of weights at 1792 GB/s are 40.6 ms: no draw is below.
    assert!(gemm.low > 40.6, "{gemm:?}");
}

#[test]
fn parts_are_there_for_several_and_sum_to_the_step() {
    let case = Case::new(Gpu::H200, "llama-3.1-8b", 2, 16, 512.0, 256.0);
    let two = predicted(&case, None);
    let names: Vec<PartName> = two.parts.iter().map(|part| part.name).collect();
    assert_eq!(
        names,
        [
            PartName::Gemm,
            PartName::Attention,
            PartName::Elementwise,
            PartName::Host,
            PartName::Executor,
            PartName::AllReduce,
            PartName::AllGather,
            PartName::Skew,
            PartName::LeftOut
        ]
    );
    // Medians of skewed parts do not add up exactly; a tenth is far more than they differ by.
    let sum: f64 = two.parts.iter().map(|part| part.ms.mid).sum();
    assert!(
        (sum / two.step.mid - 1.0).abs() < 0.1,
        "{sum} {:?}",
        two.step
    );
}
