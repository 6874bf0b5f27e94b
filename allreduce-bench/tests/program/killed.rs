//! `kill -9` of a rank and of the parent at several moments: nobody and no file is left, and what was measured until then loads.
//!
//! Memory that ranks share has no name in any file system: it goes with the last process that has it. What has a name would lie in
//! the folder for temporary files, which each of these runs has for itself, or in `/dev/shm` under a name with the program's.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use boxfile::Fault;
use record::{CollectiveOutcome, CollectivePoint, Payload, Status, load};
use rustix::process::{Pid, Signal, kill_process};

use super::common::{Running, Scratch, exact_us, has_two_cpus, with};

/// Where it runs, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
enum On {
    /// In the second of two sizes, which takes seconds.
    Host,
    /// So many calls go well before the ranks stay in one for ever: none, the one that prepares, or those of the first size, which
    /// are 1 + (1 + 4) + 6 x (1 + 4) = 36.
    Soft(u64),
}

/// Every place and moment; the host backend only where each rank has a CPU.
fn all() -> Vec<On> {
    let soft = [0, 1, 36].map(On::Soft);
    let others = [On::Host];
    let is_there = |on: &On| *on != On::Host || has_two_cpus();
    soft.into_iter().chain(others).filter(is_there).collect()
}

impl On {
    fn program(self, scratch: &Scratch) -> Command {
        let how = [
            "--modes",
            "back-to-back",
            "--samples",
            "6",
            "--deadline",
            "60",
        ];
        let sizes = ["--sizes", "4K,8K,16K"];
        let mut command = match self {
            Self::Host => {
                let host = ["--backend", "host", "--gpus", "0,1", "--out", "out"];
                let sizes = ["--sizes", "4K,64M"];
                scratch.program([&host[..], &how[..], &sizes[..]].concat())
            }
            Self::Soft(after_calls) => {
                let stuck = with(Fault::CollectiveHang {
                    rank: 1,
                    after_calls,
                    protocol: None,
                });
                scratch.program(scratch.on(&stuck, &[&how[..], &sizes[..]].concat()))
            }
        };
        std::fs::create_dir(scratch.join("tmp")).unwrap();
        command.env("TMPDIR", scratch.join("tmp"));
        command
    }

    /// Starts it and waits until both ranks are where they stay.
    fn started(self, scratch: &Scratch) -> Running {
        let mut running = Running::start(self.program(scratch));
        // Which point it is at is told once the ranks have joined.
        running.until("points to measure");
        match self {
            Self::Soft(0 | 1) => {
                let begun = Instant::now();
                while !ranks(scratch).iter().all(|rank| shares_memory(*rank))
                    || ranks(scratch).len() < 2
                {
                    assert!(begun.elapsed() < Duration::from_secs(60), "no two ranks");
                    std::thread::yield_now();
                }
            }
            _ => scratch.until_a_point_is_kept(),
        }
        running
    }
}

/// The processes of a run that are ranks, in no order.
fn ranks(scratch: &Scratch) -> Vec<Pid> {
    let is_rank = |pid: &Pid| {
        let file = format!("/proc/{}/cmdline", pid.as_raw_nonzero());
        let line = std::fs::read(file).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"__rank")
    };
    scratch.processes().into_iter().filter(is_rank).collect()
}

/// Whether a rank has the memory that the ranks of a communicator share: it is joining, or has joined.
fn shares_memory(rank: Pid) -> bool {
    let file = format!("/proc/{}/maps", rank.as_raw_nonzero());
    let maps = std::fs::read_to_string(file).unwrap_or_default();
    maps.contains("memfd:tplens-soft-ccl")
}

/// Nobody is left, and neither is a file of theirs.
fn nothing_is_left(scratch: &Scratch) {
    scratch.nobody_is_left();
    let left: Vec<_> = std::fs::read_dir(scratch.join("tmp"))
        .unwrap()
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let Ok(shared) = std::fs::read_dir(Path::new("/dev/shm")) else {
        return;
    };
    for file in shared.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        assert!(
            !name.contains("tplens") && !name.contains("allreduce"),
            "{name}"
        );
    }
}

#[test]
fn a_parent_that_is_killed_leaves_nothing_but_a_journal_that_is_shown() {
    for on in all() {
        let scratch = Scratch::new();
        let running = on.started(&scratch);
        running.signal(Signal::KILL);
        assert_eq!(running.end().code, 128 + 9);
        nothing_is_left(&scratch);
        let record = load(&scratch.join("out")).unwrap();
        assert_eq!(record.status, Status::Broken, "{on:?}");
        assert!(matches!(record.payload, Payload::Collectives(_)));
        let shown = scratch.run(&["show", "out"]);
        assert_eq!(shown.code, 0, "{on:?}: {}", shown.stderr);
    }
}

#[test]
fn a_rank_that_is_killed_is_named_and_nothing_is_left() {
    for on in all() {
        let scratch = Scratch::new();
        let mut running = on.started(&scratch);
        let victim = *ranks(&scratch).last().unwrap();
        kill_process(victim, Signal::KILL).unwrap();
        running.until("signal: 9");
        let kept = match on {
            // Fresh ranks do the third size, which ends before the call that hangs; on host memory there is none left.
            On::Soft(36) | On::Host => scratch.left(running.end()),
            _ => {
                running.signal(Signal::INT);
                scratch.left(running.end())
            }
        };
        nothing_is_left(&scratch);
        let points = &kept.collectives().points;
        let died = |point: &&CollectivePoint| matches!(&point.outcome, CollectiveOutcome::Failed { reason } if reason.contains("signal: 9"));
        assert_eq!(points.iter().filter(died).count(), 1, "{on:?}: {points:?}");
        if on == On::Soft(36) {
            assert_eq!((kept.ran.code, points.len()), (3, 3));
            exact_us(&points[2].outcome);
        }
        let shown = scratch.run(&["show", "out"]);
        assert_eq!((shown.code, shown.stdout), (0, kept.ran.stdout));
    }
}
