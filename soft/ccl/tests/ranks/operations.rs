//! What arrives: sums in every type, gathers and scatters, in and out of place, in one piece and in several.

use crate::libraries::{ALL, NCCL};
use crate::processes::{is_child, of_ranks, pass, pass_all, plain, table};
use crate::rank::{BF16, E4M3, F16, F32, F64, I8, Rank};
use crate::values::{brought, bytes};
use boxfile::{BoxFile, CollectiveKind};

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
fn two_ranks_on_mig_instances_sum() {
    if is_child() {
        return all_reduces(&Rank::join(), F16, COUNT);
    }
    let described = BoxFile::builtin("rtxpro6000-mig").expect("built in");
    pass(
        "operations::two_ranks_on_mig_instances_sum",
        NCCL,
        &described,
        2,
    );
}

#[test]
fn what_is_not_summed_moves_elements_of_every_width() {
    if !is_child() {
        return pass_all("operations::what_is_not_summed_moves_elements_of_every_width");
    }
    let rank = Rank::join();
    for (kind, width) in [(I8, 1), (F64, 8)] {
        let own: Vec<u8> = (0..5 * width)
            .map(|at| (at + 100 * rank.rank) as u8)
            .collect();
        let memory = rank.allocate(3 * own.len());
        rank.upload(memory, &own);
        let whole = memory + own.len() as u64;
        rank.all_gather(whole, memory, 5, kind);
        // Rank 0 began at 0 and rank 1 at 100.
        let part = |first: u8| (first..first + 5 * width as u8).collect::<Vec<u8>>();
        assert_eq!(
            rank.download(whole, 2 * own.len()),
            [part(0), part(100)].concat()
        );
        // ncclInvalidArgument.
        assert_eq!(rank.try_all_reduce(memory, memory, 5, kind), 4);
        let (_, last) = rank.ccl.words(4);
        assert!(last.contains(&format!("data type {kind}")), "{last}");
    }
    // 1 is a product.
    let memory = rank.allocate(4);
    assert_eq!(rank.try_sum("AllReduce", (memory, memory), 1, F32, 1), 4);
    assert_eq!(rank.try_all_reduce(memory, memory, 4, E4M3), 4);
    rank.synchronize();
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

#[test]
fn what_the_box_does_not_say_is_refused() {
    if !is_child() {
        for tested in ALL {
            let mut described = plain(tested);
            described.collective = vec![table(tested, CollectiveKind::AllGather, 2)];
            let test = "operations::what_the_box_does_not_say_is_refused";
            pass(test, tested, &described, 2);
        }
        return;
    }
    let rank = Rank::join();
    let memory = rank.allocate(64);
    // ncclInvalidUsage.
    assert_eq!(rank.try_all_reduce(memory, memory, 16, F32), 5);
    let (_, last) = rank.ccl.words(5);
    let in_box = rank.ccl.tested.in_box;
    assert!(
        last.contains(in_box) && last.contains("AllReduce of 2 ranks"),
        "{last}"
    );
    assert!(last.contains("add a [[collective]] table"), "{last}");
}

#[test]
fn memory_that_is_none_is_refused() {
    if !is_child() {
        return pass_all("operations::memory_that_is_none_is_refused");
    }
    let rank = Rank::join();
    let memory = rank.allocate(64);
    let refused = |code| {
        let (_, last) = rank.ccl.words(code);
        assert!(
            code == 4 && last.contains("not a valid pointer"),
            "{code} {last}"
        );
    };
    // 17 elements of 4 bytes are 68.
    for (to, from, count) in [(memory, memory, 17), (memory, 0, 1), (0x1000, memory, 1)] {
        refused(rank.try_all_reduce(to, from, count, F32));
    }
    // A scattered sum of 2 ranks reads twice what it writes: 9 elements are 72 bytes.
    refused(rank.try_sum("ReduceScatter", (memory, memory), 9, F32, 0));
}
