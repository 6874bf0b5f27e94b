//! The run whose log is read is another one than the runs that are timed.

use boxfile::{BoxFile, Fault};
use rustix::process::{Pid, Signal};

use super::common::{Running, Scratch, with};

/// Two L40 as they ship, without noise.
pub(crate) fn two_l40() -> BoxFile {
    let mut described = BoxFile::builtin("l40x4").unwrap();
    described.device.truncate(2);
    described.collective.retain(|table| table.ranks == 2);
    described.noise = None;
    described
}

/// The value of a variable in the environment that a process began with.
fn variable(pid: Pid, name: &str) -> Option<String> {
    let all = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()?;
    let mut pairs = all.split(|byte| *byte == 0);
    let prefix = format!("{name}=");
    pairs.find_map(|pair| {
        Some(
            std::str::from_utf8(pair)
                .ok()?
                .strip_prefix(&prefix)?
                .to_owned(),
        )
    })
}

#[test]
fn ranks_that_are_timed_are_not_told_to_log() {
    let scratch = Scratch::new();
    // The timed ranks stay in the first call of 8 KiB: 1 + (1 + 4) + 6 x (1 + 4) = 36 calls at 4 KiB.
    let stuck = with(Fault::CollectiveHang {
        rank: 1,
        after_calls: 36,
        protocol: None,
    });
    let modes = [
        "--sizes",
        "4K,8K",
        "--modes",
        "back-to-back",
        "--samples",
        "6",
    ];
    let more = [&modes[..], &["--deadline", "600"]].concat();
    let mut running = Running::start(scratch.program(scratch.on(&stuck, &more)));
    running.until("points to measure");
    scratch.until_a_point_is_kept();
    let processes = scratch.processes();
    // The program and two ranks.
    assert_eq!(processes.len(), 3);
    for pid in processes {
        assert_eq!(variable(pid, "NCCL_DEBUG"), None);
    }
    running.signal(Signal::INT);
    assert_eq!(scratch.left(running.end()).ran.code, 130);
}
