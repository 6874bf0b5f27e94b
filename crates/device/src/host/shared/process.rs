//! Whether another process still lives, by its number and its start time, as `/proc` gives them.

use std::{fs, io};

/// Where a process is among the fields of `/proc/PID/stat` behind its name (proc_pid_stat(5)).
const STATE: usize = 0;
const START: usize = 19;

/// The start time of a process in clock ticks since boot; `None` where `/proc` does not say.
pub(super) fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    fields(&stat)?.nth(START)?.parse().ok()
}

/// Why a process is known to be dead; `None` where it lives or where `/proc` does not say.
pub(super) fn obituary(pid: u32, start: u64) -> Option<String> {
    let stat = match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Some(format!("its process {pid} has ended"));
        }
        stat => stat.ok()?,
    };
    verdict(&stat, pid, start)
}

/// The same from the text of the file.
fn verdict(stat: &str, pid: u32, start: u64) -> Option<String> {
    let fields: Vec<&str> = fields(stat)?.collect();
    // A zombie has ended and its parent has not looked yet.
    if matches!(fields.get(STATE), Some(&("Z" | "X" | "x"))) {
        return Some(format!("its process {pid} has ended"));
    }
    let begun: u64 = fields.get(START)?.parse().ok()?;
    (begun != start && start != 0)
        .then(|| format!("its process {pid} has ended, another has its number"))
}

/// The fields behind the name, which may hold blanks and parentheses.
fn fields(stat: &str) -> Option<impl Iterator<Item = &str>> {
    stat.rsplit_once(')')
        .map(|(_, fields)| fields.split_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_one_that_was_waited_for_does_not() {
        let own = std::process::id();
        let start = start_time(own).unwrap();
        assert_eq!(obituary(own, start), None);
        assert!(
            obituary(own, start + 1)
                .unwrap()
                .contains("another has its number")
        );
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let number = child.id();
        child.wait().unwrap();
        assert!(obituary(number, start).is_some());
    }

    #[test]
    fn a_zombie_is_dead_and_a_name_may_look_like_fields() {
        let stat = |name: &str, state: &str| {
            // Fields 4 to 21 as zeros, then the start time.
            format!("7 ({name}) {state} {}4711 0\n", "0 ".repeat(18))
        };
        assert_eq!(verdict(&stat("x) Z 1 (y", "S"), 7, 4711), None);
        assert!(verdict(&stat("x", "Z"), 7, 4711).is_some());
        assert!(verdict(&stat("x", "R"), 7, 4712).is_some());
    }
}
