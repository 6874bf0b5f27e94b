//! The virtual clock against arithmetic: every expected time is worked out in the test.

use softbox::{EventTime, Flow, Simulation, Step};

/// A flow of so many bytes at a cap, over segments, without latency.
fn flow(bytes: f64, cap: f64, segments: &[usize]) -> Flow {
    Flow {
        latency_ns: 0.0,
        bytes,
        cap,
        segments: segments.to_vec(),
        hung: false,
    }
}

/// Runs everything and answers the time of an event.
fn run(sim: &mut Simulation, event: u64) -> f64 {
    while sim.step() == Step::Advanced {}
    match sim.event_time(event) {
        EventTime::At(time) => time,
        other => panic!("the event is {other:?}"),
    }
}

fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-3,
        "found {found}, expected {expected}"
    );
}

#[test]
fn a_copy_takes_its_latency_and_its_bytes_at_the_cap() {
    let mut sim = Simulation::new(&[1], vec![30.0]);
    let stream = sim.open_stream(0);
    let end = sim.open_event();
    sim.copy(
        stream,
        Flow {
            latency_ns: 2000.0,
            ..flow(26_000.0, 26.0, &[0])
        },
    );
    sim.record(end, stream);
    // 2000 + 26000 / 26 = 3000 ns.
    near(run(&mut sim, end), 3000.0);
    near(sim.now(), 3000.0);
}

#[test]
fn two_flows_share_a_segment_and_the_rest_runs_faster() {
    let mut sim = Simulation::new(&[1, 1], vec![30.0]);
    let (a, b) = (sim.open_stream(0), sim.open_stream(1));
    let (ends_a, ends_b) = (sim.open_event(), sim.open_event());
    sim.copy(a, flow(15_000.0, 26.0, &[0]));
    sim.copy(b, flow(41_000.0, 26.0, &[0]));
    sim.record(ends_a, a);
    sim.record(ends_b, b);
    // Both at 15: a ends at 15000 / 15 = 1000. b has 41000 - 15000 = 26000 left at 26: 1000 more.
    near(run(&mut sim, ends_b), 2000.0);
    assert_eq!(sim.event_time(ends_a), EventTime::At(1000.0));
}

#[test]
fn latency_uses_no_bandwidth() {
    let mut sim = Simulation::new(&[1, 1], vec![10.0]);
    let (a, b) = (sim.open_stream(0), sim.open_stream(1));
    let end = sim.open_event();
    sim.copy(a, flow(10_000.0, 10.0, &[0]));
    sim.copy(
        b,
        Flow {
            latency_ns: 500.0,
            ..flow(5_000.0, 10.0, &[0])
        },
    );
    sim.record(end, b);
    // a alone until 500 (5000 moved); then 5 each: b moves 5000 in 1000, as a does. Both end at 1500.
    near(run(&mut sim, end), 1500.0);
}

#[test]
fn copies_beyond_the_engines_wait_in_order_of_issue() {
    let mut sim = Simulation::new(&[1], vec![]);
    let (a, b) = (sim.open_stream(0), sim.open_stream(0));
    let (ends_a, ends_b) = (sim.open_event(), sim.open_event());
    sim.copy(a, flow(1000.0, 1.0, &[]));
    sim.copy(b, flow(10.0, 1.0, &[]));
    sim.copy(a, flow(100.0, 1.0, &[]));
    sim.record(ends_a, a);
    sim.record(ends_b, b);
    // One engine: a 0..1000; b was ready at 0, a's second only at 1000, so b 1000..1010, then a 1010..1110.
    near(run(&mut sim, ends_a), 1110.0);
    assert_eq!(sim.event_time(ends_b), EventTime::At(1010.0));
}

#[test]
fn a_stream_waits_for_another_through_an_event() {
    let mut sim = Simulation::new(&[1, 1], vec![]);
    let (a, b) = (sim.open_stream(0), sim.open_stream(1));
    let (middle, end) = (sim.open_event(), sim.open_event());
    sim.copy(a, flow(700.0, 1.0, &[]));
    sim.record(middle, a);
    sim.wait(b, middle);
    sim.copy(b, flow(300.0, 1.0, &[]));
    sim.record(end, b);
    near(run(&mut sim, end), 1000.0);
}

#[test]
fn a_capacity_that_falls_slows_what_is_under_way() {
    let mut sim = Simulation::new(&[2], vec![10.0]);
    let (a, b) = (sim.open_stream(0), sim.open_stream(0));
    let (mark, end) = (sim.open_event(), sim.open_event());
    sim.copy(a, flow(10_000.0, 10.0, &[0]));
    sim.record(end, a);
    sim.copy(
        b,
        Flow {
            latency_ns: 500.0,
            ..flow(0.0, 1.0, &[])
        },
    );
    sim.record(mark, b);
    while sim.event_time(mark) == EventTime::Pending {
        assert_eq!(sim.step(), Step::Advanced);
    }
    sim.set_capacity(0, 5.0);
    // 5000 bytes by 500 ns, 5000 more at 5: 1000 ns.
    near(run(&mut sim, end), 1500.0);
}

#[test]
fn a_hung_copy_holds_its_engine_and_leaves_the_others_alone() {
    let mut sim = Simulation::new(&[1, 1], vec![]);
    let (a, b) = (sim.open_stream(0), sim.open_stream(1));
    let (ends_a, ends_b) = (sim.open_event(), sim.open_event());
    sim.copy(
        a,
        Flow {
            hung: true,
            ..flow(10.0, 1.0, &[])
        },
    );
    sim.record(ends_a, a);
    sim.copy(b, flow(10.0, 1.0, &[]));
    sim.record(ends_b, b);
    near(run(&mut sim, ends_b), 10.0);
    assert_eq!(sim.event_time(ends_a), EventTime::Pending);
    assert!(!sim.is_idle(a) && sim.is_idle(b));
}
