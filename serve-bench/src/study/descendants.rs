//! Processes below a process, as /proc tells them. It sends no signal.

use std::fs;

use rustix::param::clock_ticks_per_second;
use rustix::process::Pid;

/// A process below another one that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descendant {
    /// Its id.
    pub(crate) id: Pid,
    /// Its process group.
    pub(super) group: i32,
    /// When it began, in clock ticks since the machine did.
    pub(super) started: u64,
    parent: i32,
}

/// All below `root` at this moment; one whose parent ends meanwhile may be missed and is found by the next look.
pub(crate) fn of(root: Pid) -> Vec<Descendant> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut others: Vec<Descendant> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read(entry.path().join("stat")).ok()?;
            parse(id, &String::from_utf8_lossy(&stat))
        })
        .collect();
    let mut parents = vec![root.as_raw_nonzero().get()];
    let mut found = Vec::new();
    while let Some(parent) = parents.pop() {
        let (below, rest) = others
            .into_iter()
            .partition::<Vec<_>, _>(|other| other.parent == parent);
        parents.extend(below.iter().map(|child| child.id.as_raw_nonzero().get()));
        found.extend(below);
        others = rest;
    }
    found
}

/// Reads `PID (NAME) STATE PARENT GROUP ..` of proc(5); the name may hold blanks and brackets. `None` for one that has ended.
fn parse(id: i32, stat: &str) -> Option<Descendant> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut words = after_name.split_whitespace();
    let has_ended = matches!(words.next()?, "Z" | "X" | "x");
    let parent = words.next()?.parse().ok()?;
    let group = words.next()?.parse().ok()?;
    // Field 22, the group being field 5.
    let started = words.nth(16)?.parse().ok()?;
    let id = Pid::from_raw(id)?;
    (!has_ended).then_some(Descendant {
        id,
        group,
        started,
        parent,
    })
}

/// Clock ticks since the machine began; those that began later count as later. `u64::MAX` where the system does not say.
pub(super) fn now() -> u64 {
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    // Seconds with two decimals, such as 350735.47.
    let digits: Option<(u64, u64)> = uptime
        .split_whitespace()
        .next()
        .and_then(|seconds| seconds.split_once('.'))
        .and_then(|(whole, hundredths)| Some((whole.parse().ok()?, hundredths.parse().ok()?)));
    digits.map_or(u64::MAX, |(whole, hundredths)| {
        (whole * 100 + hundredths) * clock_ticks_per_second() / 100
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_began_before_now() {
        let mut child = std::process::Command::new("sleep")
            .arg("100")
            .spawn()
            .unwrap();
        let own = of(rustix::process::getpid());
        let found = own
            .iter()
            .find(|below| below.id == Pid::from_child(&child))
            .copied();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.is_some_and(|found| found.started <= now()));
    }

    #[test]
    fn a_name_with_brackets_does_not_shift_what_follows() {
        let read = parse(
            12,
            "12 (a) b) S 7 9 9 0 -1 4194304 177 0 0 0 0 0 0 0 20 0 1 0 1859411 2990080",
        )
        .unwrap();
        assert_eq!((read.parent, read.group, read.started), (7, 9, 1_859_411));
        assert_eq!(parse(12, "12 (a) Z 7 9 9"), None);
        assert_eq!(parse(12, "12 (a"), None);
    }
}
