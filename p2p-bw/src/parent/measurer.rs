//! The parent's side of the measuring worker: one process for many jobs, replaced when it hangs, crashes or loses its device.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use inventory::Built;
use measure::record::Verification;
use program::Stop;
use program::child::last_line;
use supervisor::{Ending, Event, Interrupt, Ladder, Patience, Signal, Silence, WENT_ON, Worker};

use crate::cases::{Case, Memory};
use crate::children::Child;
use crate::messages::{Job, JobOutcome, WorkerReply, WorkerRequest};

/// The slowest that memory is filled, compared or copied, in bytes a second: one step takes so long without a word.
const SLOWEST_BYTES_PER_S: u64 = 500_000_000;

/// The same where the memory is write-combined: reading it takes the host a bus access for each word, 50 to 100 MB/s, of
/// which this is half.
const SLOWEST_WRITE_COMBINED_BYTES_PER_S: u64 = 25_000_000;

/// How a job ended, seen from outside.
pub(crate) enum JobEnd {
    /// The worker answered.
    Done(JobOutcome),
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
}

impl<'a> Measurer<'a> {
    pub(crate) fn new(backend: Built, deadline: Duration, interrupt: &'a Interrupt) -> Self {
        Self {
            backend,
            deadline,
            interrupt,
            worker: None,
        }
    }

    /// Does one job; `on_sample` is called when copies begin to run and after each sample.
    pub(crate) fn run(&mut self, job: &Job, on_sample: &mut dyn FnMut()) -> Result<JobEnd, Stop> {
        if self.worker.is_none() {
            self.worker = Some(Child::Worker.start()?);
            if let Err(reason) = self.send(&WorkerRequest::Open {
                backend: self.backend,
            }) {
                return Ok(self.crashed(reason));
            }
            match self.wait(None, on_sample) {
                Wait::Ready => {}
                Wait::End(end) => return Ok(end),
            }
        }
        if let Err(reason) = self.send(&WorkerRequest::Job {
            job: Box::new(job.clone()),
        }) {
            return Ok(self.crashed(reason));
        }
        match self.wait(Some(job), on_sample) {
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

    fn wait(&mut self, job: Option<&Job>, on_sample: &mut dyn FnMut()) -> Wait {
        let mut doing = if job.is_some() {
            "a measurement"
        } else {
            "opening the driver"
        }
        .to_owned();
        let deadline = job.map_or(self.deadline, |job| limit(self.deadline, job));
        let process = self.worker.as_ref().map(Worker::id);
        let mut patience = Patience::new(deadline, process);
        // A stop before this job is none of it.
        self.worker.as_mut().map(Worker::went_on);
        loop {
            let Some(worker) = &mut self.worker else {
                return Wait::End(self.crashed("it is gone".to_owned()));
            };
            match worker.next::<WorkerReply>(patience.left(), self.interrupt) {
                Event::Message(WorkerReply::Ready) => return Wait::Ready,
                Event::Message(WorkerReply::Doing { doing: now, .. }) => {
                    doing = now;
                    patience.heard();
                }
                Event::Message(WorkerReply::Timing { samples, .. }) => {
                    doing = format!("timed copies, {samples} samples so far");
                    on_sample();
                    patience.heard();
                }
                Event::Message(WorkerReply::Done { outcome, .. }) => {
                    // What arrived wrong is wrong, however long its process stood still.
                    let outcome = match outcome {
                        JobOutcome::Measured { verification, .. }
                            if !matches!(verification, Verification::WrongData { .. })
                                && worker.went_on() =>
                        {
                            JobOutcome::Failed {
                                reason: WENT_ON.to_owned(),
                                lost: false,
                            }
                        }
                        outcome => outcome,
                    };
                    // Whatever failed may have left the driver in this process in any state.
                    if matches!(outcome, JobOutcome::Failed { .. }) {
                        self.end_worker();
                    }
                    return Wait::End(JobEnd::Done(outcome));
                }
                Event::Message(WorkerReply::Unusable { reason }) => {
                    self.end_worker();
                    return Wait::End(JobEnd::Done(JobOutcome::Failed { reason, lost: true }));
                }
                Event::Silent { .. } => {
                    let Some(silence) = patience.over() else {
                        continue;
                    };
                    let silence = silence.or_stopped(worker.went_on());
                    let unkillable = self.end_worker() == Some(Ending::HangUnkillable);
                    return Wait::End(JobEnd::Hang {
                        doing,
                        silence,
                        unkillable,
                    });
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
    let memory = case.and_then(|case| case.pattern.memory());
    let slowest = match memory {
        Some(Memory::WriteCombined) => SLOWEST_WRITE_COMBINED_BYTES_PER_S,
        _ => SLOWEST_BYTES_PER_S,
    };
    deadline.saturating_add(Duration::from_millis(bytes.saturating_mul(1000) / slowest))
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
    use measure::plan::Plan;
    use measure::record::Endpoint;

    #[test]
    fn a_step_over_many_bytes_may_take_longer() {
        let two = Duration::from_secs(2);
        let job = |case: &str, bytes| Job {
            id: 0,
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
    fn reading_write_combined_memory_may_take_far_longer() {
        let two = Duration::from_secs(2);
        let job = Job {
            id: 0,
            case: "d2h_wc_ce".to_owned(),
            from: Endpoint::Device(0),
            to: Endpoint::Host,
            all: Vec::new(),
            bytes: 1_000_000_000,
            plan: Plan::new(6, two),
            verify: true,
            cpus: Vec::new(),
            thread_node: None,
        };
        // 1e9 bytes at 25 MB/s are 40 s.
        assert_eq!(limit(two, &job), Duration::from_secs(2 + 40));
    }

    #[test]
    fn an_end_by_sigkill_names_the_out_of_memory_killer() {
        // A wait status of 9 is an end by signal 9, of 6 by SIGABRT (wait(2)).
        assert!(in_words(ExitStatus::from_raw(9)).contains("out-of-memory"));
        assert!(!in_words(ExitStatus::from_raw(6)).contains("out-of-memory"));
    }
}
