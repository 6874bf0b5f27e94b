//! Sends and receives: rings, several in a group, messages without a group, and what is refused.

use crate::libraries::ALL;
use crate::processes::{is_child, of_ranks, pass, pass_all};
use crate::rank::{F32, I8, Rank};

/// More than the mailbox of a pair holds, 256 KiB, and no multiple of it.
const COUNT: usize = 300_001;

/// What a rank sends: bytes of its own.
fn sent(rank: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + rank * 91) as u8).collect()
}

#[test]
fn a_ring_passes_on_what_each_rank_has() {
    if !is_child() {
        for tested in ALL {
            // Of AMD there is no box with more than 2 devices.
            let ranks = tested.devices.min(3);
            let described = of_ranks(tested, ranks as u32);
            let test = "exchanges::a_ring_passes_on_what_each_rank_has";
            pass(test, tested, &described, ranks);
        }
        return;
    }
    let rank = Rank::join();
    let (next, before) = (
        (rank.rank + 1) % rank.ranks,
        (rank.rank + rank.ranks - 1) % rank.ranks,
    );
    for count in [1, 41, COUNT] {
        let (from, to) = (rank.allocate(count), rank.allocate(count));
        rank.upload(from, &sent(rank.rank, count));
        for _ in 0..3 {
            rank.exchange(&[("Send", from, next), ("Recv", to, before)], count, I8);
        }
        assert!(
            rank.download(to, count) == sent(before, count),
            "{count} bytes"
        );
    }
}

#[test]
fn a_group_takes_the_time_of_one_message() {
    if !is_child() {
        return pass_all("exchanges::a_group_takes_the_time_of_one_message");
    }
    let rank = Rank::join();
    let peer = 1 - rank.rank;
    let (from, to) = (rank.allocate(65536), rank.allocate(65536));
    let ring = [("Send", from, peer), ("Recv", to, peer)];
    // 40 us at 64 KiB; below 1 KiB 10 us on the device, and 25 us by itself.
    for (count, expected) in [(16384, 40.0), (64, 25.0)] {
        let found = rank.time_us(|| rank.exchange(&ring, count, F32));
        assert!((found - expected).abs() < 1e-2, "{found}");
    }
    let graph = rank.capture(|| (0..3).for_each(|_| rank.exchange(&ring, 64, F32)));
    // Three calls of 10 us.
    let found = rank.time_us(|| rank.launch(graph));
    assert!((found - 30.0).abs() < 1e-2, "{found}");
}

#[test]
fn messages_of_a_group_keep_their_order() {
    if !is_child() {
        return pass_all("exchanges::messages_of_a_group_keep_their_order");
    }
    let rank = Rank::join();
    let (peer, bytes) = (1 - rank.rank, 8);
    let memory: Vec<u64> = (0..6).map(|_| rank.allocate(bytes)).collect();
    for (number, address) in memory[..3].iter().enumerate() {
        rank.upload(*address, &sent(10 * rank.rank + number, bytes));
    }
    // Two to the other rank and one to itself, in a group within a group.
    let mut messages = vec![
        ("Send", memory[0], peer),
        ("Send", memory[1], peer),
        ("Send", memory[2], rank.rank),
        ("Recv", memory[3], peer),
        ("Recv", memory[4], peer),
        ("Recv", memory[5], rank.rank),
    ];
    if rank.rank == 1 {
        messages.rotate_left(3);
    }
    assert_eq!(rank.ccl.group("GroupStart"), 0);
    rank.exchange(&messages, bytes, I8);
    assert_eq!(rank.ccl.group("GroupEnd"), 0);
    for (number, from) in [(3, 10 * peer), (4, 10 * peer + 1), (5, 10 * rank.rank + 2)] {
        assert_eq!(
            rank.download(memory[number], bytes),
            sent(from, bytes),
            "{number}"
        );
    }
    // Without a group: one sends, the other receives.
    let (name, at) = [("Send", memory[0]), ("Recv", memory[4])][rank.rank];
    assert_eq!(rank.message(name, at, bytes, I8, peer), 0);
    if rank.rank == 1 {
        assert_eq!(rank.download(at, bytes), sent(0, bytes));
    }
    rank.synchronize();
    // A sum goes well behind it.
    rank.all_reduce(memory[0], memory[0], 2, F32);
    rank.synchronize();
}

#[test]
fn a_rank_that_is_none_is_refused() {
    if !is_child() {
        return pass_all("exchanges::a_rank_that_is_none_is_refused");
    }
    let rank = Rank::join();
    let memory = rank.allocate(4);
    assert_eq!(rank.message("Send", memory, 1, F32, 2), 4);
    let (_, last) = rank.ccl.words(4);
    assert_eq!(last, "Send : invalid peer 2 (there are 2 ranks)");
    // Nothing is sent to nobody.
    assert_eq!(rank.message("Recv", 0, 0, F32, 1), 0);
}
