//! The measuring child: opens a backend once and does one job after another.

mod verdicts;

use std::time::Duration;

use anyhow::bail;
use device::cuda::Cuda;
use device::host::Host;
use device::{Backend, Device, DeviceError, HostBuffer};
use inventory::{Built, time_source};
use measure::caveat::Caveat;
use measure::clock::Monotonic;
use measure::plan::Sampling;
use measure::quantity::{Gate, Timing};
use measure::record::{Placement, Verification};
use measure::unit::gb_per_s;
use numa::NumaError;
use program::child::Line;

use super::bench::{Bench, Say};
use super::lanes::Lanes;
use super::transfers::{self, Transfer};
use crate::cases::{Case, Pattern};
use crate::messages::{Job, JobOutcome, WorkerReply, WorkerRequest};
use verdicts::{bind, not_measured, one_node, partly_alone};

/// A sample lasts about this long, so that marks of half a microsecond and the start do not matter.
const WINDOW: Duration = Duration::from_millis(20);

/// A virtual clock is exact at any length, and real bytes are moved for every copy.
const VIRTUAL_WINDOW: Duration = Duration::from_millis(1);

/// Copies in one sample at most.
const MAX_COPIES: u32 = 1024;

/// Copies in one sample of a soft box at most.
const MAX_VIRTUAL_COPIES: u32 = 4;

pub(super) fn run(mut line: Line<WorkerRequest>) -> anyhow::Result<()> {
    match line.request()? {
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
    let outcome = Run {
        bench,
        case,
        job,
        cpus_at_start,
        caveats: Vec::new(),
    }
    .outcome(&mut tell);
    pipe?;
    Ok(outcome.unwrap_or_else(|error| not_measured::<B>(&error)))
}

/// One job under way.
struct Run<'a, B: Backend> {
    bench: &'a mut Bench<B>,
    case: &'a Case,
    job: &'a Job,
    /// CPUs that the worker could run on before it was bound to any.
    cpus_at_start: &'a [usize],
    caveats: Vec<Caveat>,
}

impl<B: Backend> Run<'_, B> {
    fn outcome(mut self, tell: &mut impl FnMut(WorkerReply)) -> device::Result<JobOutcome> {
        let id = self.job.id;
        let doing = |doing: &str| WorkerReply::Doing {
            job: id,
            doing: doing.to_owned(),
        };
        let mut say = |now: &str| tell(doing(now));
        say("allocating");
        let bytes = usize::try_from(self.job.bytes).unwrap_or(usize::MAX);
        let stations = transfers::stations(self.job);
        self.bench.begin(bytes, &stations);
        self.bind();
        let (transfers, lanes) = self.allocate(bytes, &mut say)?;
        self.tell_unbound(&stations)?;
        let host_memory = self.host_memory(&lanes);
        let mut nodes: Vec<_> = host_memory.iter().map(|buffer| buffer.node_now()).collect();
        if self.job.verify {
            for Transfer {
                from, to, pattern, ..
            } in &transfers
            {
                self.bench
                    .write(from, &mut say, |bytes| pattern.fill(bytes))?;
                self.bench
                    .write(to, &mut say, |bytes| pattern.poison().fill(bytes))?;
            }
        }
        say("warming up");
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
        let mut overlaps = Vec::new();
        let clock = Monotonic::start();
        let sampling = Sampling::start(self.job.plan, &clock);
        let stopped = loop {
            tell(WorkerReply::Timing {
                job: self.job.id,
                samples: series[0].1.len(),
            });
            let (times, _) = lanes.run(copies)?;
            if let [one, other] = times.lanes[..] {
                overlaps.push(one.min(other) / one.max(other));
            }
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
        self.caveats.extend(partly_alone(&overlaps));
        let mut say = |now: &str| tell(doing(now));
        let verification = self.verify(&transfers, &mut say)?;
        nodes.extend(host_memory.iter().map(|buffer| buffer.node_now()));
        let placement = self.placement(&nodes);
        self.take_access_back(&stations, &mut say);
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

    /// Binds this thread, which issues the copies, to the CPUs of the device's node, or to none where that is unknown.
    fn bind(&mut self) {
        if let Err(error) = bind(&self.job.place.cpus, self.cpus_at_start) {
            let device = "the device".to_owned();
            self.caveats.push(Caveat::NotBound {
                device,
                reason: error.to_string(),
            });
        }
    }

    /// Allocates on the wanted node; where the kernel refuses that, without, and says so.
    fn allocate(
        &mut self,
        bytes: usize,
        say: Say<'_>,
    ) -> device::Result<(Vec<Transfer<B>>, Lanes<B>)> {
        let mut attempt = |node| -> device::Result<_> {
            let transfers = transfers::of(self.bench, self.case, self.job, node, say)?;
            let lanes = Lanes::new(self.bench, &transfers, bytes, node)?;
            Ok((transfers, lanes))
        };
        match (attempt(self.job.place.node), self.job.place.node) {
            (
                Err(DeviceError::HostMemory(
                    refused @ (NumaError::Bind { .. } | NumaError::Policy { .. }),
                )),
                Some(_),
            ) => {
                let allocated = attempt(None)?;
                self.caveats.push(Caveat::PlacementUnproven {
                    reason: refused.to_string(),
                });
                Ok(allocated)
            }
            (outcome, _) => outcome,
        }
    }

    /// Says where a device's own memory could not be bound to its node.
    fn tell_unbound(&mut self, stations: &[usize]) -> device::Result<()> {
        for ordinal in stations {
            if let Some(reason) = self.bench.station(*ordinal)?.device.binding_refused() {
                let told = Caveat::PlacementUnproven { reason };
                if !self.caveats.contains(&told) {
                    self.caveats.push(told);
                }
            }
        }
        Ok(())
    }

    /// The host memory of the job that is anywhere: that of a soft box is this machine's, and its nodes are not.
    fn host_memory<'l>(&self, lanes: &'l Lanes<B>) -> Vec<&'l HostBuffer> {
        match self.bench.backend.driver().soft_box {
            Some(_) => Vec::new(),
            None => lanes.host_memory(),
        }
    }

    /// Where the host memory is, by the answers for each buffer before and after the copies.
    fn placement(&mut self, nodes: &[Result<u32, String>]) -> Option<Placement> {
        if nodes.is_empty() {
            return None;
        }
        let wanted = self.job.place.node;
        let (proven, basis) = one_node(nodes);
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

    /// Ends peer access where the job began it: without a switch a device has 8 peers at most at a time.
    fn take_access_back(&mut self, stations: &[usize], say: Say<'_>) {
        let has_access = matches!(
            self.case.pattern,
            Pattern::Peer(_) | Pattern::PeerBothWays(_)
        );
        let (true, [a, b]) = (has_access, stations) else {
            return;
        };
        say("taking peer access back");
        if let Err(error) = self.bench.disable_peer(*a, *b) {
            let text = format!("peer access was not taken back: {error}");
            self.caveats.push(Caveat::Note { text });
        }
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

    fn verify(&mut self, transfers: &[Transfer<B>], say: Say<'_>) -> device::Result<Verification> {
        if !self.job.verify {
            return Ok(Verification::NotAsked);
        }
        for transfer in transfers {
            if let Some(difference) = self.bench.check(&transfer.to, transfer.pattern, say)? {
                return Ok(Verification::WrongData {
                    seen: difference.to_string(),
                });
            }
        }
        Ok(Verification::Passed)
    }
}
