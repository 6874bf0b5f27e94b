//! The measuring child: opens a backend once and does one job after another: copies, a load, or the probe of a pair.

use anyhow::bail;
use device::host::Host;
use device::{Backend, DeviceError, Visit};
use numa::NumaError;
use record::Outcome;
use runner::child::Line;

use super::bench::Bench;
use super::{job, load, probe};
use crate::cases::Case;
use crate::messages::{Finding, WorkerReply, WorkerRequest};

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

    fn visit<B: Backend>(mut self) -> anyhow::Result<()> {
        let backend = match B::open() {
            Ok(backend) => backend,
            Err(error) => {
                let reason = error.to_string();
                return self.0.send(&WorkerReply::Failed { reason });
            }
        };
        serve(Bench::new(backend, self.0))
    }
}

fn serve<B: Backend>(mut bench: Bench<B>) -> anyhow::Result<()> {
    let mut reply = WorkerReply::Done { found: Vec::new() };
    // Empty where the kernel does not say; then nothing is restored.
    let cpus_at_start = numa::allowed_cpus().unwrap_or_default();
    let stop = bench.line.abort_flag();
    loop {
        // An error of the device becomes the job's outcome; an error of the pipe ends the worker.
        bench.line.send(&reply)?;
        let Some(request) = bench.line.request()? else {
            return Ok(());
        };
        let found = match request {
            WorkerRequest::Open { .. } => bail!("a backend was opened twice"),
            WorkerRequest::Probe { from, to } => {
                reply = match probe::pair(&mut bench, from, to) {
                    Ok(()) => WorkerReply::Done { found: Vec::new() },
                    Err(error) => WorkerReply::Failed {
                        reason: error.to_string(),
                    },
                };
                continue;
            }
            WorkerRequest::Load { load } => load::run(&mut bench, &load, &stop),
            WorkerRequest::Job { job: asked } => match Case::of(&asked.case) {
                Some(case) => job::measured(&mut bench, case, &asked, &cpus_at_start),
                None => Err(DeviceError::Unsupported {
                    what: "a case",
                    why: format!("there is no `{}`", asked.case),
                }),
            },
        };
        let found = found.unwrap_or_else(|error| vec![not_measured::<B>(&error)]);
        reply = WorkerReply::Done { found };
    }
}

/// What the backend does not have is skipped, and so is host memory's own case of locked memory where the system does
/// not let it lock so much; everything else that a backend has must work.
fn not_measured<B: Backend>(error: &DeviceError) -> Finding {
    let reason = error.failure();
    let is_skipped = match error {
        DeviceError::Unsupported { .. } => true,
        DeviceError::HostMemory(NumaError::Lock { .. }) => B::NAME == Host::NAME,
        _ => false,
    };
    if is_skipped {
        return Finding::without_numbers(Outcome::Skipped { reason });
    }
    let lost = error
        .is_lost()
        .then(|| Finding::crashed(reason.detail.clone()));
    Finding {
        blame: lost.and_then(|lost| lost.blame),
        ..Finding::without_numbers(Outcome::Failed { reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::Cuda;
    use numa::Errno;

    #[test]
    fn only_locked_memory_of_the_host_backend_is_skipped() {
        // 12 is ENOMEM, which both calls give.
        let lock = DeviceError::HostMemory(NumaError::Lock {
            bytes: 1,
            limit: "0 bytes".to_owned(),
            errno: Errno(12),
        });
        let map = DeviceError::HostMemory(NumaError::Map {
            bytes: 1,
            errno: Errno(12),
        });
        let is_skip = |found: Finding| matches!(found.outcome, Outcome::Skipped { .. });
        assert!(is_skip(not_measured::<Host>(&lock)));
        assert!(!is_skip(not_measured::<Cuda>(&lock)));
        assert!(!is_skip(not_measured::<Host>(&map)));
    }
}
