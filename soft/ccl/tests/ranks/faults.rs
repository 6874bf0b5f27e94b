//! Injected faults, and what a rank can do while another does not come.

use crate::driver::Pointer;
use crate::libraries::{ALL, NCCL, RCCL, Tested};
use crate::processes::{Stage, is_child, pass, plain};
use crate::rank::{BF16, Ccl, F32, Rank, driver, own_id, own_rank, own_ranks};
use boxfile::{BoxFile, Fault, Protocol};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout};

fn with(tested: Tested, fault: Fault) -> BoxFile {
    let mut described = plain(tested);
    described.fault = vec![fault];
    described
}

/// Runs a test in so many ranks of every library, on its plain box with a fault.
fn pass_with(test: &str, fault: &Fault, ranks: usize) {
    for tested in ALL {
        pass(test, tested, &with(tested, fault.clone()), ranks);
    }
}

/// Reads what a child prints up to a word. No clock is needed: the child prints it right before it calls.
fn read_to(child: &mut Child, word: &str) -> BufReader<ChildStdout> {
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    while !line.contains(word) {
        line.clear();
        let read = lines.read_line(&mut line).expect("reads");
        assert!(read > 0, "the child never said {word:?}");
    }
    lines
}

#[test]
fn a_wrong_sum_is_wrong_on_its_rank_from_its_call_on() {
    if !is_child() {
        let test = "faults::a_wrong_sum_is_wrong_on_its_rank_from_its_call_on";
        let fault = Fault::CollectiveWrong {
            rank: 1,
            after_calls: 2,
            captured: false,
        };
        return pass_with(test, &fault, 2);
    }
    let rank = Rank::join();
    let (from, to) = (rank.allocate(16), rank.allocate(16));
    // bf16 1.0 is 0x3f80 and 2.0 is 0x4000.
    rank.upload(from, &0x3f80_u16.to_ne_bytes().repeat(8));
    for call in 0..4 {
        rank.all_reduce(to, from, 8, BF16);
        let right = rank.download(to, 16) == 0x4000_u16.to_ne_bytes().repeat(8);
        assert_eq!(right, rank.rank == 0 || call < 2, "call {call}");
    }
}

#[test]
fn joining_fails_with_the_code_of_the_box() {
    if !is_child() {
        let test = "faults::joining_fails_with_the_code_of_the_box";
        let fault = Fault::CollectiveInitFailure { rank: 0, code: 2 };
        return pass_with(test, &fault, 1);
    }
    let driver = driver();
    driver.open(0);
    let ccl = Ccl::load();
    assert_eq!(ccl.join(own_id(), own_ranks(), own_rank()), Err(2));
    let (text, last) = ccl.words(2);
    assert!(text.starts_with("unhandled system error"), "{text}");
    assert!(last.contains("injected"), "{last}");
}

#[test]
fn a_rank_that_stays_away_holds_all_up_until_they_abort() {
    if !is_child() {
        let test = "faults::a_rank_that_stays_away_holds_all_up_until_they_abort";
        let fault = Fault::CollectiveHang {
            rank: 1,
            after_calls: 3,
            protocol: None,
        };
        return pass_with(test, &fault, 2);
    }
    let rank = Rank::join();
    let memory = rank.allocate(4);
    // The calls of a graph count each: three go well.
    let graph = rank.capture(|| {
        rank.all_reduce(memory, memory, 1, F32);
        rank.all_reduce(memory, memory, 1, F32);
    });
    rank.launch(graph);
    rank.all_reduce(memory, memory, 1, F32);
    rank.synchronize();
    rank.all_reduce(memory, memory, 1, F32);
    assert_hangs_and_abort(rank, memory);
}

/// Sees that the work in the stream does not end, and that another thread can still use the driver and abort.
fn assert_hangs_and_abort(rank: Rank, memory: u64) {
    std::thread::scope(|scope| {
        let (stream, driver, own) = (rank.stream as usize, &rank.driver, rank.rank);
        let waiting = scope.spawn(move || {
            driver.open(own);
            driver.synchronize(stream as Pointer);
        });
        assert!(!waiting.is_finished());
        assert_eq!(rank.ccl.end("CommAbort", rank.comm), 0);
        waiting.join().expect("the wait ends");
    });
    assert_eq!(rank.try_all_reduce(memory, memory, 1, F32), 4);
    rank.driver.free(memory);
}

/// As an R9700 with RCCL of ROCm 7.2: calls in LL never end, and without LL all goes well.
#[test]
fn a_fault_of_a_protocol_hangs_its_calls_only() {
    let test = "faults::a_fault_of_a_protocol_hangs_its_calls_only";
    if !is_child() {
        let fault = Fault::CollectiveHang {
            rank: 0,
            after_calls: 0,
            protocol: Some(Protocol::Ll),
        };
        let mut stage = Stage::new(test, RCCL, &with(RCCL, fault));
        stage.pass(test, 2);
        stage.variables = vec![("NCCL_PROTO".to_owned(), "Simple".to_owned())];
        stage.pass(test, 2);
        return;
    }
    let rank = Rank::join();
    let memory = rank.allocate(1 << 20);
    // 128 KiB are above the 64 KiB up to which a call of such a table runs in LL.
    rank.all_reduce(memory, memory, 32768, F32);
    rank.synchronize();
    rank.all_reduce(memory, memory, 1, F32);
    if std::env::var_os("NCCL_PROTO").is_some() {
        return rank.synchronize();
    }
    assert_hangs_and_abort(rank, memory);
}

#[test]
fn a_rank_that_dies_is_killed_and_the_other_waits_without_end() {
    let test = "faults::a_rank_that_dies_is_killed_and_the_other_waits_without_end";
    if !is_child() {
        let fault = Fault::CollectiveDeath {
            rank: 1,
            after_calls: 1,
        };
        let stage = Stage::new(test, NCCL, &with(NCCL, fault));
        let mut children = stage.start(test, 2);
        let died = children[1].wait().expect("waited");
        // SIGKILL.
        assert_eq!(died.signal(), Some(9));
        let rest = read_to(&mut children[0], "waits");
        assert!(
            children[0].try_wait().expect("asked").is_none(),
            "the call returned"
        );
        children[0].kill().expect("killed");
        children[0].wait().expect("waited");
        let rest: Vec<String> = rest.lines().map_while(Result::ok).collect();
        assert!(!rest.join("\n").contains("returned"), "{rest:?}");
        return;
    }
    let rank = Rank::join();
    let memory = rank.allocate(4);
    rank.all_reduce(memory, memory, 1, F32);
    rank.synchronize();
    rank.all_reduce(memory, memory, 1, F32);
    println!("waits");
    rank.synchronize();
    println!("returned");
}
