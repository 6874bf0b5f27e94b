//! Programs that are started bound, and processes that run already: their CPUs, their memory and their pages.
//!
//! The machine that runs the tests needs node 0 and one CPU.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use numa::{NumaError, allowed_cpus, bind_thread, move_process_memory, pin_process};

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

/// A process that runs until its input ends; dropping it ends it.
struct Waiting(Child);

impl Waiting {
    fn start() -> Self {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("cat");
        // What comes back shows that it runs its own program.
        let input = child.stdin.as_mut().expect("its input");
        std::io::Write::write_all(input, b"x").expect("a byte");
        let output = child.stdout.as_mut().expect("its output");
        output.read_exact(&mut [0]).expect("the byte");
        Self(child)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
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

#[test]
fn a_running_process_is_pinned_and_shows_it() {
    let other = Waiting::start();
    let pid = other.0.id();
    let cpus = vec![*allowed_cpus().unwrap().last().unwrap()];
    let Some(pinned) = unless_forbidden(pin_process(pid, &cpus)) else {
        return;
    };
    assert_eq!(pinned, 1);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = format!("Cpus_allowed_list:\t{}\n", cpus[0]);
    assert!(status.contains(&line), "{status}");
    assert_eq!(pin_process(pid, &[]), Err(NumaError::NoCpu));
    if let Some(left) = unless_forbidden(move_process_memory(pid, &[0], &[0])) {
        assert_eq!(left, 0);
    }
}

#[test]
fn a_process_that_is_not_there_is_named() {
    // The kernel gives out at most 2^22 numbers.
    let nobody = 4_194_305;
    for error in [
        pin_process(nobody, &[0]).err(),
        move_process_memory(nobody, &[0], &[0]).err(),
    ] {
        let said = error.unwrap().to_string();
        assert!(said.contains("4194305"), "{said}");
    }
}
