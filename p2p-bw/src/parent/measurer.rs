//! The parent's side of the measuring worker: one process for many jobs, replaced when it hangs, crashes or loses its device.

use std::time::Duration;

use supervisor::{Ending, Event, Interrupt, Ladder, Signal, Worker};

use super::Stop;
use super::choose::{last_line, start};
use crate::children::Child;
use crate::messages::{Built, Job, JobOutcome, WorkerReply, WorkerRequest};

/// How a job ended, seen from outside.
pub(super) enum JobEnd {
    /// The worker answered.
    Done(JobOutcome),
    /// It made no progress; it was ended.
    Hang {
        doing: String,
        waited: Duration,
        unkillable: bool,
    },
    /// It died.
    Crashed { reason: String },
    /// A signal came; it was ended.
    Interrupted(Signal),
}

/// A worker, started when the first job needs it.
pub(super) struct Measurer<'a> {
    backend: Built,
    deadline: Duration,
    interrupt: &'a Interrupt,
    worker: Option<Worker>,
}

impl<'a> Measurer<'a> {
    pub(super) fn new(backend: Built, deadline: Duration, interrupt: &'a Interrupt) -> Self {
        Self {
            backend,
            deadline,
            interrupt,
            worker: None,
        }
    }

    /// Does one job; `on_sample` is called when copies begin to run and after each sample.
    pub(super) fn run(&mut self, job: &Job, on_sample: &mut dyn FnMut()) -> Result<JobEnd, Stop> {
        if self.worker.is_none() {
            self.worker = Some(start(Child::Worker, None)?);
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
        match self.wait(Some(job.id), on_sample) {
            Wait::Ready => Ok(self.crashed("it answered out of turn".to_owned())),
            Wait::End(end) => Ok(end),
        }
    }

    /// Ends the worker in good order.
    pub(super) fn finish(mut self) {
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

    fn wait(&mut self, job: Option<usize>, on_sample: &mut dyn FnMut()) -> Wait {
        let mut doing = if job.is_some() {
            "a measurement"
        } else {
            "opening the driver"
        }
        .to_owned();
        loop {
            let Some(worker) = &mut self.worker else {
                return Wait::End(self.crashed("it is gone".to_owned()));
            };
            match worker.next::<WorkerReply>(self.deadline, self.interrupt) {
                Event::Message(WorkerReply::Ready) => return Wait::Ready,
                Event::Message(WorkerReply::Doing { doing: now, .. }) => doing = now,
                Event::Message(WorkerReply::Timing { samples, .. }) => {
                    doing = format!("timed copies, {samples} samples so far");
                    on_sample();
                }
                Event::Message(WorkerReply::Done { outcome, .. }) => {
                    if matches!(outcome, JobOutcome::Failed { lost: true, .. }) {
                        self.end_worker();
                    }
                    return Wait::End(JobEnd::Done(outcome));
                }
                Event::Message(WorkerReply::Unusable { reason }) => {
                    self.end_worker();
                    return Wait::End(JobEnd::Done(JobOutcome::Failed { reason, lost: true }));
                }
                Event::Silent { waited } => {
                    let unkillable = self.end_worker() == Some(Ending::HangUnkillable);
                    return Wait::End(JobEnd::Hang {
                        doing,
                        waited,
                        unkillable,
                    });
                }
                Event::Interrupted(signal) => {
                    self.end_worker();
                    return Wait::End(JobEnd::Interrupted(signal));
                }
                Event::Exited(status) => {
                    let reason = format!(
                        "the worker ended with {status} while {doing}: {}",
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

enum Wait {
    Ready,
    End(JobEnd),
}
