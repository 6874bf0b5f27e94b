//! The parent's side of the measuring worker: one process for many jobs, replaced when it hangs, crashes or loses its device.

use std::time::Duration;

use inventory::Built;
use program::Stop;
use record::{FailureKind, Outcome, Verification};
use runner::{Ending, Interrupt, Ladder, RESUMED, Signal, Silence, Unanswered, Worker};

use crate::cases::Case;
use crate::children::Child;
use crate::messages::{Ended, Job, LoadRequest, WorkerReply, WorkerRequest};

/// The slowest that memory is filled, compared or copied, in bytes a second: one step takes so long without a word.
const SLOWEST_BYTES_PER_S: u64 = 500_000_000;

/// How a job ended, seen from outside.
pub(crate) enum JobEnd {
    /// The worker answered, of a load with memory and arithmetic.
    Done(Vec<Ended>),
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

    fn ask(
        &mut self,
        request: &WorkerRequest,
        limit: Duration,
        on_sample: &mut dyn FnMut(),
    ) -> Result<JobEnd, Stop> {
        if self.worker.is_none() {
            self.worker = Some(Child::Worker.start()?);
            let backend = self.backend;
            let open = WorkerRequest::Open { backend };
            let opened = self.answer("opening the driver", &open, self.deadline, on_sample);
            if let Err(end) = opened {
                return Ok(end);
            }
            self.is_open = true;
        }
        Ok(
            match self.answer("a measurement", request, limit, on_sample) {
                Ok(Some(outcomes)) => JobEnd::Done(outcomes),
                Ok(None) => self.crashed("it answered out of turn".to_owned()),
                Err(end) => end,
            },
        )
    }

    /// Ends the worker in good order.
    pub(crate) fn finish(mut self) {
        if let Some(mut worker) = self.worker.take() {
            worker.end(Ladder::default());
        }
    }

    /// What came of a request: outcomes, or nothing where the backend is open; else how the worker ended.
    fn answer(
        &mut self,
        doing: &str,
        request: &WorkerRequest,
        limit: Duration,
        on_sample: &mut dyn FnMut(),
    ) -> Result<Option<Vec<Ended>>, JobEnd> {
        let Some(worker) = &mut self.worker else {
            return Err(self.crashed("it is gone".to_owned()));
        };
        // A stop before this job is none of it; a load begins with its worker.
        if !self.ends_early {
            worker.was_resumed();
        }
        if let Err(error) = worker.send(request) {
            return Err(self.crashed(error.to_string()));
        }
        let mut doing = doing.to_owned();
        let mut take = |reply| {
            match reply {
                WorkerReply::Ready => return Some(Ok(None)),
                WorkerReply::Done { ended } => return Some(Ok(Some(ended))),
                WorkerReply::Unusable { reason } => return Some(Err(reason)),
                WorkerReply::Doing { doing: now } => doing = now,
                WorkerReply::Timing { samples } => {
                    doing = format!("timed copies, {samples} samples so far");
                    on_sample();
                }
                WorkerReply::Begin { .. }
                | WorkerReply::Step { .. }
                | WorkerReply::Probed { .. } => {}
            }
            None
        };
        let mut answer = worker.answer(limit, self.interrupt, &mut take);
        if self.ends_early && matches!(answer, Err(Unanswered::Interrupted(_))) {
            // Before it is open there is nothing to end.
            if self.is_open {
                worker.abort();
            }
            answer = worker.answer(limit, &Interrupt::none(), &mut take);
        }
        match answer {
            Ok(Ok(None)) => Ok(None),
            Ok(Ok(Some(mut outcomes))) => {
                if worker.was_resumed() {
                    outcomes.iter_mut().for_each(not_stopped);
                }
                // Whatever failed may have left the driver in this process in any state.
                let has_failed = |ended: &Ended| matches!(ended.outcome, Outcome::Failed { .. });
                if outcomes.iter().any(has_failed) {
                    self.end_worker();
                }
                Ok(Some(outcomes))
            }
            Ok(Err(reason)) => {
                self.end_worker();
                let reason = reason.into();
                let failed = Ended::of(Outcome::Failed { reason });
                Ok(Some(vec![Ended {
                    lost: true,
                    ..failed
                }]))
            }
            Err(Unanswered::Silent(silence)) => Err(JobEnd::Hang {
                doing,
                silence,
                unkillable: self.end_worker() == Some(Ending::HangUnkillable),
            }),
            Err(Unanswered::Interrupted(signal)) => Err(JobEnd::Interrupted {
                signal,
                unkillable: self.end_worker() == Some(Ending::HangUnkillable),
            }),
            Err(Unanswered::Gone(words)) => Err(self.crashed(format!("{doing}: {words}"))),
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
fn not_stopped(ended: &mut Ended) {
    let Outcome::Measured { verification, .. } = &ended.outcome else {
        return;
    };
    if !matches!(verification, Verification::WrongData { .. }) {
        let reason = FailureKind::Stopped.of(RESUMED);
        *ended = Ended::of(Outcome::Failed { reason });
    }
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
}
