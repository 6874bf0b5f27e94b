//! Programs that are started bound: their CPUs and their memory.
//!
//! The machine that runs the tests needs node 0 and one CPU.

use std::path::Path;
use std::process::Command;
use std::thread;

use numa::{NumaError, allowed_cpus, bind_thread};

/// Notes that this test skips what is left of it.
fn skip(reason: &str) {
    use std::io::Write;
    if let Some(log) = std::env::var_os("TPLENS_SKIP_LOG") {
        let log = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(log);
        writeln!(log.expect("the skip log"), "numa: {reason}").expect("a line in the skip log");
    }
}

fn unless_forbidden<T>(result: Result<T, NumaError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) if error.is_forbidden() => {
            skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_program_inherits_the_cpus_and_the_policy_of_the_thread_that_starts_it() {
    let allowed = allowed_cpus().unwrap();
    let first = allowed[0];
    let bound = thread::spawn(move || {
        for refused in bind_thread(&[first], &[0]) {
            unless_forbidden::<()>(Err(refused))?;
        }
        let files = ["/proc/self/status", "/proc/self/numa_maps"];
        Some(Command::new("cat").args(files).output().expect("cat"))
    });
    let Some(output) = bound.join().unwrap() else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains(&format!("Cpus_allowed_list:\t{first}\n")),
        "{said}"
    );
    // Each mapping without a policy of its own shows the process's; a kernel without NUMA has no such file.
    if Path::new("/proc/self/numa_maps").exists() {
        assert!(
            said.lines()
                .any(|line| line.contains(" bind:0 ") && line.contains("stack")),
            "{said}"
        );
    }
    // The thread that is not bound is as before.
    assert_eq!(allowed_cpus().unwrap(), allowed);
}
