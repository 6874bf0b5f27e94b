//! On which CPU a host device's copies are made. A process of its own, because it looks at all threads of its process.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::fs;

use device::host::Host;
use device::{Backend, Device};

use crate::process::again;

/// Set in the process that holds this test alone.
const ALONE: &str = "TPLENS_DEVICE_TEST_ALONE";

/// The threads of this process, by their kernel's id.
fn threads() -> BTreeSet<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks
        .filter_map(|task| task.file_name().into_string().ok())
        .collect()
}

/// The CPUs that the one thread which `start` starts may run on, as the kernel lists them.
fn cpus_of_new_thread<T>(start: impl FnOnce() -> T) -> (T, String) {
    let before = threads();
    let started = start();
    let after = threads();
    let new: Vec<&String> = after.difference(&before).collect();
    assert_eq!(new.len(), 1, "{new:?}");
    let status = fs::read_to_string(format!("/proc/self/task/{}/status", new[0])).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    (started, line.unwrap().trim().to_owned())
}

#[test]
fn the_first_stream_of_a_device_works_on_the_cpu_that_its_description_names() {
    if std::env::var_os(ALONE).is_none() {
        let name = "host_threads::the_first_stream_of_a_device_works_on_the_cpu_that_its_description_names";
        let alone = again()
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&alone.stdout);
        assert!(
            alone.status.success() && out.contains("1 passed"),
            "{out}{}",
            String::from_utf8_lossy(&alone.stderr)
        );
        return;
    }
    let host = Host::open().unwrap();
    for description in host.devices() {
        let device = host.device(description.ordinal).unwrap();
        let own = description.cpu.unwrap().to_string();
        assert!(description.name.ends_with(&format!("CPU {own}")));
        // Twice: a stream that is gone leaves its CPU to the next.
        for _ in 0..2 {
            let (stream, cpus) = cpus_of_new_thread(|| device.stream().unwrap());
            assert_eq!(cpus, own, "{}", description.name);
            drop(stream);
        }
    }
}
