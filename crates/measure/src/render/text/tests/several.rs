//! Rendered tables of cases with several devices at once, and of those that take a time.

use super::super::links;
use super::links::{device, links_of, measured, quantity, record, ten};
use crate::caveat::Caveat;
use crate::quantity::{Gate, Quantity, TimeSource, Unit};
use crate::record::{
    Endpoint, LinkUse, NamedQuantity, Outcome, PairPath, Point, Record, Simulated,
};
use topology::PathType;

/// What stands below the devices and above the ending.
fn body(record: &Record) -> String {
    let text = links(record);
    let cases = text.rsplit_once("Gen1 x8  Gen4 x16\n").unwrap().1;
    let cases = cases.split("\n\ncomplete;").next().unwrap();
    cases
        .split("\n\nBefore believing")
        .next()
        .unwrap()
        .to_owned()
}

/// A record of three devices.
fn three(points: Vec<Point>) -> Record {
    let mut record = record(points);
    let links = links_of(&mut record);
    links.devices.push(device(2, "81:00.0"));
    let path = PathType::Sys;
    links
        .paths
        .extend([PairPath { a: 0, b: 2, path }, PairPath { a: 1, b: 2, path }]);
    record
}

/// A point of several streams at 10 GB/s with a ceiling of 20 each, and of 40 for the total where `total` says so.
fn group(case: &str, from: Endpoint, to: Endpoint, shares: &[&str], total: bool) -> Point {
    let mut numbers: Vec<NamedQuantity> = shares.iter().map(|name| quantity(name, ten())).collect();
    numbers.push(quantity(
        "total",
        ten().iter().map(|sample| sample * 2.0).collect(),
    ));
    let mut point = measured(case, from, to, numbers);
    let with_ceiling = shares.iter().map(|name| (*name, 20.0));
    let ceilings = with_ceiling.chain(total.then_some(("total", 40.0)));
    let ceilings: Vec<(&str, f64)> = ceilings.collect();
    if let Outcome::Measured {
        link, placement, ..
    } = &mut point.outcome
    {
        *placement = None;
        *link = LinkUse {
            ceilings_gb_per_s: ceilings
                .iter()
                .map(|(name, c)| ((*name).to_owned(), *c))
                .collect(),
            // 10 of 20 and 20 of 40 are a half.
            fraction: ceilings
                .iter()
                .map(|(name, _)| ((*name).to_owned(), 0.5))
                .collect(),
            basis: "each stream by Gen4 x8, payload 256 B".to_owned(),
            ..LinkUse::default()
        };
    }
    point
}

/// A time with the clock behind it.
fn time(name: &str, unit: Unit, source: TimeSource, samples: Vec<f64>) -> NamedQuantity {
    let mut named = quantity(name, samples);
    named.quantity = Quantity {
        unit,
        ..named.quantity
    };
    named.quantity.timing.source = source;
    named.quantity.timing.copies_per_sample = 100;
    named
}

fn timed(case: &str, from: Endpoint, to: Endpoint, bytes: u64, times: Vec<NamedQuantity>) -> Point {
    let mut point = measured(case, from, to, times);
    if let Outcome::Measured {
        link, placement, ..
    } = &mut point.outcome
    {
        *placement = None;
        *link = LinkUse {
            basis: "a time, which has no ceiling".to_owned(),
            ..LinkUse::default()
        };
    }
    point.caveats.clear();
    Point { bytes, ..point }
}

#[test]
fn a_case_of_several_streams_has_a_row_for_each_and_the_total_last() {
    let (host, all) = (Endpoint::Host, Endpoint::All);
    let record = three(vec![group(
        "host_to_all_ce",
        host,
        all,
        &["share_0", "share_1", "share_2"],
        true,
    )]);
    insta::assert_snapshot!(body(&record), @r#"
    host_to_all_ce: GB/s, 64 MiB a copy, median ± wider side of its 95% interval
                                 GB/s        interval  n  ceiling  of it
      host to GPU0        10.00 ±2.0%   9.90 .. 10.20  6    20.00    50%
      host to GPU1        10.00 ±2.0%   9.90 .. 10.20  6    20.00    50%
      host to GPU2        10.00 ±2.0%   9.90 .. 10.20  6    20.00    50%
      host to all, total  20.00 ±2.0%  19.80 .. 20.40  6    40.00    50%
      total: all streams' bytes from the first start to the last end
      host to all: ceilings: each stream by Gen4 x8, payload 256 B
    "#);
}

#[test]
fn streams_that_ended_apart_are_not_to_be_added_up_and_a_total_of_both_ways_says_and() {
    let (host, all) = (Endpoint::Host, Endpoint::All);
    let shares = ["forward_0", "back_0", "forward_1", "back_1"];
    let mut both = group("host_all_bidir_sm", host, all, &shares, false);
    if let Outcome::Measured { quantities, .. } = &mut both.outcome {
        // Back from GPU1 at 5 GB/s, the slowest; the total is 20 and no stream.
        let half = ten().iter().map(|sample| sample / 2.0).collect();
        quantities[3] = quantity("back_1", half);
    }
    both.caveats = vec![Caveat::PartlyAlone { overlapped: 0.5 }];
    insta::assert_snapshot!(body(&record(vec![both])), @r#"
    host_all_bidir_sm (kernel): GB/s, 64 MiB a copy, median ± wider side of its 95% interval
                                  GB/s        interval  n  ceiling  of it
      host to GPU0         10.00 ±2.0%   9.90 .. 10.20  6    20.00    50%
      GPU0 to host         10.00 ±2.0%   9.90 .. 10.20  6    20.00    50%
      host to GPU1         10.00 ±2.0%   9.90 .. 10.20  6    20.00    50%
      GPU1 to host          5.00 ±2.0%    4.95 .. 5.10  6    20.00    50%
      host and all, total  20.00 ±2.0%  19.80 .. 20.40  6        —      —
      total: all streams' bytes from the first start to the last end
      host and all: ceilings: each stream by Gen4 x8, payload 256 B
      some copies ended earlier than others: all ran at once for 50% of the time, so the slower ones' numbers and the total are in part those of a link with less on it, and the numbers must not be added up; last to end: GPU1 to host
    "#);
}

#[test]
fn one_to_all_has_a_block_for_each_single_device() {
    let all = Endpoint::All;
    let record = three(vec![
        group(
            "one_to_all_write_ce",
            Endpoint::Device(0),
            all,
            &["share_1", "share_2"],
            false,
        ),
        group(
            "one_to_all_write_ce",
            Endpoint::Device(1),
            all,
            &["share_0", "share_2"],
            false,
        ),
    ]);
    insta::assert_snapshot!(body(&record), @r#"
    one_to_all_write_ce: GB/s, 64 MiB a copy, median ± wider side of its 95% interval
                                 GB/s        interval  n  ceiling  of it
      GPU0 to GPU1        10.00 ±2.0%   9.90 .. 10.20  6    20.00    50%
      GPU0 to GPU2        10.00 ±2.0%   9.90 .. 10.20  6    20.00    50%
      GPU0 to all, total  20.00 ±2.0%  19.80 .. 20.40  6        —      —
      GPU1 to GPU0        10.00 ±2.0%   9.90 .. 10.20  6    20.00    50%
      GPU1 to GPU2        10.00 ±2.0%   9.90 .. 10.20  6    20.00    50%
      GPU1 to all, total  20.00 ±2.0%  19.80 .. 20.40  6        —      —
      total: all streams' bytes from the first start to the last end
      ceilings: each stream by Gen4 x8, payload 256 B
    "#);
}

#[test]
fn a_sweep_of_several_streams_names_each_by_its_ends() {
    let all = Endpoint::All;
    let point = |bytes| Point {
        bytes,
        ..group(
            "ring_ce",
            all,
            all,
            &["share_0", "share_1", "share_2"],
            false,
        )
    };
    insta::assert_snapshot!(body(&three(vec![point(4096), point(8192)])), @r#"
    ring_ce: GB/s, median ± wider side of its 95% interval, n=6, % of the ceiling
      size       GPU0 to GPU1      GPU1 to GPU2      GPU2 to GPU0   all, total
      4 KiB  10.00 ±2.0%  50%  10.00 ±2.0%  50%  10.00 ±2.0%  50%  20.00 ±2.0%
      8 KiB  10.00 ±2.0%  50%  10.00 ±2.0%  50%  10.00 ±2.0%  50%  20.00 ±2.0%
      total: all streams' bytes from the first start to the last end
      all: ceilings: each stream by Gen4 x8, payload 256 B
    "#);
}

#[test]
fn latency_is_in_nanoseconds_and_says_how_it_was_taken() {
    let (gpu0, gpu1) = (Endpoint::Device(0), Endpoint::Device(1));
    let latency = |samples| {
        vec![time(
            "latency",
            Unit::Nanoseconds,
            TimeSource::DeviceEvent,
            samples,
        )]
    };
    let hundredfold = || ten().iter().map(|sample| sample * 100.0).collect();
    let mut hang = timed("d2d_chase_sm", gpu1, gpu0, 2 << 20, latency(ten()));
    hang.outcome = Outcome::Hang {
        doing: "one lap".to_owned(),
    };
    let record = record(vec![
        timed(
            "host_chase_sm",
            Endpoint::Host,
            gpu0,
            2 << 20,
            latency(hundredfold()),
        ),
        timed(
            "local_chase_sm",
            gpu0,
            gpu0,
            2 << 20,
            latency(hundredfold()),
        ),
        timed("d2d_chase_sm", gpu0, gpu1, 2 << 20, latency(hundredfold())),
        hang,
    ]);
    let text = body(&record);
    assert!(!text.contains("GB/s"), "{text}");
    insta::assert_snapshot!(text, @r#"
    host_chase_sm: ns, a chain of 2 MiB, median ± wider side of its 95% interval
                                       ns           interval  n
      GPU0 loads from host  1000.00 ±2.0%  990.00 .. 1020.00  6
      latency: one load that waits for the load before it, a share of the kernel's launch included; by device events, 100 loads a sample

    local_chase_sm: ns, a chain of 2 MiB, median ± wider side of its 95% interval
                       ns           interval  n
      GPU0  1000.00 ±2.0%  990.00 .. 1020.00  6
      latency: one load that waits for the load before it, a share of the kernel's launch included; by device events, 100 loads a sample

    d2d_chase_sm: ns, a chain of 2 MiB, median ± wider side of its 95% interval
      kernel of \ memory of  GPU0           GPU1
      GPU0                      —  1000.00 ±2.0%
                                        NODE n=6
      GPU1                   HANG              —
      latency: one load that waits for the load before it, a share of the kernel's launch included; by device events, 100 loads a sample
      GPU1 to GPU0: HANG while one lap
    "#);
}

#[test]
fn a_time_of_this_machine_is_marked_beside_those_of_a_soft_box() {
    let times = || {
        let mut pace = time("pace", Unit::Microseconds, TimeSource::VirtualClock, ten());
        pace.quantity.timing.gate = Gate::SpinKernel;
        vec![
            time(
                "issue",
                Unit::Microseconds,
                TimeSource::HostMonotonic,
                ten(),
            ),
            pace,
        ]
    };
    let (gpu0, gpu1) = (Endpoint::Device(0), Endpoint::Device(1));
    let mut record = record(vec![
        timed("small_copy_h2d_ce", Endpoint::Host, gpu0, 16, times()),
        timed("small_copy_d2d_ce", gpu0, gpu1, 16, times()),
    ]);
    record.header.simulated = Some(Simulated {
        box_name: "l40x4".to_owned(),
    });
    insta::assert_snapshot!(body(&record), @r#"
    small_copy_h2d_ce [simulated]: us, 16 B a copy, median ± wider side of its 95% interval
                                    us       interval  n
      host to GPU0, issue  10.00 ±2.0%  9.90 .. 10.20  6
      host to GPU0, pace   10.00 ±2.0%  9.90 .. 10.20  6
      issue: what the host takes to hand one copy to the driver; by the host's monotonic clock, 100 copies a sample; NOT SIMULATED, this machine's time, which is not judged
      pace: from one copy to the next in a stream, back to back; by the box's virtual clock, 100 copies a sample, started by a spin gate

    small_copy_d2d_ce [simulated]: us, 16 B a copy, median ± wider side of its 95% interval
      issue
      from \ to  GPU0         GPU1
      GPU0          —  10.00 ±2.0%
                          NODE n=6
      GPU1          —            —
      pace
      from \ to  GPU0         GPU1
      GPU0          —  10.00 ±2.0%
                          NODE n=6
      GPU1          —            —
      issue: what the host takes to hand one copy to the driver; by the host's monotonic clock, 100 copies a sample; NOT SIMULATED, this machine's time, which is not judged
      pace: from one copy to the next in a stream, back to back; by the box's virtual clock, 100 copies a sample, started by a spin gate
    "#);
}

#[test]
fn a_share_in_a_csv_is_named_by_its_ends_and_has_its_own_ceiling() {
    let all = Endpoint::All;
    let record = three(vec![group("ring_ce", all, all, &["share_2"], false)]);
    let csv = crate::render::csv::links(&record);
    let rows: Vec<&str> = csv.lines().skip(1).collect();
    // Device 2 is the last of three: the next one round is 0.
    assert!(
        rows[0].starts_with("ring_ce,share GPU2 to GPU0,all,all,67108864,measured,10,GB/s,"),
        "{csv}"
    );
    assert!(rows[0].contains(",20,0.5,"), "{csv}");
    assert!(rows[1].starts_with("ring_ce,total,all,all,"), "{csv}");
}
