//! All-reduces of TensorRT-LLM, which are not vLLM's.

use measure::import::CurvePoint;
use measure::record::{CallMode, CollectiveKind};

use crate::pairs::Gpu;

/// GPU, GPUs, and KiB of a message with its us: github.com/ai-dynamo/aiconfigurator 095f58a, systems/data, `custom_allreduce_perf` of
/// TensorRT-LLM 1.3.0rc20, bf16. FlashInfer's all-reduce with a norm in it, which vLLM can use, is the same kernel.
#[rustfmt::skip]
const TIMES: [(Gpu, u32, [(u64, f64); 11]); 9] = [
    (Gpu::H100, 2, [(8, 2.80), (16, 2.85), (32, 2.92), (64, 3.06), (128, 3.29), (256, 3.76), (512, 4.52), (1024, 6.10), (2048, 9.41), (4096, 17.13), (8192, 37.52)]),
    (Gpu::H100, 4, [(8, 3.14), (16, 3.27), (32, 3.44), (64, 3.68), (128, 4.26), (256, 5.48), (512, 7.92), (1024, 12.91), (2048, 26.13), (4096, 39.74), (8192, 63.75)]),
    (Gpu::H100, 8, [(8, 3.54), (16, 3.56), (32, 3.84), (64, 4.59), (128, 6.20), (256, 10.17), (512, 17.60), (1024, 25.96), (2048, 35.49), (4096, 51.90), (8192, 79.43)]),
    (Gpu::H200, 2, [(8, 2.80), (16, 2.83), (32, 2.84), (64, 2.95), (128, 3.14), (256, 3.59), (512, 4.34), (1024, 5.99), (2048, 9.17), (4096, 16.57), (8192, 34.35)]),
    (Gpu::H200, 4, [(8, 3.18), (16, 3.21), (32, 3.32), (64, 3.61), (128, 4.18), (256, 5.43), (512, 7.73), (1024, 12.85), (2048, 21.93), (4096, 35.94), (8192, 57.75)]),
    (Gpu::H200, 8, [(8, 3.50), (16, 3.49), (32, 3.90), (64, 4.58), (128, 6.39), (256, 10.11), (512, 17.78), (1024, 25.74), (2048, 30.50), (4096, 47.47), (8192, 76.69)]),
    (Gpu::B200, 2, [(8, 4.78), (16, 5.22), (32, 5.19), (64, 5.15), (128, 5.14), (256, 4.99), (512, 5.38), (1024, 6.42), (2048, 8.02), (4096, 11.91), (8192, 20.78)]),
    (Gpu::B200, 4, [(8, 5.07), (16, 5.52), (32, 5.43), (64, 5.39), (128, 5.36), (256, 5.79), (512, 7.15), (1024, 9.66), (2048, 14.58), (4096, 26.79), (8192, 47.12)]),
    (Gpu::B200, 8, [(8, 5.64), (16, 5.93), (32, 6.09), (64, 5.99), (128, 6.34), (256, 7.93), (512, 10.94), (1024, 17.78), (2048, 30.38), (4096, 39.42), (8192, 55.36)]),
];

/// Bytes and us of that GPU's kernel; empty where it was not timed.
pub(super) fn times(gpu: Gpu, ranks: u32) -> Vec<(u64, f64)> {
    let found = TIMES.iter().find(|(of, n, _)| (*of, *n) == (gpu, ranks));
    found.map_or_else(Vec::new, |(_, _, points)| {
        points.iter().map(|(kib, us)| (kib << 10, *us)).collect()
    })
}

/// Points as of a box of its own: of the kernel where it is one, else of the library.
pub(super) fn points(times: &[(u64, f64)], ranks: u32, engine: Option<&str>) -> Vec<CurvePoint> {
    let point = |(bytes, us): &(u64, f64)| CurvePoint {
        kind: CollectiveKind::AllReduce,
        ranks,
        bytes_per_rank: *bytes,
        us: *us,
        low: None,
        high: None,
        n: None,
        mode: Some(CallMode::Graph),
        library: engine.is_none().then(|| "nccl".to_owned()),
        engine: engine.map(str::to_owned),
        origin: "published".to_owned(),
        simulated: None,
    };
    times.iter().map(point).collect()
}
