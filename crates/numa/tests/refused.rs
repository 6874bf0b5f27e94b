//! What is reported where the calls that place threads and memory are refused, as a container's seccomp profile does.
//!
//! A filter stays for good, so each check runs in a process of its own: this test program again, with one test.

use std::fs::File;
use std::io::Write as _;
use std::process::Command;
use std::thread;

use numa::{
    Applied, Binding, Errno, GET_MEMPOLICY, HostPages, MOVE_PAGES, MemoryPolicy, NumaError,
    Placement, PolicyGuard, allowed_cpus, answering_call, pin_process, pin_thread_to_cpus,
    placement, refuse_calls,
};

/// Set in the process that carries the filter.
const INSIDE: &str = "TPLENS_NUMA_TEST_INSIDE";

/// EPERM of Linux.
const EPERM: Errno = Errno(1);

/// What this machine refuses by itself, as default container profiles do: with more than one call refused, nothing shows which.
fn refused_anyway() -> Option<NumaError> {
    let asked = on_node_0().and_then(|pages| pages.proof().map(drop).map_err(Clone::clone));
    let policy = thread::spawn(|| PolicyGuard::set(&MemoryPolicy::Bind(vec![0])).map(drop));
    let policy = policy.join().expect("a thread");
    let by_move_pages = answering_call() == Some(MOVE_PAGES);
    let other = NumaError::Query {
        errno: EPERM,
        instead: None,
    };
    let refused = [asked.err(), policy.err(), (!by_move_pages).then_some(other)];
    refused.into_iter().flatten().find(NumaError::is_forbidden)
}

/// Runs a test again in a process where calls are refused, and the check there; gives whether this is that process.
fn without(calls: &[&str], test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        refuse_calls(calls).expect("a filter of calls");
        return true;
    }
    if let Some(error) = refused_anyway() {
        if let Some(log) = std::env::var_os("TPLENS_SKIP_LOG") {
            let log = File::options().append(true).create(true).open(log);
            writeln!(log.expect("the skip log"), "numa: {error}").expect("a line in the skip log");
        }
        return false;
    }
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            &format!("refused::{test}"),
            "--nocapture",
            "--test-threads=1",
        ])
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
fn memory_is_proven_by_the_other_call_where_move_pages_alone_is_refused() {
    let name = "memory_is_proven_by_the_other_call_where_move_pages_alone_is_refused";
    if !without(&["move_pages"], name) {
        return;
    }
    let mut pages = on_node_0().expect("memory");
    // 1 MiB of whole pages, each of them there because it was touched.
    let page_bytes = pages.proof().expect("an answer").page_bytes;
    let count = (1_u64 << 20) / page_bytes as u64;
    for answer in [
        pages.proof().expect("an answer").clone(),
        pages.placement_of_all().expect("an answer"),
    ] {
        assert_eq!(answer.by, GET_MEMPOLICY);
        assert_eq!((answer.asked, answer.single_node()), (count, Some(0)));
    }
    assert_eq!(answering_call(), Some(GET_MEMPOLICY));
    // Nothing else moves pages of a region, so that this stays refused, and the proof as it was.
    let refused = NumaError::Move {
        node: 0,
        errno: EPERM,
    };
    assert_eq!(pages.move_to(0).err(), Some(refused));
    assert_eq!(pages.proven_node(), Some(0));
}

#[test]
fn the_other_call_makes_no_page_and_takes_no_page_that_was_only_read() {
    let name = "the_other_call_makes_no_page_and_takes_no_page_that_was_only_read";
    if !without(&["move_pages"], name) {
        return;
    }
    const MIB: usize = 1 << 20;
    // An allocation of this size is mapped afresh. Zeroed memory is mapped and not written; a read maps the zero page.
    let memory = vec![0_u8; 64 * MIB];
    let inside = memory.as_ptr() as usize + 8 * MIB;
    for _ in 0..2 {
        let answer = placement(inside, MIB).expect("an answer");
        assert_eq!(answer.not_present, answer.asked);
        assert_eq!(answer.single_node(), None);
    }
    let read: u64 = memory[8 * MIB..9 * MIB]
        .iter()
        .map(|&byte| u64::from(byte))
        .sum();
    assert_eq!(std::hint::black_box(read), 0);
    let answer = placement(inside, MIB).expect("an answer");
    // EFAULT is 14, as move_pages answers for the zero page.
    assert_eq!(answer.unanswered.get(&14), Some(&answer.asked));
    assert_eq!(answer.single_node(), None);
}

#[test]
fn memory_is_not_proven_where_both_questions_are_refused() {
    if !without(
        &["move_pages", "get_mempolicy"],
        "memory_is_not_proven_where_both_questions_are_refused",
    ) {
        return;
    }
    // The bind is granted, so there is memory; that it is where it was wanted is proven by nobody.
    let mut pages = on_node_0().expect("memory");
    let refused = NumaError::Query {
        errno: EPERM,
        instead: Some((GET_MEMPOLICY, EPERM)),
    };
    assert_eq!(pages.proof().err(), Some(&refused));
    assert_eq!(pages.proven_node(), None);
    assert_eq!(answering_call(), None);
    let said = refused.to_string();
    assert!(
        said.contains("(move_pages) was refused") && said.contains("and get_mempolicy: "),
        "{said}"
    );
    assert_eq!(placement(pages.as_ptr() as usize, 1), Err(refused));
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
