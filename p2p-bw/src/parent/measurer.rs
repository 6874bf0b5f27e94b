//! The parent's side of the measuring worker: one process for many jobs, replaced when it hangs, crashes or loses its device.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use inventory::Built;
use program::Stop;
use record::{FailureKind, HostMemoryOutcome, Verification};
use runner::child::last_line;
use runner::{
    Ending, Event, Interrupt, Ladder, ProgressDeadline, RESUMED, Signal, Silence, Worker,
};

use crate::cases::Case;
use crate::children::Child;
use crate::messages::{
    HostMemoryRequest, Job, JobOutcome, LoadRequest, WorkerReply, WorkerRequest,
};

/// The slowest that memory is filled, compared or copied, in bytes a second: one step takes so long without a word.
const SLOWEST_BYTES_PER_S: u64 = 500_000_000;

/// How a job ended, seen from outside.
pub(crate) enum JobEnd {
    /// The worker answered, of a load with memory and arithmetic.
    Done(Vec<JobOutcome>),
    /// What it found of host memory.
    HostMemory(Box<HostMemoryOutcome>),
    /// It made no progress; it was ended.
    Hang {
        doing: String,
        silence: Silence,
        unkillable: bool,
    },
    /// It died.
    Crashed { reason: String },
    /// A signal came; it was ended.
    Interrupted {
        signal: Signal,
        /// Its process did not end either.
        unkillable: bool,
    },
}

/// A worker, started when the first job needs it.
pub(crate) struct Measurer<'a> {
    backend: Built,
    deadline: Duration,
    interrupt: &'a Interrupt,
    worker: Option<Worker>,
    /// Whether a signal ends a job early with what it has, and does not drop it.
    ends_early: bool,
    /// Whether the worker has opened its backend.
    is_open: bool,
}

impl<'a> Measurer<'a> {
    pub(crate) fn new(backend: Built, deadline: Duration, interrupt: &'a Interrupt) -> Self {
        Self {
            backend,
            deadline,
            interrupt,
            worker: None,
            ends_early: false,
            is_open: false,
        }
    }

    /// Times copies; `on_sample` is called when they begin to run and after each sample.
    pub(crate) fn run(&mut self, job: &Job, on_sample: &mut dyn FnMut()) -> Result<JobEnd, Stop> {
        let limit = limit(self.deadline, job);
        let job = Box::new(job.clone());
        self.ask(&WorkerRequest::Job { job }, limit, on_sample)
    }

    /// Loads a device; a signal ends that early.
    pub(crate) fn load(mut self, load: LoadRequest) -> Result<JobEnd, Stop> {
        self.ends_early = true;
        let limit = self.deadline;
        let end = self.ask(&WorkerRequest::Load { load }, limit, &mut || {});
        self.finish();
        end
    }

    /// Measures host memory.
    pub(crate) fn host_memory(&mut self, request: HostMemoryRequest) -> Result<JobEnd, Stop> {
        let limit = self.deadline;
        self.ask(&WorkerRequest::HostMemory { request }, limit, &mut || {})
    }

    fn ask(
        &mut self,
        request: &WorkerRequest,
        limit: Duration,
        on_sample: &mut dyn FnMut(),
    ) -> Result<JobEnd, Stop> {
        if self.worker.is_none() {
            self.worker = Some(Child::Worker.start()?);
            self.is_open = false;
            if let Err(reason) = self.send(&WorkerRequest::Open {
                backend: self.backend,
            }) {
                return Ok(self.crashed(reason));
            }
            match self.wait("opening the driver", self.deadline, on_sample) {
                Wait::Ready => self.is_open = true,
                Wait::End(end) => return Ok(end),
            }
        }
        if let Err(reason) = self.send(request) {
            return Ok(self.crashed(reason));
        }
        match self.wait("a measurement", limit, on_sample) {
            Wait::Ready => Ok(self.crashed("it answered out of turn".to_owned())),
            Wait::End(end) => Ok(end),
        }
    }

    /// Ends the worker in good order.
    pub(crate) fn finish(mut self) {
        if let Some(mut worker) = self.worker.take() {
            worker.end(Ladder::default());
        }
    }

    fn send(&mut self, request: &WorkerRequest) -> Result<(), String> {
        match &mut self.worker {
            Some(worker) => worker.send(request).map_err(|error| error.to_string()),
            None => Err("it is gone".to_owned()),
        }
    }

    fn wait(&mut self, doing: &str, deadline: Duration, on_sample: &mut dyn FnMut()) -> Wait {
        let mut doing = doing.to_owned();
        let none = Interrupt::none();
        let mut interrupt = self.interrupt;
        let process = self.worker.as_ref().map(Worker::id);
        let mut patience = ProgressDeadline::new(deadline, process);
        // A stop before this job is none of it; a load begins with its worker.
        if !self.ends_early {
            self.worker.as_mut().map(Worker::was_resumed);
        }
        loop {
            let Some(worker) = &mut self.worker else {
                return Wait::End(self.crashed("it is gone".to_owned()));
            };
            match worker.next::<WorkerReply>(patience.left(), interrupt) {
                Event::Message(WorkerReply::Ready) => return Wait::Ready,
                Event::Message(WorkerReply::Doing { doing: now }) => {
                    doing = now;
                    patience.restart();
                }
                Event::Message(WorkerReply::Timing { samples }) => {
                    doing = format!("timed copies, {samples} samples so far");
                    on_sample();
                    patience.restart();
                }
                Event::Message(WorkerReply::HostMemory { outcome }) => {
                    return Wait::End(JobEnd::HostMemory(outcome));
                }
                Event::Message(WorkerReply::Done { mut outcomes }) => {
                    if worker.was_resumed() {
                        outcomes.iter_mut().for_each(not_stopped);
                    }
                    // Whatever failed may have left the driver in this process in any state.
                    let has_failed =
                        |outcome: &JobOutcome| matches!(outcome, JobOutcome::Failed { .. });
                    if outcomes.iter().any(has_failed) {
                        self.end_worker();
                    }
                    return Wait::End(JobEnd::Done(outcomes));
                }
                Event::Message(WorkerReply::Unusable { reason }) => {
                    self.end_worker();
                    return Wait::End(JobEnd::Done(vec![JobOutcome::Failed {
                        reason: reason.into(),
                        lost: true,
                    }]));
                }
                Event::Silent { .. } => {
                    let Some(silence) = patience.over() else {
                        continue;
                    };
                    let silence = silence.or_stopped(worker.was_resumed());
                    let unkillable = self.end_worker() == Some(Ending::HangUnkillable);
                    return Wait::End(JobEnd::Hang {
                        doing,
                        silence,
                        unkillable,
                    });
                }
                Event::Interrupted(_) if self.ends_early => {
                    // Before it is open there is nothing to end.
                    if self.is_open {
                        worker.abort();
                    }
                    interrupt = &none;
                }
                Event::Interrupted(signal) => {
                    let unkillable = self.end_worker() == Some(Ending::HangUnkillable);
                    return Wait::End(JobEnd::Interrupted { signal, unkillable });
                }
                Event::Exited(status) => {
                    let reason = format!(
                        "the worker ended with {} while {doing}: {}",
                        in_words(status),
                        last_line(&worker.tail())
                    );
                    return Wait::End(self.crashed(reason));
                }
                Event::Garbled { error, .. } => {
                    return Wait::End(
                        self.crashed(format!("its answer was not understood: {error}")),
                    );
                }
            }
        }
    }

    fn crashed(&mut self, reason: String) -> JobEnd {
        self.end_worker();
        JobEnd::Crashed { reason }
    }

    fn end_worker(&mut self) -> Option<Ending> {
        const LADDER: Ladder = Ladder {
            abort: Duration::from_secs(1),
            term: Duration::from_secs(2),
            kill: Duration::from_secs(10),
        };
        self.worker.take().map(|mut worker| worker.end(LADDER))
    }
}

/// How long a job may be silent: a step may go once over the bytes of one copy on each of its streams.
fn limit(deadline: Duration, job: &Job) -> Duration {
    let case = Case::of(&job.case);
    let streams = case.map_or(1, |case| job.streams(case).len());
    let bytes = job.bytes.saturating_mul(streams as u64);
    deadline.saturating_add(Duration::from_millis(
        bytes.saturating_mul(1000) / SLOWEST_BYTES_PER_S,
    ))
}

/// Figures of a worker that stood still meanwhile count for nothing; what arrived wrong is wrong all the same.
fn not_stopped(outcome: &mut JobOutcome) {
    let is_wrong = matches!(
        outcome,
        JobOutcome::Measured {
            verification: Verification::WrongData { .. },
            ..
        }
    );
    if matches!(outcome, JobOutcome::Measured { .. }) && !is_wrong {
        *outcome = JobOutcome::Failed {
            reason: FailureKind::Stopped.of(RESUMED),
            lost: false,
        };
    }
}

fn in_words(status: ExitStatus) -> String {
    if status.signal() == Some(9) {
        format!("{status} (perhaps the kernel's out-of-memory killer; use smaller --sizes)")
    } else {
        status.to_string()
    }
}

enum Wait {
    Ready,
    End(JobEnd),
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Endpoint;
    use record::plan::Plan;

    #[test]
    fn a_step_over_many_bytes_may_take_longer() {
        let two = Duration::from_secs(2);
        let job = |case: &str, bytes| Job {
            case: case.to_owned(),
            from: Endpoint::Host,
            to: Endpoint::Device(0),
            all: Vec::new(),
            bytes,
            plan: Plan::new(6, two),
            verify: true,
            cpus: Vec::new(),
            thread_node: None,
        };
        // 64 KiB at 0.5 GB/s are 0.13 ms, less than is counted; 4e9 bytes are 8 s.
        assert_eq!(limit(two, &job("h2d_pinned_ce", 64 << 10)), two);
        let pinned = job("h2d_pinned_ce", 4_000_000_000);
        assert_eq!(limit(two, &pinned), Duration::from_secs(2 + 8));
        let endless = job("h2d_pinned_ce", u64::MAX);
        assert_eq!(limit(Duration::MAX, &endless), Duration::MAX);
    }

    #[test]
    fn an_end_by_sigkill_names_the_out_of_memory_killer() {
        // A wait status of 9 is an end by signal 9, of 6 by SIGABRT (wait(2)).
        assert!(in_words(ExitStatus::from_raw(9)).contains("out-of-memory"));
        assert!(!in_words(ExitStatus::from_raw(6)).contains("out-of-memory"));
    }
}
