//! What arrives: sums in every type, gathers and scatters, in and out of place, in one piece and in several.

use crate::libraries::ALL;
use crate::processes::{is_child, of_ranks, pass, pass_all};
use crate::rank::{BF16, F16, F32, Rank};
use crate::values::{brought, bytes};

/// More than two pieces of 256 KiB in 16 bits, and no multiple of one.
const COUNT: usize = 300_007;

/// What is summed of a place over all ranks.
fn summed(ranks: usize, at: usize) -> f32 {
    (0..ranks).map(|rank| brought(rank, at)).sum()
}

fn all_reduces(rank: &Rank, kind: i32, count: usize) {
    let own = bytes(kind, (0..count).map(|at| brought(rank.rank, at)));
    let expected = bytes(kind, (0..count).map(|at| summed(rank.ranks, at)));
    let (from, to) = (rank.allocate(own.len()), rank.allocate(own.len()));
    rank.upload(from, &own);
    rank.all_reduce(to, from, count, kind);
    assert!(rank.download(to, own.len()) == expected, "{kind} x {count}");
    assert!(rank.download(from, own.len()) == own);
    rank.all_reduce(from, from, count, kind);
    assert!(rank.download(from, own.len()) == expected, "in place");
}

fn all_gathers(rank: &Rank, kind: i32, count: usize) {
    let own = bytes(kind, (0..count).map(|at| brought(rank.rank, at)));
    let whole: Vec<u8> = (0..rank.ranks)
        .flat_map(|rank| bytes(kind, (0..count).map(move |at| brought(rank, at))))
        .collect();
    let (from, gathered) = (rank.allocate(own.len()), rank.allocate(whole.len()));
    rank.upload(from, &own);
    rank.all_gather(gathered, from, count, kind);
    assert!(rank.download(gathered, whole.len()) == whole);
    let in_place = rank.allocate(whole.len());
    let place = in_place + (rank.rank * own.len()) as u64;
    rank.upload(place, &own);
    rank.all_gather(in_place, place, count, kind);
    assert!(rank.download(in_place, whole.len()) == whole, "in place");
}

fn reduce_scatters(rank: &Rank, kind: i32, count: usize) {
    let all = count * rank.ranks;
    let own = bytes(kind, (0..all).map(|at| brought(rank.rank, at)));
    // A rank gets the part of its number.
    let part = rank.rank * count..(rank.rank + 1) * count;
    let expected = bytes(kind, part.map(|at| summed(rank.ranks, at)));
    let (from, to) = (rank.allocate(own.len()), rank.allocate(expected.len()));
    rank.upload(from, &own);
    rank.reduce_scatter(to, from, count, kind);
    assert!(
        rank.download(to, expected.len()) == expected,
        "{kind} x {count}"
    );
    assert!(rank.download(from, own.len()) == own);
    let place = from + (rank.rank * expected.len()) as u64;
    rank.reduce_scatter(place, from, count, kind);
    assert!(rank.download(place, expected.len()) == expected, "in place");
}

fn check_all() {
    let rank = Rank::join();
    // 28 elements of 4 bytes, or 56 of two, are the most that lie beside the words that announce them.
    for kind in [F32, F16, BF16] {
        for count in [COUNT, 1, 57] {
            all_reduces(&rank, kind, count);
            all_gathers(&rank, kind, count);
            reduce_scatters(&rank, kind, count);
        }
    }
    rank.all_reduce(0, 0, 0, F32);
    assert_eq!(rank.ccl.end("CommDestroy", rank.comm), 0);
}

#[test]
fn every_operation_of_every_library_brings_what_it_says() {
    if is_child() {
        return check_all();
    }
    for tested in ALL {
        let ranks = tested.devices;
        let described = of_ranks(tested, ranks as u32);
        let test = "operations::every_operation_of_every_library_brings_what_it_says";
        pass(test, tested, &described, ranks);
    }
}

#[test]
fn a_second_stream_keeps_the_order_of_the_communicator() {
    if !is_child() {
        return pass_all("operations::a_second_stream_keeps_the_order_of_the_communicator");
    }
    let mut rank = Rank::join();
    let (long, short) = (rank.allocate(65536), rank.allocate(4));
    rank.upload(short, &1.0_f32.to_ne_bytes());
    // Without an order the short call, 25 us, would end before the long one, 40 us, on this rank.
    rank.all_reduce(long, long, 16384, F32);
    let first = rank.stream;
    if rank.rank == 1 {
        rank.stream = rank.driver.stream();
    }
    rank.all_reduce(short, short, 1, F32);
    rank.synchronize();
    assert_eq!(rank.download(short, 4), 2.0_f32.to_ne_bytes());
    rank.stream = first;
    rank.synchronize();
}
