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

/// Whether a process is known to have ended; it lives where `/proc` does not say.
pub(super) fn has_ended(pid: u32, start: u64) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        Ok(stat) => is_other(&stat, start),
    }
}

/// Whether the text is that of a zombie, whose parent has not looked yet, or of another process under the same number.
fn is_other(stat: &str, start: u64) -> bool {
    let fields: Vec<&str> = fields(stat).into_iter().flatten().collect();
    let begun = fields.get(START).and_then(|field| field.parse().ok());
    matches!(fields.get(STATE), Some(&("Z" | "X" | "x")))
        || begun.is_some_and(|begun: u64| begun != start && start != 0)
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
        assert!(!has_ended(own, start) && has_ended(own, start + 1));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let number = child.id();
        child.wait().unwrap();
        assert!(has_ended(number, start));
    }

    #[test]
    fn a_zombie_is_dead_and_a_name_may_look_like_fields() {
        let stat = |name: &str, state: &str| {
            // Fields 4 to 21 as zeros, then the start time.
            format!("7 ({name}) {state} {}4711 0\n", "0 ".repeat(18))
        };
        assert!(!is_other(&stat("x) Z 1 (y", "S"), 4711));
        assert!(is_other(&stat("x", "Z"), 4711) && is_other(&stat("x", "R"), 4712));
    }
}
