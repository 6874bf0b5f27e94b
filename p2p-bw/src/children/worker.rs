//! The measuring child: opens a backend once and does one job after another.

mod chain;
mod readings;
mod run;
mod verdicts;

use anyhow::bail;
use device::{Backend, Visit};
use program::child::Line;

use super::bench::Bench;
use crate::cases::Case;
use crate::messages::{Job, JobOutcome, WorkerReply, WorkerRequest};
use run::Run;
use verdicts::not_measured;
pub(super) use verdicts::thread_place;

pub(super) fn run(mut line: Line<WorkerRequest>) -> anyhow::Result<()> {
    match line.request()? {
        Some(WorkerRequest::Open { backend }) => backend.visit(Serve(line)),
        Some(WorkerRequest::Job { .. }) => bail!("a job came before a backend was opened"),
        None => Ok(()),
    }
}

/// The line that jobs come by.
struct Serve(Line<WorkerRequest>);

impl Visit for Serve {
    type Output = anyhow::Result<()>;

    fn visit<B: Backend>(self) -> anyhow::Result<()> {
        serve::<B>(self.0)
    }
}

fn serve<B: Backend>(mut line: Line<WorkerRequest>) -> anyhow::Result<()> {
    let mut bench = match Bench::<B>::open() {
        Ok(bench) => bench,
        Err(error) => {
            return line.send(&WorkerReply::Unusable {
                reason: error.to_string(),
            });
        }
    };
    line.send(&WorkerReply::Ready)?;
    // Empty where the kernel does not say; then nothing is restored.
    let cpus_at_start = numa::allowed_cpus().unwrap_or_default();
    while let Some(request) = line.request()? {
        let WorkerRequest::Job { job } = request else {
            bail!("a backend was opened twice")
        };
        let outcome = match Case::of(&job.case) {
            None => JobOutcome::Failed {
                reason: format!("no case `{}`", job.case),
                lost: false,
            },
            Some(case) => measure_job(&mut bench, case, &job, &cpus_at_start, &mut line)?,
        };
        line.send(&WorkerReply::Done {
            job: job.id,
            outcome,
        })?;
    }
    Ok(())
}

/// An error of the device becomes the job's outcome; an error of the pipe ends the worker.
fn measure_job<B: Backend>(
    bench: &mut Bench<B>,
    case: &Case,
    job: &Job,
    cpus_at_start: &[usize],
    line: &mut Line<WorkerRequest>,
) -> anyhow::Result<JobOutcome> {
    let mut pipe = Ok(());
    let mut tell = |reply: WorkerReply| {
        if pipe.is_ok() {
            pipe = line.send(&reply);
        }
    };
    let outcome = Run::new(bench, case, job, cpus_at_start).outcome(&mut tell);
    pipe?;
    Ok(outcome.unwrap_or_else(|error| not_measured::<B>(&error)))
}
