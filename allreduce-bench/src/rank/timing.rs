//! The four ways in which calls are timed.
//!
//! Nothing but queueing happens between two marks: filling, comparing and allocating are outside. Before the first mark stands a
//! call that is not timed and that all ranks wait for, so that they begin together. It is the call that is timed: a small one may
//! take another protocol, and where that one hangs, sizes that do not take it could not be measured. Where the device's work is
//! done by this machine's own CPUs, its queue is held until all is in it; a GPU's is not, so that calls which are queued slower
//! than they run show it.

use std::time::{Duration, Instant};

use device::collectives::{Collectives, Communicator};
use device::{Backend, Event, Latch, Result, Stream};
use record::CallMode;
use record::quantity::Gate;

use super::bench::{Bench, Captured, Say, Series, out_of_turn};
use super::gap::Gap;
use crate::messages::RankReply;

/// For so long nothing is said while samples are taken: the parent wakes up to hear it, on CPUs that the ranks may need.
const QUIET: Duration = Duration::from_millis(250);

/// Gaps between two marks while their length is found out.
const TRIAL_GAPS: u32 = 8;

impl<C: Collectives> Bench<C> {
    /// Takes samples of a mode, each the mean time of a call.
    pub(super) fn time(
        &mut self,
        mode: CallMode,
        (calls, samples): (u32, u32),
        gap_us: Option<f64>,
        say: Say<'_>,
    ) -> Result<RankReply> {
        let in_graph = match mode {
            CallMode::HostSynced | CallMode::BackToBack => false,
            CallMode::Graph if self.captured(Series::Calls, calls)? => true,
            CallMode::Graph => {
                return Ok(RankReply::NotThere {
                    reason: format!("the {} backend has no graphs", C::Backend::NAME).into(),
                });
            }
            CallMode::Interleaved => {
                self.set_gap(gap_us.ok_or_else(|| out_of_turn("gap"))?, say)?;
                self.captured(Series::Gaps, calls)? && self.captured(Series::GapsAndCalls, calls)?
            }
        };
        let (mut microseconds, mut gap_microseconds, mut gate) = (vec![], vec![], Gate::None);
        let mut said = Instant::now();
        for sample in 0..samples {
            if said.elapsed() >= QUIET {
                say(&format!("sample {} of {samples}", sample + 1));
                said = Instant::now();
            }
            // Two series begin in turn, so that what drifts does not favour one.
            let order: &[Series] = match mode {
                CallMode::HostSynced => {
                    microseconds.push(self.host_synced()?);
                    continue;
                }
                CallMode::BackToBack | CallMode::Graph => &[Series::Calls],
                CallMode::Interleaved if sample % 2 == 0 => &[Series::Gaps, Series::GapsAndCalls],
                CallMode::Interleaved => &[Series::GapsAndCalls, Series::Gaps],
            };
            for series in order {
                let (mean, held) = self.sample(*series, calls, in_graph)?;
                gate = held;
                match series {
                    Series::Gaps => gap_microseconds.push(mean),
                    Series::Calls | Series::GapsAndCalls => microseconds.push(mean),
                }
            }
        }
        Ok(RankReply::Timed {
            microseconds,
            gap_microseconds,
            gate,
        })
    }

    /// One call by the host's clock, microseconds, from a state in which all ranks have just met.
    fn host_synced(&self) -> Result<f64> {
        self.work()?.replayed.set(None);
        self.call()?;
        self.wait()?;
        let start = Instant::now();
        self.call()?;
        self.stream.synchronize()?;
        let took = start.elapsed();
        self.member()?.communicator.async_error()?;
        Ok(took.as_secs_f64() * 1e6)
    }

    /// The mean of one batch.
    fn sample(&self, series: Series, calls: u32, in_graph: bool) -> Result<(f64, Gate)> {
        let work = || {
            if in_graph {
                return self.replay((series, calls));
            }
            self.work()?.replayed.set(None);
            self.queue(series, calls)
        };
        let (microseconds, gate) = self.between_marks(|| self.call(), work)?;
        Ok((microseconds / f64::from(calls), gate))
    }

    /// Microseconds of work by the device's marks around it, what `begin` queues being before the first.
    fn between_marks(
        &self,
        begin: impl FnOnce() -> Result<()>,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<(f64, Gate)> {
        let latch = Latch::default();
        let gate = match self.stream.hold(&latch)? {
            true => Gate::HeldQueue,
            false => Gate::None,
        };
        let queued = begin()
            .and_then(|()| self.stream.record(&self.start))
            .and_then(|()| work())
            .and_then(|()| self.stream.record(&self.end));
        // Whatever came of it: a stream that stays held never ends.
        latch.open();
        queued?;
        self.wait()?;
        Ok((self.end.nanoseconds_since(&self.start)? / 1e3, gate))
    }

    /// Queues a series one by one.
    fn queue(&self, series: Series, calls: u32) -> Result<()> {
        for _ in 0..calls {
            if series != Series::Calls {
                let gap = self.gap.as_ref().ok_or_else(|| out_of_turn("gap"))?;
                gap.queue(&self.stream)?;
            }
            if series != Series::Gaps {
                self.call()?;
            }
        }
        Ok(())
    }

    /// Queues a graph that was captured.
    pub(super) fn replay(&self, (series, calls): (Series, u32)) -> Result<()> {
        let work = self.work()?;
        let is_it = |graph: &&Captured<C>| (graph.series, graph.calls) == (series, calls);
        let captured = work.graphs.iter().find(is_it);
        let captured = captured.ok_or_else(|| out_of_turn("graph"))?;
        if series != Series::Gaps {
            work.replayed.set(Some((series, calls)));
        }
        self.stream.launch(&captured.graph)
    }

    /// Captures a series, unless that was done; `false` where the backend has no graphs.
    pub(super) fn captured(&mut self, series: Series, calls: u32) -> Result<bool> {
        let work = self.work()?;
        let is_it = |graph: &Captured<C>| (graph.series, graph.calls) == (series, calls);
        if work.graphs.iter().any(is_it) {
            return Ok(true);
        }
        let graph = self.stream.capture(&mut || self.queue(series, calls))?;
        if let (Some(graph), Some(work)) = (graph, &mut self.work) {
            // Those of another length are not launched again.
            work.graphs.retain(|graph| graph.series != series);
            work.graphs.push(Captured {
                series,
                calls,
                graph,
            });
            return Ok(true);
        }
        Ok(false)
    }

    /// Makes a gap of about so many microseconds, unless there is one: a run asks for one length.
    fn set_gap(&mut self, asked_us: f64, say: Say<'_>) -> Result<()> {
        if self.gap.is_some() {
            return Ok(());
        }
        let size = (self.pool, self.effort.gap_bytes);
        let gap = Gap::of(&self.device, asked_us, size, say, |gap| {
            let queue = || (0..TRIAL_GAPS).try_for_each(|_| gap.queue(&self.stream));
            // The first ones touch the memory, and whatever the driver does once.
            self.between_marks(|| gap.queue(&self.stream), queue)
                .map(|(microseconds, _)| microseconds / f64::from(TRIAL_GAPS))
        })?;
        self.gap = Some(gap);
        Ok(())
    }
}
