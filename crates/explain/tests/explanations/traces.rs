//! Traces of the engine: direct evidence where they are of decode steps by the plan's way, and D else.

use crate::explanations::boxes::rtxpro6000_mig;
use explain::{Cause, Grade, attribute};
use import::trace;

const DRAWS: u32 = 4000;

/// By hand in the form of nsys stats: `steps` of 161 all-reduces of 65 us, and as many all-gathers of 280 us.
fn traced(steps: u64, kernel: &str) -> trace::Trace {
    let reduces = steps * 161;
    let text = format!(
        "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n\
         60.0,90000000,900,100000.0,100000.0,1,2,5.0,\"void gemm<int, 4>(Params)\"\n\
         39.0,{},{reduces},65000.0,64000.0,50000,99000,6500.0,\"{kernel}\"\n\
         1.0,{},{steps},280000.0,280000.0,270000,290000,5000.0,ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)\n",
        reduces * 65_000,
        steps * 280_000,
    );
    trace::of_text(&text, "trace.csv").unwrap()
}

const RING: &str = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

#[test]
fn a_trace_is_direct_evidence_and_says_of_how_many_steps() {
    let mut inputs = rtxpro6000_mig();
    inputs.evidence.trace = Some(traced(20, RING));
    let got = attribute(&inputs, 1, DRAWS).unwrap();
    let bar = got.bar(Cause::AllReduce).unwrap();
    assert_eq!(bar.grade, Some(Grade::A));
    // 161 * 65 us = 10.47 ms, times 0.9 to 1.05.
    assert!(bar.ms.low > 9.3 && bar.ms.high < 11.3, "{bar:?}");
    let gathers = got.bar(Cause::AllGather).unwrap();
    assert!((gathers.ms.mid - 0.27).abs() < 0.03, "{gathers:?}");
    assert_eq!(got.bar(Cause::Communication).unwrap().grade, Some(Grade::A));
    // A curve of another box is left for the prefill of these latencies only.
}

#[test]
fn a_trace_of_other_steps_or_another_way_is_said() {
    let of = |trace| {
        let mut inputs = rtxpro6000_mig();
        inputs.evidence.trace = Some(trace);
        attribute(&inputs, 1, DRAWS).unwrap()
    };
    // 30 of 3220 calls more are 0.19 of a step.
    let mut uneven = traced(20, RING);
    uneven.kernels[1].calls += 30;
    let got = of(uneven);
    assert_eq!(got.bar(Cause::AllReduce).unwrap().grade, Some(Grade::D));
    let own = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)";
    let got = of(traced(20, own));
    // Decoding may go the plan's way by a kernel whose name is not known here, and only prompts this one.
    assert_eq!(got.bar(Cause::AllReduce).unwrap().grade, Some(Grade::D));
    // One kernel for all: 162 calls a step.
    let mut generic = traced(
        20,
        "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
    );
    generic.kernels[1].calls = 20 * 162;
    // What cannot stand for a step is left out, and the published curve stays.
    let mut short = traced(1, RING);
    short.kernels[1].calls = 100;
    let got = of(short);
    assert_eq!(got.bar(Cause::AllReduce).unwrap().grade, Some(Grade::D));
}

#[test]
fn a_trace_without_medians_and_deviations_proves_nothing() {
    let mut trace = traced(20, RING);
    for kernel in &mut trace.kernels {
        (kernel.median_us, kernel.deviation_us) = (None, None);
    }
    let mut inputs = rtxpro6000_mig();
    inputs.evidence.trace = Some(trace);
    let got = attribute(&inputs, 1, DRAWS).unwrap();
    assert_eq!(got.bar(Cause::AllReduce).unwrap().grade, Some(Grade::D));
}
