//! What the soft driver's own calls cost, with work of another library that takes no time: on a wall clock a program's calls
//! cost the box's time and this.

use criterion::{Criterion, criterion_group, criterion_main};
use softbox::{Foreign, ForeignWork, Issued, SoftDriver, monotonic_ns, ordinals, patiently};
use std::sync::{Arc, Mutex};

/// Work that takes no time and moves nothing.
struct Nothing;

impl ForeignWork for Nothing {
    fn issue(&self, _captured: bool) -> Issued {
        Issued { ticket: 0, ns: 0.0 }
    }

    fn finish(&self, _ticket: u64, _wait: bool) -> bool {
        true
    }
}

fn calls(criterion: &mut Criterion) {
    for (clock, wall) in [("virtual", false), ("wall", true)] {
        let described = boxfile::BoxFile::builtin("l40x4").expect("built in");
        let driver = SoftDriver::new(described.clone(), ordinals(&described, None), None);
        let driver = Mutex::new(match wall {
            true => driver.on_wall_clock(),
            false => driver,
        });
        let (stream, at, event) = patiently(&driver, |driver| {
            driver.init()?;
            driver.retain(0)?;
            let event = driver.open_event(0, true)?;
            Ok((driver.open_stream(0)?, driver.allocate(0, 4096)?, event))
        })
        .expect("opens");
        let enqueue = || {
            let work = Foreign {
                work: Arc::new(Nothing),
                from: (at, 4096),
                to: (at, 4096),
                chain: 1,
                entered_ns: monotonic_ns(),
            };
            patiently(&driver, |driver| driver.enqueue(work.clone(), stream)).expect("enqueues");
        };
        let wait = || {
            patiently(&driver, |driver| driver.synchronize_stream(stream)).expect("waits");
        };
        criterion.bench_function(&format!("{clock}: enqueue and wait"), |bench| {
            bench.iter(|| {
                enqueue();
                wait();
            });
        });
        criterion.bench_function(
            &format!("{clock}: a hundred times enqueue, wait"),
            |bench| {
                bench.iter(|| {
                    (0..100).for_each(|_| enqueue());
                    wait();
                });
            },
        );
        criterion.bench_function(&format!("{clock}: record and wait"), |bench| {
            bench.iter(|| {
                patiently(&driver, |driver| driver.record(event, stream)).expect("records");
                wait();
            });
        });
    }
}

criterion_group!(benches, calls);
criterion_main!(benches);
