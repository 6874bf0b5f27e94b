//! Processes as `/proc/PID/stat` shows them: who stands still, and what comes of a program. It sends no signal.

/// Whether a process stands still for a signal or a debugger.
pub(crate) fn is_stopped(process: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok();
    text.as_deref()
        .and_then(state_in)
        .is_some_and(|(state, _)| matches!(state, 'T' | 't'))
}

/// All processes of this machine that may be seen, each with its parent.
pub(super) fn parents() -> Vec<(u32, u32)> {
    let Ok(all) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = all
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let of = |process: u32| {
        let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        Some((process, state_in(&text)?.1))
    };
    numbers.filter_map(of).collect()
}

/// A process and all that come of it.
pub(super) fn tree(root: u32, parents: &[(u32, u32)]) -> Vec<u32> {
    let mut all = vec![root];
    let mut next = 0;
    while let Some(parent) = all.get(next).copied() {
        let children = parents.iter().filter(|(_, of)| *of == parent);
        let new: Vec<u32> = children
            .map(|(child, _)| *child)
            .filter(|child| !all.contains(child))
            .collect();
        all.extend(new);
        next += 1;
    }
    all
}

/// State and parent of `PID (NAME) STATE PARENT ...` (proc_pid_stat(5)); the name may hold anything.
fn state_in(text: &str) -> Option<(char, u32)> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let state = words.next()?.chars().next()?;
    Some((state, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_all_that_comes_of_it() {
        // 5 is of 3, which is of 2; 9 is of another, and 1 is its own parent.
        let parents = [(1, 1), (2, 1), (3, 2), (5, 3), (4, 2), (9, 8)];
        assert_eq!(tree(2, &parents), [2, 3, 4, 5]);
        assert_eq!(tree(7, &parents), [7]);
        assert_eq!(tree(1, &parents), [1, 2, 3, 4, 5]);
        assert_eq!(state_in("12 (a) b) T 7 12 12 0"), Some(('T', 7)));
        assert_eq!([state_in(""), state_in("1 (x)")], [None; 2]);
    }
}
