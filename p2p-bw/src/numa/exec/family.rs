//! [`below`]: the processes below one, from the parents in `/proc/PID/stat`.

use std::collections::{BTreeMap, BTreeSet};

use topology::Sysfs;

/// A process that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// When it began, in ticks since the boot: tells it from another one that got its number.
    pub(super) began: u64,
}

/// Children, grandchildren and so on of a process, smallest number first; those that have ended and wait for their parent are
/// left out.
pub(super) fn below(sysfs: &Sysfs, ancestor: u32) -> Vec<Process> {
    let mut children: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
    for pid in sysfs
        .names("proc")
        .iter()
        .filter_map(|name| name.parse().ok())
    {
        let stat = sysfs.read_text(format!("proc/{pid}/stat"));
        if let Some((parent, began)) = stat.as_deref().and_then(parent_and_beginning) {
            children
                .entry(parent)
                .or_default()
                .push(Process { pid, began });
        }
    }
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut open = vec![ancestor];
    while let Some(parent) = open.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            if seen.insert(child.pid) {
                open.push(child.pid);
                found.push(child);
            }
        }
    }
    found.sort_by_key(|process| process.pid);
    found
}

/// Fields 4 and 22 (proc(5)); `None` for one that has ended (state Z or X).
fn parent_and_beginning(stat: &str) -> Option<(u32, u64)> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let state = fields.first()?;
    let has_ended = ["Z", "X"].contains(state);
    let parent = fields.get(4 - 3)?.parse().ok()?;
    let began = fields.get(22 - 3)?.parse().ok()?;
    (!has_ended).then_some((parent, began))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grandchildren_count_and_strangers_and_the_dead_do_not() {
        let root = std::env::temp_dir().join(format!("p2p-bw-family-{}", std::process::id()));
        // Number, state, parent.
        for (pid, state, parent) in [
            (10, 'S', 1),
            (11, 'S', 10),
            (12, 'R', 11),
            (13, 'Z', 11),
            (14, 'S', 1),
        ] {
            // Fields 5 to 21 do not count, field 22 is the beginning.
            let stat = format!(
                "{pid} (a) b) {state} {parent} {}{}",
                "0 ".repeat(17),
                pid * 100
            );
            let folder = root.join(format!("proc/{pid}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("stat"), stat).unwrap();
        }
        let found = below(&Sysfs::at(&root), 10);
        std::fs::remove_dir_all(&root).unwrap();
        let of = |pid: u32, began| Process { pid, began };
        assert_eq!(found, [of(11, 1100), of(12, 1200)]);
    }
}
