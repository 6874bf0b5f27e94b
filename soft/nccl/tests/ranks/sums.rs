//! What arrives: sums in every type, gathers, in and out of place, in one piece and in several.

use crate::processes::{is_child, pass, plain, table};
use crate::rank::{BF16, F16, F32, Rank, ok};
use boxfile::{BoxFile, CollectiveKind};
use cudarc::driver::sys;

/// More than two pieces of 256 KiB in 16 bits, and no multiple of one.
const COUNT: usize = 300_007;

/// What a rank brings at a place: small whole numbers, so that every sum of 4 is exact in every type.
fn brought(rank: usize, at: usize) -> f32 {
    (at % 13) as f32 - 4.0 * rank as f32
}

/// The bytes of small whole numbers. f16: sign, exponent plus 15, the fraction's upper 10 bits; bf16: the upper half of f32.
fn bytes(kind: i32, values: impl Iterator<Item = f32>) -> Vec<u8> {
    let f16 = |value: f32| {
        let bits = value.to_bits();
        let (sign, exponent) = (bits >> 31, (bits >> 23 & 0xff) as i32);
        let magnitude = if value == 0.0 {
            0
        } else {
            ((exponent - 127 + 15) as u32) << 10 | (bits >> 13 & 0x3ff)
        };
        (sign << 15 | magnitude) as u16
    };
    values
        .flat_map(|value| match kind {
            F32 => value.to_ne_bytes().to_vec(),
            F16 => f16(value).to_ne_bytes().to_vec(),
            _ => ((value.to_bits() >> 16) as u16).to_ne_bytes().to_vec(),
        })
        .collect()
}

fn check(rank: &Rank, kind: i32, count: usize) {
    let own = bytes(kind, (0..count).map(|at| brought(rank.rank, at)));
    let all = 0..rank.ranks;
    let summed = (0..count).map(|at| all.clone().map(|rank| brought(rank, at)).sum());
    let expected = bytes(kind, summed);
    let (from, to) = (rank.allocate(own.len()), rank.allocate(own.len()));
    rank.upload(from, &own);
    rank.all_reduce(to, from, count, kind);
    assert!(rank.download(to, own.len()) == expected, "{kind} x {count}");
    assert!(rank.download(from, own.len()) == own);
    rank.all_reduce(from, from, count, kind);
    assert!(rank.download(from, own.len()) == expected, "in place");

    let whole: Vec<u8> = (0..rank.ranks)
        .flat_map(|rank| bytes(kind, (0..count).map(move |at| brought(rank, at))))
        .collect();
    let gathered = rank.allocate(whole.len());
    rank.upload(from, &own);
    rank.all_gather(gathered, from, count, kind);
    assert!(rank.download(gathered, whole.len()) == whole);
    let in_place = rank.allocate(whole.len());
    let place = in_place + (rank.rank * own.len()) as u64;
    rank.upload(place, &own);
    rank.all_gather(in_place, place, count, kind);
    assert!(rank.download(in_place, whole.len()) == whole, "in place");
}

fn check_all() {
    let rank = Rank::join();
    for kind in [F32, F16, BF16] {
        check(&rank, kind, COUNT);
        check(&rank, kind, 1);
    }
    rank.all_reduce(0, 0, 0, F32);
    assert_eq!(rank.nccl.end("ncclCommDestroy", rank.comm), 0);
}

#[test]
fn two_ranks_on_mig_instances() {
    if is_child() {
        return check_all();
    }
    let described = BoxFile::builtin("rtxpro6000-mig").expect("built in");
    pass("sums::two_ranks_on_mig_instances", &described, 2);
}

#[test]
fn four_ranks() {
    if is_child() {
        return check_all();
    }
    pass(
        "sums::four_ranks",
        &BoxFile::builtin("l40x4").expect("built in"),
        4,
    );
}

#[test]
fn a_second_stream_keeps_the_order_of_the_communicator() {
    if !is_child() {
        let test = "sums::a_second_stream_keeps_the_order_of_the_communicator";
        pass(test, &plain(), 2);
        return;
    }
    let mut rank = Rank::join();
    let (long, short) = (rank.allocate(65536), rank.allocate(4));
    rank.upload(short, &1.0_f32.to_ne_bytes());
    // Without an order the short call, 25 us, would end before the long one, 40 us, on this rank.
    rank.all_reduce(long, long, 16384, F32);
    let first = rank.stream;
    if rank.rank == 1 {
        let mut second = std::ptr::null_mut();
        ok!(sys::cuStreamCreate(&mut second, 1));
        rank.stream = second;
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
        let mut described = plain();
        described.collective = vec![table(CollectiveKind::AllGather, 2)];
        pass("sums::what_the_box_does_not_say_is_refused", &described, 2);
        return;
    }
    let rank = Rank::join();
    let memory = rank.allocate(64);
    // ncclInvalidUsage is 5, ncclInvalidArgument 4.
    assert_eq!(rank.try_all_reduce(memory, memory, 16, F32), 5);
    let (_, last) = rank.nccl.words(5);
    assert!(
        last.contains("l40x4") && last.contains("AllReduce of 2 ranks"),
        "{last}"
    );
    assert_eq!(rank.try_all_reduce(memory, memory, 16, 8), 4);
    let (_, last) = rank.nccl.words(4);
    assert!(last.contains("data type 8"), "{last}");
}

#[test]
fn memory_that_is_none_is_refused() {
    if !is_child() {
        pass("sums::memory_that_is_none_is_refused", &plain(), 2);
        return;
    }
    let rank = Rank::join();
    let memory = rank.allocate(64);
    // 17 elements of 4 bytes are 68.
    for (to, from, count) in [(memory, memory, 17), (memory, 0, 1), (0x1000, memory, 1)] {
        assert_eq!(rank.try_all_reduce(to, from, count, F32), 4);
        let (_, last) = rank.nccl.words(4);
        assert!(last.contains("not a valid pointer"), "{last}");
    }
}
