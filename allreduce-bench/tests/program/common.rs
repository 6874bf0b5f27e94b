//! What these tests share: folders, runs with what they leave, simulated machines of two GPUs, and processes left behind.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use boxfile::{BoxFile, Collective, CollectiveKind, CollectiveLibrary, Fault};
use record::{
    self, CallMode, CollectiveOutcome, CollectivePoint, Collectives, FailureKind, Payload, Record,
    Verification,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

/// Set in every run, so that its processes can be known from others.
const MARK: &str = "ALLREDUCE_BENCH_TEST_FOLDER";

/// What something may take that happens at once: far more than it needs, also on a busy machine.
const SOON: Timespec = Timespec {
    tv_sec: 60,
    tv_nsec: 0,
};

/// Whether `cargo xtask test --full` runs: every seed and kill, and not the few of each run.
pub(crate) fn full() -> bool {
    std::env::var_os("TPLENS_FULL").is_some()
}

/// A folder for one test, removed at its end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("allreduce-bench-program-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
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
        let mut command = built::named("allreduce-bench");
        command
            .args(arguments)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .env(MARK, &self.0)
            .env("HOME", &self.0);
        // Whatever names a box, a library, a launcher or what libraries do: tests set what they mean.
        let changes = |name: &str| {
            let beginnings = [
                "TPLENS_",
                "NCCL_",
                "RCCL_",
                "MCCL_",
                "CUDA_",
                "HIP_",
                "SLURM_",
                "OMPI_",
                "PMI",
                "MPI_",
                "TORCHELASTIC_",
                "PALS_",
                "FLUX_",
                "MV2_",
                "JSM_",
                "VIRTUAL_ENV",
            ];
            name != "TPLENS_SKIP_LOG" && beginnings.iter().any(|start| name.starts_with(start))
        };
        for (name, _) in std::env::vars().filter(|(name, _)| changes(name)) {
            command.env_remove(name);
        }
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.program(arguments).output().unwrap())
    }

    /// The arguments of a run on a box, with the result in `out`.
    pub(crate) fn on(&self, described: &BoxFile, more: &[&str]) -> Vec<String> {
        described.validate("box").unwrap();
        std::fs::write(self.join("box.toml"), described.to_toml().unwrap()).unwrap();
        let mut arguments = vec!["--sim".to_owned(), self.text("box.toml")];
        arguments.extend(["--out".to_owned(), self.text("out")]);
        arguments.extend(more.iter().map(|part| (*part).to_owned()));
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

    /// Waits until the journal in `out` tells of a point.
    pub(crate) fn until_a_point_is_kept(&self) {
        let changes = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        let out = self.join("out");
        inotify::add_watch(&changes, &out, inotify::WatchFlags::MODIFY).unwrap();
        loop {
            let journal = std::fs::read_to_string(out.join("journal.jsonl")).unwrap();
            if journal.contains("\"point\"") {
                return;
            }
            assert!(is_ready(&changes, SOON), "no point in {journal}");
            let mut events = [std::mem::MaybeUninit::uninit(); 4096];
            let mut reader = inotify::Reader::new(&changes, &mut events);
            while reader.next().is_ok() {}
        }
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
    pub(crate) fn processes(&self) -> Vec<Pid> {
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
    pub(crate) fn collectives(&self) -> &Collectives {
        let Payload::Collectives(collectives) = &self.record.payload else {
            panic!("not collectives");
        };
        collectives
    }

    /// What came out of one all-reduce.
    pub(crate) fn reduced(&self, bytes: u64, mode: CallMode) -> &CollectiveOutcome {
        self.outcome(record::CollectiveKind::AllReduce, bytes, mode)
    }

    /// What came out of one call.
    pub(crate) fn outcome(
        &self,
        kind: record::CollectiveKind,
        bytes: u64,
        mode: CallMode,
    ) -> &CollectiveOutcome {
        &self.point(kind, bytes, mode).outcome
    }

    /// One call with what is said of it.
    pub(crate) fn point(
        &self,
        kind: record::CollectiveKind,
        bytes: u64,
        mode: CallMode,
    ) -> &CollectivePoint {
        let is_it = |point: &&CollectivePoint| {
            (point.kind, point.bytes_per_rank, point.mode) == (kind, bytes, mode)
        };
        let point = self.collectives().points.iter().find(is_it);
        point.unwrap_or_else(|| panic!("no {kind} of {bytes} B, {mode}: {}", self.ran.stderr))
    }
}

/// The time of a call that was measured and whose result was exact, in microseconds.
pub(crate) fn exact_us(outcome: &CollectiveOutcome) -> f64 {
    let CollectiveOutcome::Measured {
        time, verification, ..
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(*verification, Verification::Passed);
    time.value
}

/// What a call says that made no progress: that it hung, or on a machine whose CPUs other work had, that nobody can tell.
pub(crate) fn no_progress(outcome: &CollectiveOutcome) -> Option<&str> {
    let said = match outcome {
        CollectiveOutcome::Hang { doing } => doing,
        CollectiveOutcome::Failed { reason } if reason.kind == FailureKind::HostBusy => {
            &reason.detail
        }
        _ => return None,
    };
    said.contains("no progress for ").then_some(said)
}

/// A run under way, whose standard error is read line by line.
pub(crate) struct Running {
    child: Child,
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

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ran {
        self.lines.read_to_string(&mut self.said).unwrap();
        let mut ran = Ran::of(self.child.wait_with_output().unwrap());
        ran.stderr = self.said;
        ran
    }
}

/// Waits for a descriptor to become readable; false where it does not in time.
fn is_ready(descriptor: impl AsFd, limit: Timespec) -> bool {
    let mut wait = [PollFd::new(&descriptor, PollFlags::IN)];
    poll(&mut wait, Some(&limit)).unwrap() > 0
}

/// The first two GPUs of `l40x4` without noise and without other users, whose all-reduce takes 50 us and whose all-gather 30 us
/// at every size of up to 1 MiB.
pub(crate) fn two_gpus() -> BoxFile {
    let mut described = BoxFile::builtin("l40x4").unwrap();
    described.name = "two-l40".to_owned();
    described.device.truncate(2);
    described.device[0].busy = None;
    described.noise = None;
    described.collective = vec![
        flat(CollectiveKind::AllReduce, 50.0),
        flat(CollectiveKind::AllGather, 30.0),
    ];
    described
}

/// [`two_gpus`] with one fault.
pub(crate) fn with(fault: Fault) -> BoxFile {
    let mut described = two_gpus();
    described.fault = vec![fault];
    described
}

/// A library's time for two ranks that does not depend on the size.
pub(crate) fn flat(kind: CollectiveKind, microseconds: f64) -> Collective {
    Collective {
        library: CollectiveLibrary::Nccl,
        kind,
        ranks: 2,
        protocol: None,
        transport: None,
        points: vec![(4, microseconds), (1 << 20, microseconds)],
        launch_us: None,
        published: None,
        assumed: Some("chosen by the test".to_owned()),
    }
}

/// Whether the host backend has a CPU for each of two ranks; where it does not, that is noted as a skip.
pub(crate) fn has_two_cpus() -> bool {
    let enough = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() >= 2);
    if !enough {
        skipped("the host backend has one device for one CPU");
    }
    enough
}

/// Notes a test that is skipped, with the reason.
pub(crate) fn skipped(reason: &str) {
    if let Some(path) = std::env::var_os("TPLENS_SKIP_LOG") {
        let mut log = std::fs::File::options();
        let mut log = log.create(true).append(true).open(path).unwrap();
        writeln!(log, "tplens allreduce: {reason}").unwrap();
    }
}

/// Whether a folder is not there.
pub(crate) fn is_absent(path: &Path) -> bool {
    !path.exists()
}
