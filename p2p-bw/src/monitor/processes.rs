//! CPU use of processes by NUMA node, from `/proc/PID/task/*/stat` between two looks.
//!
//! A thread's time counts at the CPU it was last on; where it moved meanwhile, that is a simplification. Nothing is pinned.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use record::{MonitorCpu, MonitorLine, MonitorProcess, NodeUse};
use topology::{Machine, NumaNode, Sysfs};

use super::ns;

/// Processes under watch.
pub(super) struct Processes {
    /// The root that holds `proc`.
    root: Sysfs,
    nodes: Vec<NumaNode>,
    /// Clock ticks a second in which the kernel counts.
    ticks_per_s: u64,
    /// Who is watched, with what was seen last; `None` once it ended.
    watched: Vec<(MonitorProcess, Option<Look>)>,
}

/// What was seen of a process at one moment.
struct Look {
    at: Duration,
    whole: Stat,
    /// By thread.
    threads: BTreeMap<u32, Stat>,
}

/// The fields of a `stat` file that count (proc(5)).
struct Stat {
    /// Of a whole process threads that ended are among them.
    ticks: u64,
    /// When it began, in ticks since the boot: tells it from another one that got its id.
    began: u64,
    cpu: usize,
}

impl Processes {
    /// Begins to watch processes of the machine under a root, at the start of the time.
    ///
    /// # Errors
    /// Names the first that is not there.
    pub(super) fn watch(root: Sysfs, pids: &[u32], ticks_per_s: u64) -> Result<Self, String> {
        let mut processes = Self {
            // Without a list of nodes every CPU is on no known node.
            nodes: Machine::read(&root).map_or_else(|_| Vec::new(), |machine| machine.nodes),
            root,
            ticks_per_s: ticks_per_s.max(1),
            watched: Vec::new(),
        };
        for &pid in pids.iter().collect::<BTreeSet<_>>() {
            let command = processes.root.read_text(format!("proc/{pid}/comm"));
            let look = processes.look(pid, Duration::ZERO);
            let (command, look) = command
                .zip(look)
                .ok_or_else(|| format!("--pids {pid}: there is no such process"))?;
            let process = MonitorProcess { pid, command };
            processes.watched.push((process, Some(look)));
        }
        Ok(processes)
    }

    /// Who is watched.
    pub(super) fn list(&self) -> Vec<MonitorProcess> {
        let watched = self.watched.iter();
        watched.map(|(process, _)| process.clone()).collect()
    }

    /// The use of each since the look before, `now` being the time since the start; one that ended is told once.
    pub(super) fn lines(&mut self, now: Duration) -> Vec<MonitorLine> {
        let mut lines = Vec::new();
        for at in 0..self.watched.len() {
            let (MonitorProcess { pid, .. }, Some(before)) = &self.watched[at] else {
                continue;
            };
            let (pid, began) = (*pid, before.whole.began);
            let look = self.look(pid, now).filter(|look| look.whole.began == began);
            match &look {
                None => lines.push(MonitorLine::Gone {
                    at_ns: ns(now),
                    pid,
                }),
                Some(look) => match self.used(pid, before, look) {
                    None => continue,
                    Some(used) => lines.push(MonitorLine::Cpu(used)),
                },
            }
            self.watched[at].1 = look;
        }
        lines
    }

    /// Threads first and the whole process after them, so that the whole has at least what the threads have.
    fn look(&self, pid: u32, at: Duration) -> Option<Look> {
        let stat = |path: String| stat_of(&self.root.read_text(path)?);
        let folder = format!("proc/{pid}/task");
        let names = self.root.names(&folder).into_iter();
        let thread = |name: String| {
            let stat = stat(format!("{folder}/{name}/stat"))?;
            Some((name.parse().ok()?, stat))
        };
        Some(Look {
            at,
            threads: names.filter_map(thread).collect(),
            whole: stat(format!("proc/{pid}/stat"))?,
        })
    }

    /// The use between two looks; `None` where less than a clock tick passed, which can count nothing.
    fn used(&self, pid: u32, before: &Look, now: &Look) -> Option<MonitorCpu> {
        let tick = Duration::from_secs(1) / u32::try_from(self.ticks_per_s).unwrap_or(u32::MAX);
        let over = now.at.checked_sub(before.at).filter(|over| *over >= tick)?;
        let cpus = |ticks: u64| ticks as f64 / self.ticks_per_s as f64 / over.as_secs_f64();
        let mut by_node: BTreeMap<u32, u64> = BTreeMap::new();
        for (thread, stat) in &now.threads {
            // A thread that was not there before began since then.
            let earlier = before.threads.get(thread).map_or(0, |stat| stat.ticks);
            let mut nodes = self.nodes.iter();
            if let Some(node) = nodes.find(|node| node.cpus.contains(stat.cpu)) {
                *by_node.entry(node.id).or_default() += stat.ticks.saturating_sub(earlier);
            }
        }
        let all = now.whole.ticks.saturating_sub(before.whole.ticks);
        let unplaced = all.saturating_sub(by_node.values().sum());
        let share = |(node, ticks)| NodeUse {
            node,
            cpus: cpus(ticks),
        };
        Some(MonitorCpu {
            pid,
            at_ns: ns(now.at),
            over_ns: ns(over),
            threads: now.threads.len(),
            by_node: by_node.into_iter().map(share).collect(),
            unplaced: cpus(unplaced),
        })
    }
}

/// The name stands in brackets and may hold anything, so counting starts behind the last bracket, with field 3.
fn stat_of(text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    // 14 utime, 15 stime, 22 starttime, 39 processor.
    Some(Stat {
        ticks: field(14)?.checked_add(field(15)?)?,
        began: field(22)?,
        cpu: usize::try_from(field(39)?).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A tree with two nodes of two CPUs, and processes that a test writes.
    struct Tree(PathBuf);

    impl Tree {
        fn new() -> Self {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("p2p-bw-processes-{}-{number}", std::process::id());
            let tree = Self(std::env::temp_dir().join(name));
            for (node, cpus) in [(0, "0-1\n"), (3, "2-3\n")] {
                tree.file(&format!("sys/devices/system/node/node{node}/cpulist"), cpus);
            }
            tree
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        /// A process with its ticks in user and kernel mode, and its threads as id, ticks and CPU.
        fn process(&self, pid: u32, total: (u64, u64), threads: &[(u32, (u64, u64), usize)]) {
            let began = 500;
            self.file(&format!("proc/{pid}/comm"), "a (strange) name\n");
            self.file(&format!("proc/{pid}/stat"), &stat(pid, total, began, 0));
            let _ = std::fs::remove_dir_all(self.0.join(format!("proc/{pid}/task")));
            for &(thread, ticks, cpu) in threads {
                let path = format!("proc/{pid}/task/{thread}/stat");
                self.file(&path, &stat(thread, ticks, began, cpu));
            }
        }

        fn watch(&self, pids: &[u32]) -> Result<Processes, String> {
            // 100 ticks a second, as on every Linux of today.
            Processes::watch(Sysfs::at(&self.0), pids, 100)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    /// 52 fields, of which those that do not count are 7.
    fn stat(id: u32, (user, system): (u64, u64), began: u64, cpu: usize) -> String {
        let mut fields = vec!["7".to_owned(); 52];
        fields[0] = id.to_string();
        fields[1] = "(a ) b)".to_owned();
        fields[2] = "S".to_owned();
        fields[13] = user.to_string();
        fields[14] = system.to_string();
        fields[21] = began.to_string();
        fields[38] = cpu.to_string();
        fields.join(" ") + "\n"
    }

    fn only(lines: Vec<MonitorLine>) -> MonitorCpu {
        match <[MonitorLine; 1]>::try_from(lines) {
            Ok([MonitorLine::Cpu(used)]) => used,
            other => panic!("one use was expected: {other:?}"),
        }
    }

    fn by_node(used: &MonitorCpu) -> Vec<(u32, f64)> {
        used.by_node
            .iter()
            .map(|used| (used.node, used.cpus))
            .collect()
    }

    #[test]
    fn time_counts_at_the_node_of_each_threads_cpu() {
        let tree = Tree::new();
        tree.process(12, (100, 50), &[(12, (60, 40), 0), (13, (40, 10), 2)]);
        let mut processes = tree.watch(&[12]).unwrap();
        assert_eq!(processes.list()[0].command, "a (strange) name");
        // In 500 ms thread 12 spends 30 + 10 ticks on CPU 1, thread 13 spends 50 on CPU 3: 0.4 s and 0.5 s of CPU.
        tree.process(12, (180, 60), &[(12, (90, 50), 1), (13, (90, 10), 3)]);
        let used = only(processes.lines(Duration::from_millis(500)));
        // 0.4 / 0.5 = 0.8 on node 0, 0.5 / 0.5 = 1 on node 3; total 240 - 150 = 90 = 40 + 50.
        assert_eq!(by_node(&used), [(0, 0.8), (3, 1.0)]);
        assert_eq!((used.unplaced, used.threads), (0.0, 2));
        assert_eq!((used.at_ns, used.over_ns), (500_000_000, 500_000_000));
    }

    #[test]
    fn a_process_that_ended_or_whose_id_was_given_again_is_gone_once() {
        let tree = Tree::new();
        tree.process(12, (0, 0), &[(12, (0, 0), 0)]);
        tree.process(20, (0, 0), &[(20, (0, 0), 0)]);
        let mut processes = tree.watch(&[12, 20]).unwrap();
        std::fs::remove_dir_all(tree.0.join("proc/12")).unwrap();
        tree.file("proc/20/stat", &stat(20, (0, 0), 501, 0));
        let at_ns = 1_000_000_000;
        let gone = [12, 20].map(|pid| MonitorLine::Gone { at_ns, pid });
        assert_eq!(processes.lines(Duration::from_secs(1)), gone);
        assert_eq!(processes.lines(Duration::from_secs(2)), []);
    }
}
