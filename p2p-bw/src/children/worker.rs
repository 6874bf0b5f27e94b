//! The measuring child: opens a backend once and does one job after another: copies, a load, or the probe of a pair.

use device::host::Host;
use device::{Backend, DeviceError, Visit};
use numa::NumaError;
use record::Outcome;
use runner::child::Line;

use super::bench::Bench;
use super::{job, load, probe};
use crate::messages::{Ask, Finding, WorkerReply, WorkerRequest};

pub(super) fn run(mut line: Line<WorkerRequest>) -> anyhow::Result<()> {
    match line.request()? {
        Some(first) => first.backend.visit(Serve(line, first.ask)),
        None => Ok(()),
    }
}

/// The line that jobs come by, and the first of them.
struct Serve(Line<WorkerRequest>, Ask);

impl Visit for Serve {
    type Output = anyhow::Result<()>;

    fn visit<B: Backend>(mut self) -> anyhow::Result<()> {
        match B::open() {
            Ok(backend) => serve(Bench::new(backend, self.0), self.1),
            Err(error) => self.0.send(&WorkerReply::Ended(Err(error.to_string()))),
        }
    }
}

fn serve<B: Backend>(mut bench: Bench<B>, first: Ask) -> anyhow::Result<()> {
    // The driver is open: from here on a step has the ordinary deadline.
    bench.doing("the first step");
    // Empty where the kernel does not say; then nothing is restored.
    let cpus_at_start = numa::allowed_cpus().unwrap_or_default();
    let stop = bench.line.abort_flag();
    let mut next = Some(first);
    while let Some(ask) = next {
        // An error of the device becomes the job's outcome; an error of the pipe ends the worker.
        let found = match ask {
            Ask::Probe(from, to) => probe::pair(&mut bench, from, to).map(|()| Vec::new()),
            Ask::Load(load) => Ok(load::run(&mut bench, &load, &stop)
                .unwrap_or_else(|error| vec![not_measured::<B>(&error)])),
            Ask::Job(job) => Ok(vec![
                job::measured(&mut bench, &job, &cpus_at_start)
                    .unwrap_or_else(|error| not_measured::<B>(&error)),
            ]),
        };
        let ended = found.map_err(|error| error.to_string());
        bench.line.send(&WorkerReply::Ended(ended))?;
        next = bench.line.request()?.map(|request| request.ask);
    }
    Ok(())
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
    Finding::failed(reason, error.is_lost())
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
