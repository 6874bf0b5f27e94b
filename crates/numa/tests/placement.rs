//! Threads and memory placed on the machine that runs the tests.
//!
//! The tests need node 0 and one CPU. Where a sandbox forbids the calls, as default container profiles do, a test checks
//! that the refusal is reported as one, notes in the file that `TPLENS_SKIP_LOG` names that it skips the rest, and ends.

use std::fs;
use std::io::Write;
use std::thread;

use numa::{
    Errno, HostPages, MOVE_PAGES, NumaError, PagePlacement, Placement, PolicyGuard, allowed_cpus,
    current_cpu_and_node, pin_thread_to_cpus, placement,
};

const MIB: usize = 1 << 20;
/// The highest number a kernel can have; no machine that runs the tests has so many nodes.
const NO_NODE: u32 = 1023;

/// Notes that this test skips what is left of it, so that it counts as skipped and not as passed; once a test.
fn skip(reason: &str) {
    if let Some(log) = std::env::var_os("TPLENS_SKIP_LOG") {
        let log = fs::OpenOptions::new().append(true).create(true).open(log);
        writeln!(log.expect("the skip log"), "numa: {reason}").expect("a line in the skip log");
    }
}

/// The value, or `None` and a noted skip where the system forbids the call; any other error fails the test.
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

/// A line of `/proc/thread-self/status`, which the kernel writes for the calling thread.
fn status(name: &str) -> String {
    let text = fs::read_to_string("/proc/thread-self/status").expect("procfs");
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .expect("a line of that name")
        .trim()
        .to_owned()
}

fn page_bytes(placement: &PagePlacement) -> u64 {
    placement.page_bytes as u64
}

fn on_node_0(bytes: usize) -> Option<HostPages> {
    unless_forbidden(HostPages::allocate(
        bytes,
        &Placement {
            node: Some(0),
            ..Placement::default()
        },
    ))
}

#[test]
fn a_pinned_thread_runs_where_it_was_pinned() {
    thread::spawn(|| {
        for cpu in allowed_cpus().unwrap() {
            pin_thread_to_cpus(&[cpu]).unwrap();
            assert_eq!(status("Cpus_allowed_list"), cpu.to_string());
            assert_eq!(allowed_cpus().unwrap(), [cpu]);
            let running = current_cpu_and_node().unwrap();
            assert_eq!(running.cpu, cpu);
            let node = format!("/sys/devices/system/cpu/cpu{cpu}/node{}", running.node);
            // A kernel without NUMA has no such link for any node.
            let numa = fs::exists("/sys/devices/system/node/node0").unwrap();
            assert_eq!(fs::exists(node).unwrap(), numa);
        }
    })
    .join()
    .unwrap();
}

#[test]
fn cpus_that_do_not_exist_are_refused_and_named() {
    assert_eq!(pin_thread_to_cpus(&[]), Err(NumaError::NoCpu));
    for cpu in [65_535, usize::MAX] {
        let error = pin_thread_to_cpus(&[cpu]).unwrap_err();
        // EINVAL is 22.
        assert_eq!(error.errno(), Some(Errno(22)));
        assert!(error.to_string().contains(&cpu.to_string()));
    }
}

#[test]
fn memory_bound_to_node_0_is_proven_to_be_there() {
    let Some(mut pages) = on_node_0(4 * MIB + 1) else {
        return;
    };
    if let Some(policy) = policy_of_mapping(&pages) {
        assert_eq!(policy, "bind:0");
    }
    let Some(proof) = unless_forbidden(placement(pages.as_ptr() as usize, pages.len())) else {
        return;
    };
    // 4 MiB and one byte: one page more than 4 MiB has, all of them asked about.
    let expected = 4 * MIB as u64 / page_bytes(&proof) + 1;
    assert_eq!(proof.pages, expected);
    assert_eq!(proof.asked, expected);
    assert_eq!(
        proof.per_node.into_iter().collect::<Vec<_>>(),
        [(0, expected)]
    );
    assert_eq!(pages.len(), 4 * MIB + 1);
    assert!(pages.as_slice().iter().all(|&byte| byte == 0));
    pages.as_mut_slice().fill(7);
    assert_eq!(pages.as_slice()[4 * MIB], 7);
}

#[test]
fn a_node_that_does_not_exist_is_refused_and_named() {
    for node in [NO_NODE, 1024, u32::MAX] {
        let asked = Placement {
            node: Some(node),
            ..Placement::default()
        };
        let error = HostPages::allocate(MIB, &asked).unwrap_err();
        assert!(matches!(error, NumaError::Bind { node: named, bytes: MIB, .. } if named == node));
        let text = error.to_string();
        assert!(
            text.contains(&format!("NUMA node {node} was refused")),
            "{text}"
        );
    }
}

#[test]
fn locked_memory_is_locked_or_the_limit_is_named() {
    let asked = Placement {
        lock: true,
        ..Placement::default()
    };
    match HostPages::allocate(64 * 1024, &asked) {
        Ok(pages) => assert_eq!(locked_kib(&pages), Some(64)),
        Err(error) => assert!(error.to_string().contains("RLIMIT_MEMLOCK is "), "{error}"),
    }
}

/// `Locked:` of the mapping that starts at the region, from `/proc/self/smaps`, in KiB.
fn locked_kib(pages: &HostPages) -> Option<u64> {
    let start = format!("{:x}-", pages.as_ptr() as usize);
    let smaps = fs::read_to_string("/proc/self/smaps").expect("procfs");
    let mut lines = smaps.lines().skip_while(|line| !line.starts_with(&start));
    let line = lines.find_map(|line| line.strip_prefix("Locked:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[test]
fn pages_that_were_never_touched_are_not_present() {
    // An allocation of this size is mapped afresh; its first page may hold the allocator's own words, the rest nothing.
    let untouched: Vec<u8> = Vec::with_capacity(64 * MIB);
    let inside = untouched.as_ptr() as usize + MIB;
    let Some(answer) = unless_forbidden(placement(inside, MIB)) else {
        return;
    };
    assert_eq!(answer.not_present, answer.asked);
    assert_eq!(answer.single_node(), None);
}

#[test]
fn addresses_that_are_not_mapped_get_an_error_number_and_no_node() {
    // Nothing can be mapped at the bottom of the address space: EFAULT, 14.
    let Some(nowhere) = unless_forbidden(placement(0, 1)) else {
        return;
    };
    if nowhere.by != MOVE_PAGES {
        return skip("move_pages is refused, and the other call tells no error number of its own");
    }
    assert_eq!(
        (nowhere.pages, nowhere.asked, nowhere.not_present),
        (1, 1, 0)
    );
    assert_eq!(
        nowhere.unanswered.into_iter().collect::<Vec<_>>(),
        [(14, 1)]
    );
    assert!(nowhere.per_node.is_empty());
    let empty = placement(4096, 0).unwrap();
    assert_eq!((empty.pages, empty.single_node()), (0, None));
}

#[test]
fn a_large_region_is_sampled_and_says_so() {
    // 4097 pages and more of any page size up to 4 KiB; where pages are larger, all are asked about.
    let Some(pages) = on_node_0(32 * MIB) else {
        return;
    };
    let Some(proof) = unless_forbidden(placement(pages.as_ptr() as usize, pages.len())) else {
        return;
    };
    let all = 32 * MIB as u64 / page_bytes(&proof);
    assert_eq!((proof.pages, proof.asked), (all, all.min(4096)));
    assert_eq!(proof.single_node(), Some(0));
    // Each page counts once, whichever part it was asked in.
    let whole = pages.placement_of_all().unwrap();
    assert_eq!((whole.pages, whole.asked), (all, all));
    assert_eq!((whole.single_node(), whole.per_node[&0]), (Some(0), all));
}

/// The policy of the region itself, as `/proc/self/numa_maps` writes it; `None` where the kernel has no such file.
///
/// The lines are sorted and begin with the address where they start; neighbours of one policy share a line.
fn policy_of_mapping(pages: &HostPages) -> Option<String> {
    let maps = fs::read_to_string("/proc/self/numa_maps").ok()?;
    let begins_before = |line: &&str| {
        let start = line.split_whitespace().next().expect("an address");
        usize::from_str_radix(start, 16).expect("an address") <= pages.as_ptr() as usize
    };
    let line = maps.lines().take_while(begins_before).last()?;
    line.split_whitespace().nth(1).map(str::to_owned)
}

/// The policy of the calling thread, as `/proc/thread-self/numa_maps` writes it for the thread's own stack.
fn policy_of_thread() -> Option<String> {
    let maps = fs::read_to_string("/proc/thread-self/numa_maps").ok()?;
    // Heap and stacks have no policy of their own, so that their lines show the thread's.
    let line = maps
        .lines()
        .find(|line| line.contains(" heap") || line.contains(" stack"))?;
    line.split_whitespace().nth(1).map(str::to_owned)
}

#[test]
fn a_policy_holds_while_its_guard_lives_and_is_restored() {
    thread::spawn(|| {
        let before = policy_of_thread();
        if before.is_none() {
            return skip("no numa_maps to compare a policy with");
        }
        let Some(guard) = unless_forbidden(PolicyGuard::bind(0)) else {
            return;
        };
        assert_eq!(policy_of_thread().as_deref(), Some("bind:0"));
        drop(guard);
        assert_eq!(policy_of_thread(), before);
    })
    .join()
    .unwrap();
}

#[test]
fn a_policy_for_a_missing_node_is_refused_and_named() {
    let error = PolicyGuard::bind(NO_NODE).unwrap_err();
    assert!(
        error.to_string().contains("bind to nodes [1023]"),
        "{error}"
    );
}
