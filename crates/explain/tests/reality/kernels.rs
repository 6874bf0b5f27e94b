//! All-reduces of TensorRT-LLM, which are not vLLM's.

use import::CurvePoint;
use record::{CallMode, CollectiveKind};

use crate::reality::pairs::Gpu;

/// An all-reduce of one GPU at one number of ranks.
struct Kernel {
    gpu: Gpu,
    ranks: u32,
    /// KiB of a message and nanoseconds.
    times: [(u64, u32); 11],
}

const fn kernel(gpu: Gpu, ranks: u32, times: [(u64, u32); 11]) -> Kernel {
    Kernel { gpu, ranks, times }
}

/// github.com/ai-dynamo/aiconfigurator 095f58a, systems/data, `custom_allreduce_perf` of TensorRT-LLM 1.3.0rc20, bf16. FlashInfer's
/// all-reduce with a norm in it, which vLLM can use, is the same kernel.
#[rustfmt::skip]
const KERNELS: [Kernel; 9] = [
    kernel(Gpu::H100, 2, [(8, 2800), (16, 2850), (32, 2920), (64, 3060), (128, 3290), (256, 3760), (512, 4520), (1024, 6100), (2048, 9410), (4096, 17130), (8192, 37520)]),
    kernel(Gpu::H100, 4, [(8, 3140), (16, 3270), (32, 3440), (64, 3680), (128, 4260), (256, 5480), (512, 7920), (1024, 12910), (2048, 26130), (4096, 39740), (8192, 63750)]),
    kernel(Gpu::H100, 8, [(8, 3540), (16, 3560), (32, 3840), (64, 4590), (128, 6200), (256, 10170), (512, 17600), (1024, 25960), (2048, 35490), (4096, 51900), (8192, 79430)]),
    kernel(Gpu::H200, 2, [(8, 2800), (16, 2830), (32, 2840), (64, 2950), (128, 3140), (256, 3590), (512, 4340), (1024, 5990), (2048, 9170), (4096, 16570), (8192, 34350)]),
    kernel(Gpu::H200, 4, [(8, 3180), (16, 3210), (32, 3320), (64, 3610), (128, 4180), (256, 5430), (512, 7730), (1024, 12850), (2048, 21930), (4096, 35940), (8192, 57750)]),
    kernel(Gpu::H200, 8, [(8, 3500), (16, 3490), (32, 3900), (64, 4580), (128, 6390), (256, 10110), (512, 17780), (1024, 25740), (2048, 30500), (4096, 47470), (8192, 76690)]),
    kernel(Gpu::B200, 2, [(8, 4780), (16, 5220), (32, 5190), (64, 5150), (128, 5140), (256, 4990), (512, 5380), (1024, 6420), (2048, 8020), (4096, 11910), (8192, 20780)]),
    kernel(Gpu::B200, 4, [(8, 5070), (16, 5520), (32, 5430), (64, 5390), (128, 5360), (256, 5790), (512, 7150), (1024, 9660), (2048, 14580), (4096, 26790), (8192, 47120)]),
    kernel(Gpu::B200, 8, [(8, 5640), (16, 5930), (32, 6090), (64, 5990), (128, 6340), (256, 7930), (512, 10940), (1024, 17780), (2048, 30380), (4096, 39420), (8192, 55360)]),
];

/// Bytes and us of that GPU's kernel; empty where it was not timed.
pub(super) fn times(gpu: Gpu, ranks: u32) -> Vec<(u64, f64)> {
    let mut kernels = KERNELS.iter();
    let found = kernels.find(|kernel| (kernel.gpu, kernel.ranks) == (gpu, ranks));
    let points = found.map_or(&[][..], |kernel| &kernel.times);
    let point = |(kib, ns): &(u64, u32)| (kib << 10, f64::from(*ns) / 1e3);
    points.iter().map(point).collect()
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
