//! Programs that are started bound, and processes that run already: their CPUs, their memory and their pages.
//!
//! The machine that runs the tests needs node 0 and one CPU.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use numa::{
    Binding, HostPages, MemoryPolicy, NumaError, Placement, allowed_cpus, allowed_nodes,
    move_process_memory, pin_process, process_memory, threads,
};

const MIB: usize = 1 << 20;

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

fn proc() -> &'static Path {
    Path::new("/proc")
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
        let binding = Binding {
            cpus: vec![first],
            memory: MemoryPolicy::Bind(vec![0]),
        };
        let applied = binding.apply();
        unless_forbidden(applied.cpus)?;
        unless_forbidden(applied.memory)?;
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
    let Some(pinned) = unless_forbidden(pin_process(proc(), pid, &cpus)) else {
        return;
    };
    assert_eq!(pinned, 1);
    let places = threads(proc(), pid).unwrap();
    assert_eq!(places.len(), 1);
    assert_eq!((places[0].id, &places[0].cpus_allowed), (pid, &cpus));
    assert!(places[0].last_cpu.is_some());
    assert_eq!(pin_process(proc(), pid, &[]), Err(NumaError::NoCpu));
}

#[test]
fn the_memory_of_a_process_is_on_node_0_and_moving_it_there_leaves_none_behind() {
    if !allowed_nodes().is_ok_and(|nodes| nodes == [0]) {
        return skip(
            "memory of more nodes than one is allowed, so that where it goes is not known",
        );
    }
    let other = Waiting::start();
    let pid = other.0.id();
    let memory = match process_memory(proc(), pid) {
        Ok(memory) => memory,
        Err(error) => return skip(&error.to_string()),
    };
    assert_eq!(memory.own.keys().copied().collect::<Vec<_>>(), [0]);
    assert!(memory.own[&0] > 0);
    assert_eq!(memory.fraction_on(&[0]), Some(1.0));
    assert_eq!(memory.fraction_on(&[1]), Some(0.0));
    if let Some(left) = unless_forbidden(move_process_memory(pid, &[0], &[0])) {
        assert_eq!(left, 0);
    }
}

#[test]
fn a_process_that_is_not_there_is_named() {
    // The kernel gives out at most 2^22 numbers.
    let nobody = 4_194_305;
    for error in [
        pin_process(proc(), nobody, &[0]).err(),
        threads(proc(), nobody).err(),
        process_memory(proc(), nobody).err(),
        move_process_memory(nobody, &[0], &[0]).err(),
    ] {
        let said = error.unwrap().to_string();
        assert!(said.contains("4194305"), "{said}");
    }
}

#[test]
fn the_allowed_nodes_are_those_of_procfs() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Mems_allowed_list:"));
    let Some(listed) = line.map(str::trim) else {
        return skip("no Mems_allowed_list");
    };
    let nodes = allowed_nodes().unwrap();
    let (first, last) = (
        listed.split(['-', ',']).next(),
        listed.rsplit(['-', ',']).next(),
    );
    assert_eq!(nodes.first().map(u32::to_string).as_deref(), first);
    assert_eq!(nodes.last().map(u32::to_string).as_deref(), last);
}

#[test]
fn pages_move_to_a_node_and_are_proven_there() {
    let on_node_0 = Placement {
        node: Some(0),
        ..Placement::default()
    };
    let Some(mut pages) = unless_forbidden(HostPages::allocate(MIB, &on_node_0)) else {
        return;
    };
    pages.as_mut_slice().fill(9);
    let Some(moved) = unless_forbidden(pages.move_to(0)) else {
        return;
    };
    assert_eq!(
        (moved.single_node(), pages.proven_node()),
        (Some(0), Some(0))
    );
    // ENODEV (19) or EINVAL (22), by kernel: no machine that runs the tests has a node 1023.
    let error = pages.move_to(1023).unwrap_err();
    assert!(
        matches!(&error, NumaError::Move { node: 1023, errno } if [19, 22].contains(&errno.0)),
        "{error:?}"
    );
    assert_eq!(pages.proven_node(), Some(0));
    assert!(pages.as_slice().iter().all(|&byte| byte == 9));
}
