//! Injected faults, and what a rank can do while another does not come.

use crate::processes::{Stage, is_child, pass, plain};
use crate::rank::{BF16, F32, Nccl, Rank, ok, open, own_id, own_rank, own_ranks};
use boxfile::{BoxFile, Fault};
use cudarc::driver::sys;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout};

fn with(fault: Fault) -> BoxFile {
    let mut described = plain();
    described.fault = vec![fault];
    described
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
        };
        pass(test, &with(fault), 2);
        return;
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
        pass(test, &with(fault), 1);
        return;
    }
    open(0);
    let nccl = Nccl::load();
    assert_eq!(nccl.join(own_id(), own_ranks(), own_rank()), Err(2));
    let (text, last) = nccl.words(2);
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
        };
        pass(test, &with(fault), 2);
        return;
    }
    let rank = Rank::join();
    let memory = rank.allocate(4);
    // The calls of a graph count each: three go well.
    let graph = rank.capture(|| {
        rank.all_reduce(memory, memory, 1, F32);
        rank.all_reduce(memory, memory, 1, F32);
    });
    ok!(sys::cuGraphLaunch(graph, rank.stream));
    rank.all_reduce(memory, memory, 1, F32);
    rank.synchronize();
    rank.all_reduce(memory, memory, 1, F32);
    for _ in 0..10 {
        // SAFETY: the stream is alive.
        let state = unsafe { sys::cuStreamQuery(rank.stream) };
        assert_eq!(state, sys::CUresult::CUDA_ERROR_NOT_READY);
    }
    // One thread waits for the stream; another can still use the driver and abort.
    let mut context = std::ptr::null_mut();
    ok!(sys::cuCtxGetCurrent(&mut context));
    let (stream, context) = (rank.stream as usize, context as usize);
    let waiting = std::thread::spawn(move || {
        ok!(sys::cuCtxSetCurrent(context as sys::CUcontext));
        ok!(sys::cuStreamSynchronize(stream as sys::CUstream));
    });
    ok!(sys::cuCtxSetCurrent(context as sys::CUcontext));
    assert!(!waiting.is_finished());
    assert_eq!(rank.nccl.end("ncclCommAbort", rank.comm), 0);
    waiting.join().expect("the wait ends");
    assert_eq!(rank.try_all_reduce(memory, memory, 1, F32), 4);
    ok!(sys::cuMemFree_v2(memory));
}

#[test]
fn a_rank_that_dies_is_killed_and_the_other_waits_without_end() {
    let test = "faults::a_rank_that_dies_is_killed_and_the_other_waits_without_end";
    if !is_child() {
        let fault = Fault::CollectiveDeath {
            rank: 1,
            after_calls: 1,
        };
        let stage = Stage::new(test, &with(fault));
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
