//! The log, line by line as the libraries write it, and only what its variables ask for.

use crate::libraries::{MCCL, NCCL, RCCL, Tested};
use crate::processes::{Stage, is_child, plain};
use crate::rank::{F16, Rank};
use std::fs;

/// Two sums of 16 KiB, one of 256 KiB and a gather of 16 KiB from each rank.
fn calls() {
    let rank = Rank::join();
    let memory = rank.allocate(1 << 20);
    for count in [8192, 8192, 131_072] {
        rank.all_reduce(memory, memory, count, F16);
    }
    rank.all_gather(memory, memory + (rank.rank * 16384) as u64, 8192, F16);
    rank.synchronize();
}

/// The lines of both ranks with a log file and these variables. What is another at every run is replaced by a letter: machine,
/// process and thread by `M:P:T`, the communicator by `C` and its token by `D`.
fn lines(test: &str, tested: Tested, variables: &[(&str, &str)]) -> [Vec<String>; 2] {
    let mut stage = Stage::new(test, tested, &plain(tested));
    let pattern = stage.folder().join("log.%h.%p");
    let file = ("DEBUG_FILE", pattern.to_str().expect("UTF-8"));
    let own = [("DEBUG", "INFO"), file];
    stage.variables = variables
        .iter()
        .chain(&own)
        .map(|(name, value)| (format!("{}_{name}", tested.variables), (*value).to_owned()))
        .collect();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let host = host.trim().split('.').next().expect("a name").to_owned();
    let ranks: Vec<Vec<String>> = stage
        .pass(test, 2)
        .iter()
        .map(|printed| {
            let process = crate::processes::after(printed, "process ");
            let file = stage.folder().join(format!("log.{host}.{process}"));
            let text = fs::read_to_string(file).expect("the log is there");
            let start = format!("{host}:{process}:");
            text.lines()
                .map(|line| neutral(line, &start, &host))
                .collect()
        })
        .collect();
    ranks.try_into().expect("two ranks")
}

fn neutral(line: &str, start: &str, host: &str) -> String {
    let line = match line
        .strip_prefix(start)
        .and_then(|rest| rest.split_once(' '))
    {
        Some((thread, rest)) => {
            assert!(thread.parse::<u32>().is_ok(), "{line}");
            format!("M:P:T {rest}")
        }
        None => line.replace(host, "M"),
    };
    let words = line.split(' ').collect::<Vec<_>>();
    let is_after = |at: usize, name: &str| at > 0 && words[at - 1] == name;
    let word = |(at, word): (usize, &&str)| match word.starts_with("0x") {
        true if is_after(at, "comm") => "C".to_owned(),
        true if is_after(at, "commId") => "D".to_owned(),
        _ => (*word).to_owned(),
    };
    let words: Vec<String> = words.iter().enumerate().map(word).collect();
    words.join(" ")
}

#[test]
fn nccl_writes_who_joined_which_way_and_how() {
    if is_child() {
        calls();
        println!("process {}", std::process::id());
        return;
    }
    let test = "logs::nccl_writes_who_joined_which_way_and_how";
    let found = lines(test, NCCL, &[("DEBUG_SUBSYS", "INIT,TUNING")]);
    // The first devices of the box are 0000:21:00.0 and 0000:61:00.0.
    assert_eq!(
        found[0],
        [
            "M:P:T [0] NCCL INFO NCCL version 2.29.2+cuda13.0",
            "M:P:T [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
            "M:P:T [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM",
            "M:P:T [0] NCCL INFO comm C rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 21000 commId D - Init COMPLETE",
            // LL up to 64 KiB, by this library's own rule; the second call of a size writes nothing.
            "M:P:T [0] NCCL INFO AllReduce: 16384 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
            "M:P:T [0] NCCL INFO AllReduce: 262144 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}",
            "M:P:T [0] NCCL INFO AllGather: 16384 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
        ]
    );
    assert_eq!(
        found[1],
        [
            "M:P:T [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM",
            "M:P:T [1] NCCL INFO Channel 01/0 : 1[1] -> 0[0] via P2P/CUMEM",
            "M:P:T [1] NCCL INFO comm C rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 61000 commId D - Init COMPLETE",
        ]
    );
}

#[test]
fn rccl_and_mccl_write_it_in_their_words() {
    if is_child() {
        calls();
        println!("process {}", std::process::id());
        return;
    }
    let test = "logs::rccl_and_mccl_write_it_in_their_words";
    let subsystems = ("DEBUG_SUBSYS", "INIT,TUNING");
    let [first, second] = lines(test, RCCL, &[subsystems]);
    // The devices of the box are 0000:03:00.0 and 0000:06:00.0.
    assert_eq!(
        first[..3],
        [
            "M:P:T [0] NCCL INFO RCCL version : 2.27.7-HEAD:0000000",
            "M:P:T [0] NCCL INFO Channel 00/0 : 0[3000] -> 1[6000] via P2P/IPC comm C nRanks 02",
            "M:P:T [0] NCCL INFO Channel 01/0 : 0[3000] -> 1[6000] via P2P/IPC comm C nRanks 02",
        ]
    );
    assert_eq!(second.len(), 3, "{second:?}");
    let [_, second] = lines(test, RCCL, &[subsystems, ("P2P_DISABLE", "1")]);
    let shared = "M:P:T [1] NCCL INFO Channel 00 : 1[6000] -> 0[3000] via SHM/direct/direct comm C nRanks 02";
    assert_eq!(second[0], shared);

    let [first, second] = lines(test, MCCL, &[subsystems, ("P2P_DISABLE", "1")]);
    let tuned =
        "M:P:T [0] MCCL INFO AllReduce: 16384 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}";
    assert!(first.iter().any(|line| line == tuned), "{first:?}");
    assert_eq!(
        second[0],
        "M:P:T [1] MCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct"
    );
}
