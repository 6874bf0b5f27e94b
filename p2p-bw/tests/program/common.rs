//! What these tests share: folders, simulated machines of two GPUs, runs with what they leave, and processes left behind.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use boxfile::{BoxFile, Fault, Figure, Link};
use record::{self, Endpoint, Links, Outcome, Payload, PeerProbe, Record};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

/// Set in every run, so that its processes can be known from others.
const MARK: &str = "P2P_BW_TEST_FOLDER";

/// What something may take that happens at once: far more than it needs, also on a busy machine.
pub(crate) const SOON: Timespec = Timespec {
    tv_sec: 60,
    tv_nsec: 0,
};

/// Between two looks at something that tells nobody when it changes.
const MOMENT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// What every run of these tests wants: small copies, few samples.
pub(crate) const QUICK: [&str; 4] = ["--sizes", "64K", "--samples", "6"];

/// Host memory.
pub(crate) const HOST: Endpoint = Endpoint::Host;

/// A device by its place on the command line.
pub(crate) fn gpu(position: usize) -> Endpoint {
    Endpoint::Device(position)
}

/// A folder for one test, removed at its end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("p2p-bw-program-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A path below it as an argument.
    pub(crate) fn text(&self, name: &str) -> String {
        self.join(name).to_str().unwrap().to_owned()
    }

    /// The program, to be run in this folder, with nothing of the caller's environment that changes what it does.
    pub(crate) fn program<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = built::named("p2p-bw");
        command
            .args(arguments)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .env(MARK, &self.0)
            .env("HOME", &self.0);
        for name in [
            "XDG_STATE_HOME",
            "TPLENS_SIM_FOLDER",
            "TPLENS_SOFT_BOX",
            "TPLENS_SOFT_SYSFS",
            "TPLENS_SOFT_DIR",
            "CUDA_VISIBLE_DEVICES",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.program(arguments).output().unwrap())
    }

    /// Writes a box file and returns its path.
    pub(crate) fn write_box(&self, described: &BoxFile) -> String {
        described.validate("box").unwrap();
        std::fs::write(self.join("box.toml"), described.to_toml().unwrap()).unwrap();
        self.text("box.toml")
    }

    /// The arguments of a run on a box, with result and state in this folder.
    pub(crate) fn on(&self, described: &BoxFile, more: &[&str]) -> Vec<String> {
        let mut arguments = vec!["--sim".to_owned(), self.write_box(described)];
        arguments.extend(["--out".to_owned(), self.text("out")]);
        arguments.extend(["--state-dir".to_owned(), self.text("state")]);
        let has_sizes = more.contains(&"--sizes");
        let quick = if has_sizes { &QUICK[2..] } else { &QUICK[..] };
        arguments.extend(quick.iter().chain(more).map(|part| (*part).to_owned()));
        arguments
    }

    /// Runs the program on a box to its end and checks what must hold whatever the box does.
    pub(crate) fn soft(&self, described: &BoxFile, more: &[&str]) -> Kept {
        let ran = Ran::of(self.program(self.on(described, more)).output().unwrap());
        self.left(ran)
    }

    /// What a run left in `out`: valid, the same in journal and record, and no process.
    pub(crate) fn left(&self, ran: Ran) -> Kept {
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        let out = self.join("out");
        let loaded = |file: &str| {
            let file = out.join(file);
            record::load(&file).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
        };
        let record = loaded("record.json");
        assert_eq!(loaded("journal.jsonl"), record);
        assert_eq!(i32::from(record.exit_code), ran.code, "{}", ran.stderr);
        self.nobody_is_left();
        Kept { ran, record }
    }

    /// Waits until no process of this folder's runs is left; one that stays fails the test.
    pub(crate) fn nobody_is_left(&self) {
        for pid in self.processes() {
            let ended = match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(process) => is_ready(process, SOON),
                Err(_) => true,
            };
            assert!(ended, "process {pid:?} outlives its run");
        }
    }

    /// The processes that runs in this folder started and that have not ended; those that ended have no environment.
    fn processes(&self) -> Vec<Pid> {
        let mark = format!("{MARK}={}\0", self.0.display());
        let marked = |pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let mut windows = environment.windows(mark.len());
            windows.any(|window| window == mark.as_bytes())
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        ids.filter(marked).filter_map(Pid::from_raw).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A run that ended.
pub(crate) struct Ran {
    /// Exit code; 128 and the signal's number where a signal ended it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let signal = output.status.signal().map(|signal| 128 + signal);
        Self {
            code: output.status.code().or(signal).unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Refused for a wrong command line or file: exit 2, nothing on standard output, one line that says what is wrong.
    pub(crate) fn is_wrong_usage(&self, says: &str) {
        assert_eq!(self.code, 2, "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        assert!(self.stderr.contains(says), "no `{says}` in {}", self.stderr);
    }
}

/// A run with its record.
pub(crate) struct Kept {
    pub(crate) ran: Ran,
    pub(crate) record: Record,
}

impl Kept {
    pub(crate) fn links(&self) -> &Links {
        let Payload::Links(links) = &self.record.payload else {
            panic!("not links");
        };
        links
    }

    /// What came out of one point.
    pub(crate) fn outcome(&self, case: &str, from: Endpoint, to: Endpoint) -> &Outcome {
        let is_it = |point: &&record::Point| (point.from, point.to) == (from, to);
        let mut points = self.links().points.iter().filter(|p| p.case == case);
        let point = points.find(is_it);
        &point
            .unwrap_or_else(|| panic!("no {case} {from:?} to {to:?}"))
            .outcome
    }

    /// Whether a point was measured and its data was right.
    pub(crate) fn is_measured(&self, case: &str, from: Endpoint, to: Endpoint) -> bool {
        is_right(self.outcome(case, from, to))
    }

    /// The points that were neither measured with the right data nor left out because they do not apply.
    pub(crate) fn bad(&self) -> Vec<(&str, Endpoint, Endpoint, &Outcome)> {
        let fine = |outcome: &Outcome| {
            is_right(outcome) || matches!(outcome, Outcome::NotApplicable { .. })
        };
        let points = self.links().points.iter();
        points
            .filter(|point| !fine(&point.outcome))
            .map(|point| (point.case.as_str(), point.from, point.to, &point.outcome))
            .collect()
    }

    /// The verdict on a pair.
    pub(crate) fn probe(&self, from: usize, to: usize) -> &PeerProbe {
        let mut probes = self.links().probes.iter();
        probes
            .find(|probe| (probe.from, probe.to) == (from, to))
            .unwrap()
    }
}

fn is_right(outcome: &Outcome) -> bool {
    use record::Verification::{NotAsked, Passed};
    matches!(
        outcome,
        Outcome::Measured {
            verification: Passed | NotAsked,
            ..
        }
    )
}

/// A run under way, whose standard error is read line by line.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: BufReader<ChildStderr>,
    said: String,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap());
        Self {
            child,
            lines,
            said: String::new(),
        }
    }

    /// Reads until a line contains this; the program's end before that fails the test.
    pub(crate) fn until(&mut self, text: &str) {
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).unwrap();
            assert!(read > 0, "it ended before `{text}`: {}", self.said);
            self.said.push_str(&line);
            if line.contains(text) {
                return;
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Sends a signal again and again, until it has ended.
    pub(crate) fn signal_until_ended(&self, signal: Signal) {
        while !self.has_ended_within(MOMENT) {
            self.signal(signal);
        }
    }

    fn has_ended_within(&self, limit: Timespec) -> bool {
        let pid = i32::try_from(self.child.id()).unwrap();
        let process = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
        is_ready(process, limit)
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ran {
        std::io::Read::read_to_string(&mut self.lines, &mut self.said).unwrap();
        let mut ran = Ran::of(self.child.wait_with_output().unwrap());
        ran.stderr = self.said;
        ran
    }
}

/// Waits for a descriptor to become readable; false where it does not in time.
pub(crate) fn is_ready(descriptor: impl AsFd, limit: Timespec) -> bool {
    let mut wait = [PollFd::new(&descriptor, PollFlags::IN)];
    poll(&mut wait, Some(&limit)).unwrap() > 0
}

/// The first two GPUs of `l40x4`, both on node 0, without noise and without other users.
pub(crate) fn two_gpus() -> BoxFile {
    let mut described = BoxFile::builtin("l40x4").unwrap();
    described.name = "two-l40".to_owned();
    keep_devices(&mut described, 2);
    described.device[0].busy = None;
    described.noise = None;
    described
}

/// Leaves a box its first devices, and no collectives, which may be of more ranks and are not looked at here.
pub(crate) fn keep_devices(described: &mut BoxFile, count: usize) {
    described.device.truncate(count);
    described.collective.clear();
}

/// [`two_gpus`] with one fault.
pub(crate) fn with(fault: Fault) -> BoxFile {
    let mut described = two_gpus();
    described.fault = vec![fault];
    described
}

/// The same box, whose devices take no kernels.
pub(crate) fn without_kernels(mut described: BoxFile) -> BoxFile {
    for device in &mut described.device {
        device.kernels = None;
    }
    described
}

/// A figure of a box made here.
pub(crate) fn figure(value: f64) -> Figure {
    Figure::assumed(value, "chosen by the test")
}

/// Gen4 of a width.
pub(crate) fn gen4(width: u8) -> Link {
    Link {
        generation: 4,
        width,
    }
}

/// Notes why a test asserts nothing on this machine.
pub(crate) fn skip(reason: &str) {
    if let Some(path) = std::env::var_os("TPLENS_SKIP_LOG") {
        let mut log = std::fs::File::options();
        let mut log = log.create(true).append(true).open(path).unwrap();
        writeln!(log, "{reason}").unwrap();
    }
}
