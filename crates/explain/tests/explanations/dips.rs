//! Curves that fall a little: warned of only where many calls of the step are read from that very curve.

use crate::explanations::boxes::{GRAPH_ALL_GATHER, point, rtxpro6000_mig};
use crate::explanations::planted::streamed;
use explain::{Gate, Inputs, Verdict, gates};
use measure::import::CurvePoint;
use measure::record::{CallMode, CollectiveKind};

/// From 64 KiB to 8 MiB; 16 sequences send 256 KiB in 161 all-reduces and 2.32 MiB in one all-gather.
const TIMES: [(u64, f64); 8] = [
    (64 << 10, 22.3),
    (128 << 10, 27.5),
    (256 << 10, 39.3),
    (512 << 10, 55.5),
    (1 << 20, 91.5),
    (2 << 20, 170.0),
    (4 << 20, 310.0),
    (8 << 20, 567.0),
];

/// The curve of an operation, with another time at one size.
fn curve(kind: CollectiveKind, at: u64, slow_us: f64) -> impl Iterator<Item = CurvePoint> {
    let time = move |bytes, us| if bytes == at { slow_us } else { us };
    TIMES
        .into_iter()
        .map(move |(bytes, us)| point(kind, bytes, time(bytes, us)))
}

fn with(curves: impl Iterator<Item = CurvePoint>) -> Inputs {
    let mut inputs = rtxpro6000_mig();
    inputs.serve = vec![streamed(1, 60.9, 0.0), streamed(2, 45.3, 0.0)];
    inputs.curve = curves.collect();
    inputs
}

fn found(inputs: &Inputs) -> Option<Gate> {
    let mut all = gates(inputs).into_iter();
    all.find(|gate| gate.name == "collectives take longer for more bytes")
}

fn verdict(inputs: &Inputs) -> Option<Verdict> {
    found(inputs).map(|gate| gate.verdict)
}

#[test]
fn a_dip_counts_only_on_the_curve_that_is_read_there() {
    use CollectiveKind::{AllGather, AllReduce};
    assert_eq!(GRAPH_ALL_GATHER, 2_433_024);
    let both = |reduce: (u64, f64), gather: (u64, f64)| {
        with(curve(AllReduce, reduce.0, reduce.1).chain(curve(AllGather, gather.0, gather.1)))
    };
    let clean = (0, 0.0);
    assert_eq!(verdict(&both(clean, clean)), None);
    // 400 us at 2 MiB and 310 at 4: the all-gather is read between them, and the all-reduce is not.
    assert_eq!(verdict(&both((2 << 20, 400.0), clean)), None);
    // 60 us at 256 KiB and 55.5 at 512: 1.08 times, and the other way round.
    assert_eq!(verdict(&both(clean, (256 << 10, 60.0))), None);
    assert_eq!(
        verdict(&both((256 << 10, 60.0), clean)),
        Some(Verdict::Warned)
    );
    // One call of 162 is read there: a reservation.
    let few = found(&both(clean, (2 << 20, 400.0))).unwrap();
    assert_eq!(few.verdict, Verdict::Unknown);
    assert!(
        few.seen.starts_with("all_gather on 2 ranks, graph in ")
            && few.seen.ends_with(
                "2 MiB 400.00 us and 4 MiB 310.00 us, where few calls of a step are read, and the others are not"
            ),
        "{few:?}"
    );
    // Without a curve of its own the all-gather is read off the all-reduce's, at as many bytes between two ranks.
    assert_eq!(
        verdict(&with(curve(AllReduce, 2 << 20, 400.0))),
        Some(Verdict::Unknown)
    );
}

#[test]
fn a_dip_in_a_mode_or_of_a_kernel_that_is_not_read_does_not_count() {
    let reduce = CollectiveKind::AllReduce;
    let beside = |change: &dyn Fn(&mut CurvePoint)| {
        let mut dips: Vec<CurvePoint> = curve(reduce, 256 << 10, 60.0).collect();
        dips.iter_mut().for_each(change);
        verdict(&with(curve(reduce, 0, 0.0).chain(dips)))
    };
    // A captured step is read from the graph's curve, and from an interleaved one before it.
    let mode = |mode| beside(&move |point| point.mode = Some(mode));
    assert_eq!(mode(CallMode::BackToBack), None);
    assert_eq!(mode(CallMode::Interleaved), Some(Verdict::Warned));
    // The engine calls the library here.
    let of_engine = |point: &mut CurvePoint| point.engine = Some("vllm 0.13.0".to_owned());
    assert_eq!(beside(&of_engine), None);
}

#[test]
fn a_size_that_stands_out_fails_only_on_the_curve_that_is_read_there() {
    use CollectiveKind::{AllGather, AllReduce};
    let stall = |reduce: (u64, f64), gather: (u64, f64)| {
        let curves = curve(AllReduce, reduce.0, reduce.1);
        verdict(&with(curves.chain(curve(AllGather, gather.0, gather.1))))
    };
    // 9 ms at 2 MiB: the all-gather of 2.32 MiB is read between that and 4 MiB.
    assert_eq!(stall((0, 0.0), (2 << 20, 9000.0)), Some(Verdict::Failed));
    assert_eq!(stall((2 << 20, 9000.0), (0, 0.0)), Some(Verdict::Unknown));
}
