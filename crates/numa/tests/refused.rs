//! What is reported where the calls that place threads and memory are refused, as a container's seccomp profile does.
//!
//! A filter stays for good, so each check runs in a process of its own: this test program again, with one test.

use std::process::Command;

use numa::{
    Applied, Binding, Errno, HostPages, MemoryPolicy, NumaError, Placement, PolicyGuard,
    allowed_cpus, pin_process, pin_thread_to_cpus, placement, refuse_calls,
};

/// Set in the process that carries the filter.
const INSIDE: &str = "TPLENS_NUMA_TEST_INSIDE";

/// EPERM of Linux.
const EPERM: Errno = Errno(1);

/// Runs a test again in a process where calls are refused, and the check there; gives whether this is that process.
fn without(calls: &[&str], test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        refuse_calls(calls).expect("a filter of calls");
        return true;
    }
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .expect("this program again");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complained}");
    assert!(said.contains("1 passed"), "{said}");
    false
}

fn on_node_0() -> Result<HostPages, NumaError> {
    HostPages::allocate(
        1 << 20,
        &Placement {
            node: Some(0),
            ..Placement::default()
        },
    )
}

#[test]
fn a_refused_bind_gives_no_memory() {
    if !without(&["mbind"], "a_refused_bind_gives_no_memory") {
        return;
    }
    let error = on_node_0().expect_err("a refusal");
    assert!(matches!(error, NumaError::Bind { node: 0, errno, .. } if errno == EPERM));
    assert_eq!(error.call(), Some("mbind"));
    assert!(error.is_forbidden());
    let said = error.to_string();
    assert!(
        said.contains("NUMA node 0") && said.contains("--cap-add SYS_NICE"),
        "{said}"
    );
    // Memory that nobody wanted on a node is there all the same, and its place can be asked.
    let anywhere = HostPages::allocate(1 << 20, &Placement::default()).expect("memory");
    assert_eq!(anywhere.asked().node, None);
    assert!(anywhere.proof().is_ok());
}

#[test]
fn memory_is_not_proven_where_the_question_is_refused() {
    if !without(
        &["move_pages"],
        "memory_is_not_proven_where_the_question_is_refused",
    ) {
        return;
    }
    // The bind is granted, so there is memory; that it is where it was wanted is proven by nobody.
    let mut pages = on_node_0().expect("memory");
    assert_eq!(
        pages.proof().err(),
        Some(&NumaError::Query { errno: EPERM })
    );
    assert_eq!(pages.proven_node(), None);
    assert_eq!(
        placement(pages.as_ptr() as usize, 1),
        Err(NumaError::Query { errno: EPERM })
    );
    assert_eq!(
        pages.move_to(0).err(),
        Some(NumaError::Move {
            node: 0,
            errno: EPERM
        })
    );
    assert_eq!(pages.proven_node(), None);
}

#[test]
fn a_refused_policy_is_said_and_the_cpus_are_bound_all_the_same() {
    let name = "a_refused_policy_is_said_and_the_cpus_are_bound_all_the_same";
    if !without(&["set_mempolicy"], name) {
        return;
    }
    let cpus = allowed_cpus().expect("CPUs")[..1].to_vec();
    let memory = MemoryPolicy::Bind(vec![0]);
    let refused = NumaError::Policy {
        policy: "bind to nodes [0]".to_owned(),
        errno: EPERM,
    };
    let binding = Binding {
        cpus: cpus.clone(),
        memory: memory.clone(),
    };
    let applied = binding.apply();
    assert_eq!(
        applied,
        Applied {
            cpus: Ok(()),
            memory: Err(refused.clone()),
        }
    );
    assert_eq!(applied.refusals().collect::<Vec<_>>(), [&refused]);
    assert_eq!(allowed_cpus(), Ok(cpus));
    assert_eq!(PolicyGuard::set(&memory).err(), Some(refused));
}

#[test]
fn refused_cpus_are_said() {
    if !without(&["sched_setaffinity"], "refused_cpus_are_said") {
        return;
    }
    let cpus = allowed_cpus().expect("CPUs");
    let refused = NumaError::Pin {
        cpus: cpus.clone(),
        errno: EPERM,
    };
    assert_eq!(pin_thread_to_cpus(&cpus), Err(refused));
    let own = std::process::id();
    let error = pin_process("/proc".as_ref(), own, &cpus).expect_err("a refusal");
    assert!(
        matches!(error, NumaError::Process { call: "sched_setaffinity", errno, .. } if errno == EPERM)
    );
    assert!(
        error.to_string().contains(&format!("process {own}")),
        "{error}"
    );
}

#[test]
fn a_name_that_is_no_such_call_is_refused_before_anything_is() {
    let error = refuse_calls(&["mbind", "open"]).expect_err("no such call");
    let said = error.to_string();
    assert!(
        said.contains("`open`") && said.contains("move_pages"),
        "{said}"
    );
    assert!(on_node_0().is_ok_and(|pages| pages.len() == 1 << 20));
}
