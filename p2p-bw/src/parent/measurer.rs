//! The parent's side of the measuring worker: one process for many jobs, replaced when it hangs, crashes or loses its device.

use std::time::Duration;

use inventory::{Built, OPENING_STEPS};
use program::Break;
use record::{FailureKind, Outcome, Verification};
use runner::{Ending, Interrupt, Ladder, RESUMED, Unanswered, Worker};

use crate::cases::Case;
use crate::children;
use crate::messages::{Ask, Blame, Finding, Job, LoadRequest, WorkerReply, WorkerRequest};

/// The slowest that memory is filled, compared or copied, in bytes a second: one step takes so long without a word.
const SLOWEST_BYTES_PER_S: u64 = 500_000_000;

/// How a worker that does not answer is ended.
const LADDER: Ladder = Ladder {
    abort: Duration::from_secs(1),
    term: Duration::from_secs(2),
    kill: Duration::from_secs(10),
};

/// A worker, started when the first job needs it.
pub(crate) struct Measurer<'a> {
    backend: Built,
    deadline: Duration,
    interrupt: &'a Interrupt,
    worker: Option<Worker>,
    /// Whether a signal ends a job early with what it has, and does not drop it.
    ends_early: bool,
    /// Whether the process of the last job could not be ended.
    pub(super) is_unkillable: bool,
}

impl<'a> Measurer<'a> {
    pub(crate) fn new(backend: Built, deadline: Duration, interrupt: &'a Interrupt) -> Self {
        Self {
            backend,
            deadline,
            interrupt,
            worker: None,
            ends_early: false,
            is_unkillable: false,
        }
    }

    /// Times copies; `on_sample` is called when they begin to run and after each sample.
    ///
    /// # Errors
    /// A signal came, or no worker can be started.
    pub(crate) fn run(&mut self, job: &Job, on_sample: &mut dyn FnMut()) -> Result<Finding, Break> {
        let limit = limit(self.deadline, job);
        let job = Box::new(job.clone());
        let found = self.ask(Ask::Job(job), limit, &mut |reply| {
            if matches!(reply, WorkerReply::Timing(_)) {
                on_sample();
            }
        });
        let out_of_turn = || Finding::failed("it answered out of turn".into(), true);
        Ok(found?.pop().unwrap_or_else(out_of_turn))
    }

    /// Loads a device, which a signal ends early; what came of memory and of arithmetic, or one finding of both.
    pub(crate) fn load(mut self, load: LoadRequest) -> Result<Vec<Finding>, Break> {
        self.ends_early = true;
        let end = self.ask(Ask::Load(load), self.deadline, &mut |_| {});
        self.finish();
        end
    }

    /// Probes a pair of devices by their ordinals; `on_reply` hears of each step. Gives why it broke off.
    pub(super) fn probe(
        &mut self,
        (from, to): (usize, usize),
        on_reply: &mut dyn FnMut(&WorkerReply),
    ) -> Result<Option<Finding>, Break> {
        let found = self.ask(Ask::Probe(from, to), self.deadline, on_reply);
        Ok(found?.pop())
    }

    /// Ends the worker in good order.
    pub(crate) fn finish(mut self) {
        if let Some(mut worker) = self.worker.take() {
            worker.end(Ladder::default());
        }
    }

    fn ask(
        &mut self,
        ask: Ask,
        limit: Duration,
        on_reply: &mut dyn FnMut(&WorkerReply),
    ) -> Result<Vec<Finding>, Break> {
        self.is_unkillable = false;
        let (worker, doing, opening) = match &mut self.worker {
            Some(worker) => (worker, "a measurement", limit),
            None => {
                let worker = self.worker.insert(children::start(children::WORKER)?);
                let opening = limit.max(self.deadline * OPENING_STEPS);
                (worker, "opening the driver", opening)
            }
        };
        // A stop before this is none of it; a load begins with its worker.
        if !self.ends_early {
            worker.was_resumed();
        }
        let backend = self.backend;
        let sent = worker.send(&WorkerRequest { backend, ask });
        let mut doing = doing.to_owned();
        let mut take = |reply| {
            on_reply(&reply);
            match reply {
                WorkerReply::Ended(found) => return Some(found),
                WorkerReply::Doing(now) => doing = now,
                WorkerReply::Timing(samples) => {
                    doing = format!("timed copies, {samples} samples so far");
                }
                WorkerReply::Step(step, None) => doing = format!("step `{}`", step.name()),
                WorkerReply::Step(..) => {}
            }
            None
        };
        let mut answer = match sent {
            Ok(()) => worker.answer([opening, limit], self.interrupt, &mut take),
            Err(error) => Err(Unanswered::Gone(error.to_string())),
        };
        if self.ends_early && matches!(answer, Err(Unanswered::Interrupted(_))) {
            worker.abort();
            answer = worker.answer([limit; 2], &Interrupt::none(), &mut take);
        }
        Ok(match answer {
            Ok(Ok(mut found)) => {
                if worker.was_resumed() {
                    not_stopped(&mut found);
                }
                // Whatever failed may have left the driver in this process in any state.
                let has_failed = |found: &Finding| matches!(found.outcome, Outcome::Failed { .. });
                if found.iter().any(has_failed) {
                    self.end_worker();
                }
                found
            }
            Ok(Err(reason)) | Err(Unanswered::Gone(reason)) => {
                self.end_worker();
                vec![Finding::failed(format!("{doing}: {reason}").into(), true)]
            }
            Err(Unanswered::Silent(silence)) => {
                self.end_worker();
                doing = format!("{doing}: {silence}");
                let mut blame = Blame::Failure;
                if self.is_unkillable {
                    blame = Blame::Unkillable;
                    doing.push_str("; its process cannot be ended");
                }
                vec![match silence.is_hang() || self.is_unkillable {
                    true => Finding {
                        blame,
                        ..Finding::without_numbers(Outcome::Hang { doing })
                    },
                    // The machine's own doing: nothing speaks against the device.
                    false => Finding::failed(silence.kind().of(doing), false),
                }]
            }
            Err(Unanswered::Interrupted(signal)) => {
                self.end_worker();
                return Err(Break::Signal(signal));
            }
        })
    }

    fn end_worker(&mut self) {
        let ending = self.worker.take().map(|mut worker| worker.end(LADDER));
        self.is_unkillable = ending == Some(Ending::HangUnkillable);
    }
}

/// Figures of a worker that stood still meanwhile count for nothing, nor does a probe; what arrived wrong is wrong all the same.
fn not_stopped(found: &mut Vec<Finding>) {
    let stopped = || Finding::failed(FailureKind::Stopped.of(RESUMED), false);
    for one in found.iter_mut() {
        if let Outcome::Measured { verification, .. } = &one.outcome
            && !matches!(verification, Verification::WrongData { .. })
        {
            *one = stopped();
        }
    }
    if found.is_empty() {
        found.push(stopped());
    }
}

/// How long a job may be silent: a step may go once over the bytes of one copy on each of its streams.
fn limit(deadline: Duration, job: &Job) -> Duration {
    let case = Case::of(&job.case);
    let streams = case.map_or(1, |case| job.streams(case).len());
    let bytes = job.bytes.saturating_mul(streams as u64);
    let slowest = bytes.saturating_mul(1000) / SLOWEST_BYTES_PER_S;
    deadline.saturating_add(Duration::from_millis(slowest))
}
