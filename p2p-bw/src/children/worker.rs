//! The measuring child: opens a backend once and does one job after another: copies, a load, or the probe of a pair.

mod chain;
mod readings;
mod run;
mod verdicts;

use anyhow::bail;
use device::{Backend, DeviceError, Visit};
use runner::child::Line;

use super::bench::Bench;
use super::{load, probe};
use crate::cases::Case;
use crate::messages::{WorkerReply, WorkerRequest};
use run::Run;
use verdicts::not_measured;

pub(super) fn run(mut line: Line<WorkerRequest>) -> anyhow::Result<()> {
    match line.request()? {
        Some(WorkerRequest::Open { backend }) => backend.visit(Serve(line)),
        Some(_) => bail!("a job came before a backend was opened"),
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
    let stop = line.abort_flag();
    while let Some(request) = line.request()? {
        // An error of the device becomes the job's outcome; an error of the pipe ends the worker.
        let mut pipe = Ok(());
        let mut tell = |reply: WorkerReply| {
            if pipe.is_ok() {
                pipe = line.send(&reply);
            }
        };
        let ended = match request {
            WorkerRequest::Open { .. } => bail!("a backend was opened twice"),
            WorkerRequest::Probe { from, to } => {
                let failed = probe::pair(&mut bench, &mut tell, (from, to)).err();
                let failed = failed.map(|error| error.to_string());
                tell(WorkerReply::Probed { failed });
                pipe?;
                continue;
            }
            WorkerRequest::Load { load } => load::run(&bench.backend, &load, &stop, &mut tell),
            WorkerRequest::Job { job } => match Case::of(&job.case) {
                Some(case) => Run::new(&mut bench, case, &job, &cpus_at_start)
                    .outcome(&mut tell)
                    .map(|ended| vec![ended]),
                None => Err(DeviceError::Unsupported {
                    what: "a case",
                    why: format!("there is no `{}`", job.case),
                }),
            },
        };
        pipe?;
        let ended = ended.unwrap_or_else(|error| vec![not_measured::<B>(&error)]);
        line.send(&WorkerReply::Done { ended })?;
    }
    Ok(())
}
