//! A monitor under way, for the tests of it: its lines as they come, its processes and its tree.

use std::io::{BufRead, BufReader, Lines, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use record::{MonitorHeader, MonitorLine, MonitorSample};
use rustix::process::{Pid, Signal, kill_process};

use super::common::Scratch;

/// A monitor under way, whose lines are read as they come.
pub(crate) struct Monitored {
    pub(crate) child: Child,
    pub(crate) lines: Lines<BufReader<ChildStdout>>,
}

impl Monitored {
    pub(crate) fn start(scratch: &Scratch, arguments: &[&str]) -> Self {
        let arguments = ["monitor"].iter().chain(arguments);
        Self::spawn(scratch.program(arguments))
    }

    fn spawn(mut command: Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    pub(crate) fn header(&mut self) -> MonitorHeader {
        match self.next() {
            Some(MonitorLine::Header(header)) => *header,
            other => panic!("no header but {other:?}"),
        }
    }

    pub(crate) fn next(&mut self) -> Option<MonitorLine> {
        let line = self.lines.next()?.unwrap();
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Reads on until a line is the one that is looked for.
    pub(crate) fn until<T>(&mut self, pick: impl Fn(MonitorLine) -> Option<T>) -> T {
        loop {
            let line = self.next().expect("it ended before");
            if let Some(found) = pick(line) {
                return found;
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The process that reads devices, among its children.
    pub(crate) fn sampler(&self) -> u32 {
        let children = format!("/proc/{0}/task/{0}/children", self.pid());
        let children = std::fs::read_to_string(children).unwrap();
        let is_sampler = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("__sampler")
        };
        let pids = children.split_whitespace().map(|pid| pid.parse().unwrap());
        pids.into_iter().find(is_sampler).expect("a sampler")
    }

    /// The generated tree that the monitor reads, as its own environment names it.
    pub(crate) fn tree(&self) -> PathBuf {
        let environment = std::fs::read(format!("/proc/{}/environ", self.pid())).unwrap();
        let environment = String::from_utf8(environment).unwrap();
        let mut variables = environment.split('\0');
        let tree = variables.find_map(|line| line.strip_prefix("TPLENS_SOFT_SYSFS="));
        PathBuf::from(tree.unwrap())
    }

    /// Reads to the end: the last line, the exit code and standard error.
    pub(crate) fn end(mut self) -> (MonitorLine, i32, String) {
        let mut last = None;
        while let Some(line) = self.next() {
            last = Some(line);
        }
        let mut said = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        let code = self.child.wait().unwrap().code().unwrap();
        (last.expect("a last line"), code, said)
    }
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

pub(crate) fn sample(line: MonitorLine) -> Option<MonitorSample> {
    match line {
        MonitorLine::Sample(sample) => Some(*sample),
        _ => None,
    }
}
