//! How many connections there are, when they are made anew, and how many requests are in flight.

use std::sync::{Arc, Barrier};

use crate::load::common::Scratch;
use crate::load::mock::{Mock, Step, good};

#[test]
fn a_connection_that_the_server_keeps_is_used_again() {
    let mock = Mock::playing(|_| good());
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--requests", "5", "--warmups", "1"]);
    ran.expect(0);
    let connections = mock.connections();
    assert_eq!(connections.len(), 6);
    assert!(
        connections.iter().all(|one| *one == connections[0]),
        "{connections:?}"
    );
    // Warm-up requests are not in the record.
    assert_eq!(ran.serve().requests.len(), 5);
    assert!(!ran.caveats().contains("anew"), "{}", ran.caveats());
}

#[test]
fn as_many_requests_are_in_flight_as_asked_for_and_never_more() {
    // Nobody is answered before three are there, so fewer would never end.
    let barrier = Arc::new(Barrier::new(3));
    let mock = Mock::playing(move |_| {
        let mut steps = vec![Step::Meet(Arc::clone(&barrier))];
        steps.extend(good());
        steps
    });
    let scratch = Scratch::new();
    let ran = scratch.run(
        &mock.url,
        &["--concurrency", "3", "--requests", "9", "--warmups", "3"],
    );
    ran.expect(0);
    assert_eq!((mock.asked().len(), mock.most_in_flight()), (12, 3));
    let mut connections = mock.connections();
    connections.sort_unstable();
    connections.dedup();
    assert_eq!(connections.len(), 3);
    let mut ids: Vec<u32> = ran
        .serve()
        .requests
        .iter()
        .map(|request| request.id)
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..9).collect::<Vec<_>>());
    // No two of the twelve prompts are the same.
    let mut prompts: Vec<String> = mock
        .asked()
        .iter()
        .map(|asked| asked.body["prompt"].to_string())
        .collect();
    prompts.sort_unstable();
    prompts.dedup();
    assert_eq!(prompts.len(), 12);
}
