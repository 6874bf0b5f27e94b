//! Processes below a process, as /proc tells them. It sends no signal.

use std::fs;

use rustix::process::Pid;

/// A process below another one that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descendant {
    /// Its id.
    pub(super) id: Pid,
    /// Its process group.
    pub(super) group: i32,
    parent: i32,
}

/// All below `root` at this moment; one whose parent ends meanwhile may be missed and is found by the next look.
pub(super) fn of(root: Pid) -> Vec<Descendant> {
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
    let id = Pid::from_raw(id)?;
    (!has_ended).then_some(Descendant { id, group, parent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_what_follows() {
        let read = parse(12, "12 (a) b) S 7 9 9 0 -1").unwrap();
        assert_eq!((read.parent, read.group), (7, 9));
        assert_eq!(parse(12, "12 (a) Z 7 9 9"), None);
        assert_eq!(parse(12, "12 (a"), None);
    }
}
