//! How long calls take: the box's table, exactly, one by one and in graphs; and its noise, the same on every rank.

use crate::libraries::NCCL;
use crate::processes::{after, is_child, pass, pass_all, plain};
use crate::rank::{F16, Rank};
use boxfile::Noise;

/// Elapsed times are given as `f32` of milliseconds.
fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-4 * expected,
        "found {found}, expected {expected}"
    );
}

#[test]
fn calls_take_the_time_of_the_table() {
    if !is_child() {
        return pass_all("times::calls_take_the_time_of_the_table");
    }
    let rank = Rank::join();
    let memory = rank.allocate(1 << 20);
    // Points 10 us at 1 KiB and 40 us at 64 KiB, launch 25 us. 8 KiB is the middle of both logarithms: sqrt(10 x 40) = 20 us.
    // Above 64 KiB its bandwidth: 128 KiB take 80 us. Calls one by one take 25 us at least.
    for (bytes, device, alone) in [
        (512, 10.0, 25.0),
        (1024, 10.0, 25.0),
        (8192, 20.0, 25.0),
        (65536, 40.0, 40.0),
        (131_072, 80.0, 80.0),
    ] {
        let three = || (0..3).for_each(|_| rank.all_reduce(memory, memory, bytes / 2, F16));
        near(rank.time_us(three), 3.0 * alone);
        let graph = rank.capture(three);
        near(rank.time_us(|| rank.launch(graph)), 3.0 * device);
        // A gather is asked for by what each rank brings, a scattered sum by what it gets.
        let part = memory + (rank.rank * bytes) as u64;
        near(
            rank.time_us(|| rank.all_gather(memory, part, bytes / 2, F16)),
            alone,
        );
        near(
            rank.time_us(|| rank.reduce_scatter(part, memory, bytes / 2, F16)),
            alone,
        );
    }
}

#[test]
fn noise_is_the_same_on_every_rank_whatever_else_a_rank_does() {
    let test = "times::noise_is_the_same_on_every_rank_whatever_else_a_rank_does";
    if !is_child() {
        let mut described = plain(NCCL);
        described.noise = Some(Noise {
            cv: 0.1,
            slow_fraction: 0.0,
            slow_extra: 0.0,
            seed: 5,
        });
        let printed = pass(test, NCCL, &described, 2);
        let times: Vec<String> = printed.iter().map(|text| after(text, "times ")).collect();
        assert_eq!(times[0], times[1]);
        let times: Vec<f64> = times[0]
            .split(' ')
            .map(|time| time.parse().expect("a number"))
            .collect();
        // 40 us x (1 + 0.1 z), |z| at most 3: 28 to 52, and no two alike.
        assert!(
            times.iter().all(|time| (28.0..=52.0).contains(time)),
            "{times:?}"
        );
        assert!(times.windows(2).all(|pair| pair[0] != pair[1]), "{times:?}");
        return;
    }
    let rank = Rank::join();
    let memory = rank.allocate(65536);
    if rank.rank == 1 {
        // Copies draw noise, too.
        rank.upload(memory, &[0; 4096]);
    }
    let times: Vec<String> = (0..5)
        .map(|_| rank.time_us(|| rank.all_reduce(memory, memory, 32768, F16)))
        .map(|time| format!("{time:.2}"))
        .collect();
    println!("times {}", times.join(" "));
}
