//! Facts about streams and events of one device.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use device::pattern::Pattern;
use device::{Backend, Device, DeviceError, Event, Stream};

use crate::bed::{Bed, LARGE, touch};

fn is_not_ready(answer: &device::Result<f64>) -> bool {
    matches!(answer, Err(DeviceError::EventNotReady))
}

pub(crate) fn an_event_has_no_time_before_it_is_reached<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let (start, end) = (bed.device.event().unwrap(), bed.device.event().unwrap());
    let (host, memory) = (bed.host(LARGE), bed.device.alloc(LARGE).unwrap());
    assert!(is_not_ready(&end.nanoseconds_since(&start)), "never");
    bed.stream.record(&start).unwrap();
    bed.stream.synchronize().unwrap();
    assert!(is_not_ready(&end.nanoseconds_since(&start)), "one only");
    assert!(is_not_ready(&start.nanoseconds_since(&end)), "one only");
    let latch = bed.hold();
    bed.stream
        .host_to_device((&memory, 0), (&host, 0), LARGE)
        .unwrap();
    bed.stream.record(&end).unwrap();
    let early = end.nanoseconds_since(&start);
    latch.open();
    bed.stream.synchronize().unwrap();
    assert!(
        is_not_ready(&early) || (!bed.is_slow && early.is_ok()),
        "{early:?}"
    );
    assert!(end.nanoseconds_since(&start).unwrap() > 0.0);
}

pub(crate) fn events_are_in_the_order_of_their_stream<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let (host, memory) = (bed.host(LARGE), bed.device.alloc(LARGE).unwrap());
    let events = [0; 4].map(|_| bed.device.event().unwrap());
    for event in &events {
        bed.stream.record(event).unwrap();
        bed.stream
            .host_to_device((&memory, 0), (&host, 0), LARGE)
            .unwrap();
    }
    bed.stream.synchronize().unwrap();
    let mut sum = 0.0;
    for pair in events.windows(2) {
        let step = pair[1].nanoseconds_since(&pair[0]).unwrap();
        assert!(step > 0.0, "{step}");
        sum += step;
    }
    // Times add up; a driver gives them as milliseconds in 32 bits, good to a part in 8 million, and 0.5 us each.
    let all = events[3].nanoseconds_since(&events[0]).unwrap();
    assert!((all - sum).abs() <= all * 1e-6 + 2000.0, "{all} {sum}");
}

pub(crate) fn work_of_a_stream_is_done_in_order<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let patterns = [1, 2, 3].map(|number| Pattern::of(number, 0, LARGE as u64));
    let from = patterns.map(|pattern| bed.host_filled(pattern, LARGE));
    let to = [0; 3].map(|_| bed.host(LARGE));
    let (first, second) = (bed.device.alloc(LARGE), bed.device.alloc(LARGE));
    let (first, second) = (first.unwrap(), second.unwrap());
    // Each way uses the same two device buffers: any two steps that change places mix the patterns up.
    for (from, to) in from.iter().zip(&to) {
        bed.stream
            .host_to_device((&first, 0), (from, 0), LARGE)
            .unwrap();
        bed.stream
            .device_to_device((&second, 0), (&first, 0), LARGE)
            .unwrap();
        bed.stream
            .device_to_host((to, 0), (&second, 0), LARGE)
            .unwrap();
    }
    bed.stream.synchronize().unwrap();
    for (pattern, to) in patterns.iter().zip(&to) {
        let difference = to.with_bytes(|bytes| pattern.first_difference(bytes));
        assert_eq!(difference.unwrap(), None);
    }
}

pub(crate) fn two_streams_both_deliver<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let other = bed.device.stream().unwrap();
    let (in_pattern, out_pattern) = (Pattern::of(1, 2, 0), Pattern::of(2, 1, 0));
    let (from, into) = (
        bed.host_filled(in_pattern, LARGE),
        bed.poisoned(in_pattern, LARGE),
    );
    let (held, to) = (bed.filled(out_pattern, LARGE), bed.host(LARGE));
    bed.stream
        .host_to_device((&into, 0), (&from, 0), LARGE)
        .unwrap();
    other.device_to_host((&to, 0), (&held, 0), LARGE).unwrap();
    bed.stream.synchronize().unwrap();
    other.synchronize().unwrap();
    assert_eq!(in_pattern.first_difference(&bed.read(&into)), None);
    let difference = to.with_bytes(|bytes| out_pattern.first_difference(bytes));
    assert_eq!(difference.unwrap(), None);
}

pub(crate) fn a_graph_repeats_its_work_where_there_are_graphs<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let [old, new] = [1, 2].map(|number| Pattern::of(number, 0, 4096));
    let (host, to) = (bed.host_filled(old, 4096), bed.poisoned(old, 4096));
    let between = bed.poisoned(old, 4096);
    let mut called = false;
    let graph = bed.stream.capture(&mut || {
        called = true;
        bed.stream.host_to_device((&between, 0), (&host, 0), 4096)?;
        bed.stream.device_to_device((&to, 0), (&between, 0), 4096)
    });
    let Some(graph) = graph.unwrap() else {
        assert!(!called, "there are no graphs, and work was recorded");
        return;
    };
    assert_eq!(
        old.first_difference(&bed.read(&to)).unwrap().offset,
        0,
        "the capture copied"
    );
    // What it works on lives as long as the graph, and only a launch keeps the host away.
    drop(between);
    for pattern in [old, new] {
        host.with_bytes(|bytes| pattern.fill(bytes)).unwrap();
        bed.stream.launch(&graph).unwrap();
        assert!(matches!(touch(&host), Err(DeviceError::BufferInUse)));
        bed.stream.synchronize().unwrap();
        assert_eq!(pattern.first_difference(&bed.read(&to)), None);
    }
    let refused = host.with_bytes(|_| bed.stream.launch(&graph)).unwrap();
    assert!(
        matches!(refused, Err(DeviceError::BufferInUse)),
        "{refused:?}"
    );
    bed.works();
}
