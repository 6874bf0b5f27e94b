//! What a result claims, against figures that were worked out by hand.

use disagg::{Claim, check};

fn found(claim: &Claim) -> Vec<&'static str> {
    check(claim).iter().map(disagg::Finding::code).collect()
}

#[test]
fn a_closed_loop_waits_for_slots_only_with_more_in_flight_than_there_are() {
    let with = |in_flight| {
        found(&Claim {
            requests: 400.0,
            duration_s: 100.0,
            in_flight,
            slots: Some(256.0),
            ..Claim::default()
        })
    };
    assert_eq!(with(Some(16.0)), [""; 0]);
    assert_eq!(with(Some(300.0)), ["waited-for-slots"]);
    assert_eq!(with(None), ["waited-for-slots"]);
}

#[test]
fn long_replies_at_a_slow_rate_are_no_burst() {
    // 60 at one a second of 20 s each end 20 s after the last: 0.75 a second.
    let with = |duration_s| {
        found(&Claim {
            requests: 60.0,
            duration_s,
            offered_per_s: Some(1.0),
            decode_s: Some(20.0),
            ..Claim::default()
        })
    };
    assert_eq!(with(80.0), [""; 0]);
    assert_eq!(with(120.0), ["rate-not-sustained"]);
}
