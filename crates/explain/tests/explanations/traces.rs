//! Traces of the engine: direct evidence where they are of decode steps by the plan's way, and D else.

use crate::explanations::boxes::rtxpro6000_mig;
use crate::explanations::planted::with_curve;
use crate::explanations::said::says;
use explain::{Cause, Grade, attribute, explain, text};
use measure::import::trace;

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
    assert!(
        bar.source
            .contains("3220 calls, 20.0 steps times GPUs of 161 all-reduces"),
        "{}",
        bar.source
    );
    assert!(says(&got, "skew is in it"), "{:?}", got.caveats);
    // A curve of another box is left for the prefill of these latencies only.
    assert!(!bar.source.contains("transfer"), "{}", bar.source);
    assert!(text(&explain(&inputs, 1, DRAWS)).contains("communication by a trace of the engine"));
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
    assert!(says(&got, "no whole number of steps of 161"));
    assert_eq!(got.bar(Cause::AllReduce).unwrap().grade, Some(Grade::D));
    let own = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)";
    let got = of(traced(20, own));
    assert!(
        says(&got, "the trace holds only all-reduces by custom"),
        "{:?}",
        got.caveats
    );
    // Decoding may go the plan's way by a kernel whose name is not known here, and only prompts this one.
    assert_eq!(got.bar(Cause::AllReduce).unwrap().grade, Some(Grade::D));
    // One kernel for all: 162 calls a step.
    let mut generic = traced(
        20,
        "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
    );
    generic.kernels[1].calls = 20 * 162;
    let got = of(generic);
    assert!(
        says(&got, "one kernel for all operations"),
        "{:?}",
        got.caveats
    );
    assert!(!says(&got, "no whole number"), "{:?}", got.caveats);
    // What cannot stand for a step is left out, and the published curve stays.
    let mut short = traced(1, RING);
    short.kernels[1].calls = 100;
    let got = of(short);
    assert!(
        says(&got, "less than the 161 of one step"),
        "{:?}",
        got.caveats
    );
    assert_eq!(got.bar(Cause::AllReduce).unwrap().grade, Some(Grade::D));
    let got = of(traced(20, "void something_else(int)"));
    assert!(
        says(&got, "no all-reduce of a name that is known"),
        "{:?}",
        got.caveats
    );
}

/// By hand: 50 decode steps of 161 all-reduces of 27 us, and two with prompts in which each takes 600 us.
fn with_prompts(is_of_nsys: bool) -> trace::Trace {
    let calls = 52 * 161;
    // (50 * 27 + 2 * 600) * 161 us = 410,550 us; by 8372 calls 49.04 us on average. The squares of the distances are
    // (50 * 22.04^2 + 2 * 550.96^2) / 52 = 467 + 11675, whose root is 110.2 us.
    let text = match is_of_nsys {
        true => format!(
            "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n\
             99.0,410550000,{calls},49038.5,27000.0,24000,610000,110200.0,\"{RING}\"\n"
        ),
        false => format!(
            "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\",\"StdDev\"\n\
             \"{RING}\",{calls},410550000,49038.5,99.0,24000,610000,110200.0\n"
        ),
    };
    trace::of_text(&text, "trace.csv").unwrap()
}

#[test]
fn a_trace_with_prompts_in_it_is_no_direct_evidence() {
    for is_of_nsys in [true, false] {
        let mut inputs = rtxpro6000_mig();
        inputs.evidence.trace = Some(with_prompts(is_of_nsys));
        let got = attribute(&inputs, 1, DRAWS).unwrap();
        let bar = got.bar(Cause::AllReduce).unwrap();
        assert_eq!(bar.grade, Some(Grade::D), "{bar:?}");
        // Decoding takes 161 * 27 us = 4.35 ms, and not the mean's 161 * 49 us = 7.9 ms, times 0.9 to 1.05.
        assert!(bar.ms.low < 4.35, "{bar:?}");
        assert!(
            says(&got, "not shown to be of decode steps alone"),
            "{:?}",
            got.caveats
        );
        let words = text(&explain(&inputs, 1, DRAWS));
        assert!(!words.contains("by a trace of the engine"), "{words}");
        // This box's own curve is better evidence and stays: 161 * 30 us = 4.83 ms, times 0.9 to 1.3, of which up to a
        // fifth may hide: 5% of draws lie below 3.9 at most (0.9 * 0.9).
        let inputs = with_curve(inputs, 30.0, 300.0);
        let got = attribute(&inputs, 1, DRAWS).unwrap();
        let bar = got.bar(Cause::AllReduce).unwrap();
        assert_eq!(bar.grade, Some(Grade::C));
        assert!(bar.ms.low > 3.9 && bar.ms.high < 6.4, "{bar:?}");
        assert!(says(&got, "stands in its place"), "{:?}", got.caveats);
    }
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
    assert!(
        says(&got, "neither medians nor deviations"),
        "{:?}",
        got.caveats
    );
}
