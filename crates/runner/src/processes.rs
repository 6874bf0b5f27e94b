//! Processes as `/proc/PID/stat` shows them: who stands still, and what runs below a process. It sends no signal.

use std::fs;

use rustix::param::clock_ticks_per_second;
use rustix::process::Pid;

/// A process that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub id: Pid,
    /// Its process group.
    pub group: i32,
    /// When it began, in clock ticks since the machine did.
    pub started: u64,
    parent: i32,
    state: char,
}

/// All processes below one at this moment; one whose parent ends meanwhile may be missed and is found by the next look.
#[must_use]
pub fn below(root: Pid) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    of(root.as_raw_nonzero().get(), ids.filter_map(read).collect())
}

fn of(root: i32, mut others: Vec<Process>) -> Vec<Process> {
    let mut parents = vec![root];
    let mut found = Vec::new();
    while let Some(parent) = parents.pop() {
        let (below, rest) = others
            .into_iter()
            .partition::<Vec<_>, _>(|other| other.parent == parent);
        parents.extend(below.iter().map(Process::number));
        found.extend(below);
        others = rest;
    }
    found
}

/// A process and all below it, by their ids.
#[must_use]
pub fn tree(root: u32) -> Vec<u32> {
    let pid = i32::try_from(root).ok().and_then(Pid::from_raw);
    let below = pid.map(below).unwrap_or_default();
    let below = below.iter().map(|one| one.number().unsigned_abs());
    [root].into_iter().chain(below).collect()
}

/// Whether a process is there and has not ended.
pub(crate) fn is_alive(process: u32) -> bool {
    i32::try_from(process).is_ok_and(|id| read(id).is_some())
}

/// Whether a process stands still for a signal or a debugger.
pub(crate) fn is_stopped(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(read);
    process.is_some_and(|process| matches!(process.state, 'T' | 't'))
}

/// Clock ticks since the machine began; those that began later count as later. `u64::MAX` where the system does not say.
pub(crate) fn now() -> u64 {
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

impl Process {
    /// Its id as a number.
    pub(crate) fn number(&self) -> i32 {
        self.id.as_raw_nonzero().get()
    }
}

fn read(id: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
    parse(id, &String::from_utf8_lossy(&stat))
}

/// Reads `PID (NAME) STATE PARENT GROUP ..` of proc(5); the name may hold blanks and brackets. `None` for one that has ended.
fn parse(id: i32, stat: &str) -> Option<Process> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut words = after_name.split_whitespace();
    let state = words.next()?.chars().next()?;
    let parent = words.next()?.parse().ok()?;
    let group = words.next()?.parse().ok()?;
    // Field 22, the group being field 5.
    let started = words.nth(16)?.parse().ok()?;
    let id = Pid::from_raw(id)?;
    (!matches!(state, 'Z' | 'X' | 'x')).then_some(Process {
        id,
        group,
        started,
        parent,
        state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: i32, parent: i32, state: char) -> Option<Process> {
        let stat = format!(
            "{id} (a) b) {state} {parent} 9 9 0 -1 4194304 177 0 0 0 0 0 0 0 20 0 1 0 1859411 2990080"
        );
        parse(id, &stat)
    }

    #[test]
    fn a_process_that_runs_began_before_now_and_is_below_its_parent() {
        let mut child = std::process::Command::new("sleep")
            .arg("100")
            .spawn()
            .unwrap();
        let own = below(rustix::process::getpid());
        let found = own.iter().find(|one| one.id == Pid::from_child(&child));
        let (found, alive) = (found.copied(), is_alive(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(alive && found.is_some_and(|found| found.started <= now()));
        assert!(!is_alive(child.id()) && !is_alive(u32::MAX));
    }

    #[test]
    fn a_name_with_brackets_does_not_shift_what_follows() {
        let read = line(12, 7, 'S').unwrap();
        assert_eq!((read.parent, read.group, read.started), (7, 9, 1_859_411));
        assert_eq!(line(12, 7, 'Z'), None);
        assert_eq!(parse(12, "12 (a"), None);
    }

    #[test]
    fn what_comes_of_a_process_is_found_through_its_children() {
        // 5 is of 3, which is of 2; 9 is of another, and 1 is its own parent.
        let all = [(1, 1), (2, 1), (3, 2), (5, 3), (4, 2), (9, 8)];
        let all: Vec<Process> = all
            .into_iter()
            .filter_map(|(id, parent)| line(id, parent, 'S'))
            .collect();
        let numbers = |root| {
            let mut numbers: Vec<i32> = of(root, all.clone()).iter().map(Process::number).collect();
            numbers.sort_unstable();
            numbers
        };
        assert_eq!(numbers(2), [3, 4, 5]);
        assert_eq!(numbers(7), [0; 0]);
        assert_eq!(numbers(1), [1, 2, 3, 4, 5]);
    }
}
