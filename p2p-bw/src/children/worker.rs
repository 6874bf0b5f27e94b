//! The measuring child: opens a backend once and does one job after another.

use std::time::Duration;

use anyhow::{Result, bail};
use device::cuda::Cuda;
use device::host::Host;
use device::{Backend, DeviceError};
use measure::caveat::Caveat;
use measure::clock::Monotonic;
use measure::plan::Sampling;
use measure::quantity::{Gate, Timing};
use measure::record::{Placement, Verification};
use measure::unit::gb_per_s;

use super::bench::{Bench, End};
use super::lanes::Lanes;
use super::transfers::{self, Transfer};
use super::{Line, time_source};
use crate::cases::Case;
use crate::messages::{Built, Job, JobOutcome, WorkerReply, WorkerRequest};

/// A sample lasts about this long, so that marks of half a microsecond and the start do not matter.
const WINDOW: Duration = Duration::from_millis(20);

/// A virtual clock is exact at any length, and real bytes are moved for every copy.
const VIRTUAL_WINDOW: Duration = Duration::from_millis(1);

/// Copies in one sample at most.
const MAX_COPIES: u32 = 1024;

/// Copies in one sample of a soft box at most.
const MAX_VIRTUAL_COPIES: u32 = 4;

pub(super) fn run(mut line: Line<WorkerRequest>) -> Result<()> {
    match line.next()? {
        Some(WorkerRequest::Open {
            backend: Built::Cuda,
        }) => serve::<Cuda>(line),
        Some(WorkerRequest::Open {
            backend: Built::Host,
        }) => serve::<Host>(line),
        Some(WorkerRequest::Job { .. }) => bail!("a job came before a backend was opened"),
        None => Ok(()),
    }
}

fn serve<B: Backend>(mut line: Line<WorkerRequest>) -> Result<()> {
    let mut bench = match Bench::<B>::open() {
        Ok(bench) => bench,
        Err(error) => {
            return line.send(&WorkerReply::Unusable {
                reason: error.to_string(),
            });
        }
    };
    line.send(&WorkerReply::Ready)?;
    while let Some(request) = line.next()? {
        let WorkerRequest::Job { job } = request else {
            bail!("a backend was opened twice")
        };
        let outcome = match Case::of(&job.case) {
            None => JobOutcome::Failed {
                reason: format!("no case `{}`", job.case),
                lost: false,
            },
            Some(case) => measure_job(&mut bench, case, &job, &mut line)?,
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
    line: &mut Line<WorkerRequest>,
) -> Result<JobOutcome> {
    let mut pipe = Ok(());
    let mut tell = |reply: WorkerReply| {
        if pipe.is_ok() {
            pipe = line.send(&reply);
        }
    };
    let outcome = Run {
        bench,
        case,
        job,
        caveats: Vec::new(),
    }
    .outcome(&mut tell);
    pipe?;
    Ok(outcome.unwrap_or_else(|error| match error {
        DeviceError::HostMemory(error) => JobOutcome::Skipped {
            reason: error.to_string(),
        },
        DeviceError::Unsupported { .. } => JobOutcome::Skipped {
            reason: error.to_string(),
        },
        error => JobOutcome::Failed {
            lost: error.is_lost(),
            reason: error.to_string(),
        },
    }))
}

/// One job under way.
struct Run<'a, B: Backend> {
    bench: &'a mut Bench<B>,
    case: &'a Case,
    job: &'a Job,
    caveats: Vec<Caveat>,
}

impl<B: Backend> Run<'_, B> {
    fn outcome(mut self, tell: &mut impl FnMut(WorkerReply)) -> device::Result<JobOutcome> {
        let mut doing = |doing: &str| {
            tell(WorkerReply::Doing {
                job: self.job.id,
                doing: doing.to_owned(),
            })
        };
        doing("allocating");
        let bytes = usize::try_from(self.job.bytes).unwrap_or(usize::MAX);
        self.bench.set_bytes(bytes);
        self.bind();
        let (transfers, lanes) = self.allocate(bytes)?;
        let placement = self.placement(&transfers, &lanes);
        if self.job.verify {
            doing("writing the pattern");
            for transfer in &transfers {
                self.bench
                    .write(&transfer.from, |bytes| transfer.pattern.fill(bytes))?;
                self.bench
                    .write(&transfer.to, |bytes| transfer.pattern.poison().fill(bytes))?;
            }
        }
        doing("warming up");
        for _ in 0..self.job.plan.warmups {
            lanes.run(1)?;
        }
        let (copies, gate) = self.calibrate(&lanes)?;
        let mut series: Vec<(String, Vec<f64>)> = transfers
            .iter()
            .map(|transfer| (transfer.name.to_owned(), Vec::new()))
            .collect();
        if transfers.len() > 1 {
            series.push(("total".to_owned(), Vec::new()));
        }
        let clock = Monotonic::start();
        let sampling = Sampling::start(self.job.plan, &clock);
        let stopped = loop {
            tell(WorkerReply::Timing {
                job: self.job.id,
                samples: series[0].1.len(),
            });
            let (times, _) = lanes.run(copies)?;
            let moved = self.job.bytes * u64::from(copies);
            for ((_, samples), nanoseconds) in series.iter_mut().zip(&times.lanes) {
                samples.push(gb_per_s(moved, *nanoseconds));
            }
            if transfers.len() > 1 {
                let all = moved * transfers.len() as u64;
                if let Some((_, samples)) = series.last_mut() {
                    samples.push(gb_per_s(all, times.total));
                }
            }
            let watched: Vec<&[f64]> = series
                .iter()
                .map(|(_, samples)| samples.as_slice())
                .collect();
            if let Some(reason) = sampling.stop(&watched) {
                break reason;
            }
        };
        tell(WorkerReply::Doing {
            job: self.job.id,
            doing: "comparing the data".to_owned(),
        });
        let verification = self.verify(&transfers)?;
        let source = time_source(self.bench.backend.time_source());
        let timing = Timing {
            source,
            gate,
            copies_per_sample: copies,
            warmup_copies: self.job.plan.warmups + 1,
        };
        Ok(JobOutcome::Measured {
            series,
            timing,
            stopped,
            verification,
            placement,
            caveats: self.caveats,
        })
    }

    /// Binds this thread, which issues the copies, to the CPUs of the device's node.
    fn bind(&mut self) {
        let cpus = &self.job.place.cpus;
        if cpus.is_empty() {
            return;
        }
        if let Err(error) = numa::pin_thread_to_cpus(cpus) {
            let device = format!("{:?}", self.job.to);
            self.caveats.push(Caveat::NotBound {
                device,
                reason: error.to_string(),
            });
        }
    }

    /// Allocates on the wanted node; where the kernel refuses that, without, and says so.
    fn allocate(&mut self, bytes: usize) -> device::Result<(Vec<Transfer<B>>, Lanes<B>)> {
        let mut attempt = |node| -> device::Result<_> {
            let transfers = transfers::of(self.bench, self.case, self.job, node)?;
            let lanes = Lanes::new(self.bench, &transfers, bytes, node)?;
            Ok((transfers, lanes))
        };
        match (attempt(self.job.place.node), self.job.place.node) {
            (Err(DeviceError::HostMemory(refused)), Some(_)) => {
                let allocated = attempt(None)?;
                self.caveats.push(Caveat::PlacementUnproven {
                    reason: refused.to_string(),
                });
                Ok(allocated)
            }
            (outcome, _) => outcome,
        }
    }

    /// Where the host memory is. That of a soft box is this machine's, and its nodes are not, so it says nothing.
    fn placement(&mut self, transfers: &[Transfer<B>], lanes: &Lanes<B>) -> Option<Placement> {
        if self.bench.backend.driver().soft_box.is_some() {
            return None;
        }
        let of_transfer =
            transfers
                .iter()
                .find_map(|transfer| match (&transfer.from, &transfer.to) {
                    (End::Host(buffer), _) | (_, End::Host(buffer)) => Some(buffer),
                    _ => None,
                });
        let buffer = of_transfer.or(lanes.staging())?;
        let wanted = self.job.place.node;
        let (proven, basis) = match buffer.proven_node() {
            Ok(node) => (Some(node), "move_pages".to_owned()),
            Err(reason) => (None, reason.to_owned()),
        };
        if wanted.is_some() && proven != wanted {
            let found = proven.map_or(basis.clone(), |node| {
                format!("it is on node {node}, another one was wanted")
            });
            self.caveats
                .push(Caveat::PlacementUnproven { reason: found });
        }
        Some(Placement {
            wanted,
            proven,
            basis,
        })
    }

    /// How many copies fill the window, from one timed copy.
    fn calibrate(&self, lanes: &Lanes<B>) -> device::Result<(u32, Gate)> {
        let (times, gate) = lanes.run(1)?;
        let (window, most) = match self.bench.backend.time_source() {
            device::TimeSource::VirtualClock => (VIRTUAL_WINDOW, MAX_VIRTUAL_COPIES),
            _ => (WINDOW, MAX_COPIES),
        };
        let wanted = window.as_secs_f64() * 1e9 / times.total.max(1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 1..=1024"
        )]
        let copies = wanted.ceil().clamp(1.0, f64::from(most)) as u32;
        Ok((copies, gate))
    }

    fn verify(&mut self, transfers: &[Transfer<B>]) -> device::Result<Verification> {
        if !self.job.verify {
            return Ok(Verification::NotAsked);
        }
        for transfer in transfers {
            if let Some(difference) = self.bench.check(&transfer.to, transfer.pattern)? {
                return Ok(Verification::WrongData {
                    seen: difference.to_string(),
                });
            }
        }
        Ok(Verification::Passed)
    }
}
