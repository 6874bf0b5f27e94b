//! Graphs: what is captured happens at each launch and not before, and what cannot be captured spoils the capture.

use crate::processes::{is_child, pass_all};
use crate::rank::{F32, Rank};

fn value(rank: &Rank, at: u64) -> f32 {
    let bytes = rank.download(at, 4);
    f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[test]
fn a_launch_does_what_was_captured_with_what_is_then_there() {
    if !is_child() {
        return pass_all("graphs::a_launch_does_what_was_captured_with_what_is_then_there");
    }
    let rank = Rank::join();
    let (input, sum, both) = (rank.allocate(4), rank.allocate(4), rank.allocate(8));
    let graph = rank.capture(|| {
        rank.all_reduce(sum, input, 1, F32);
        rank.all_gather(both, sum, 1, F32);
    });
    assert_eq!((value(&rank, sum), value(&rank, both)), (0.0, 0.0));
    for own in [3.0_f32, 5.0] {
        rank.upload(input, &(own + rank.rank as f32).to_ne_bytes());
        rank.launch(graph);
        rank.synchronize();
        // own + (own + 1) of two ranks, gathered from both.
        let expected = 2.0 * own + 1.0;
        assert_eq!(
            (value(&rank, both), value(&rank, both + 4)),
            (expected, expected)
        );
        assert_eq!(value(&rank, sum), expected);
    }
}
