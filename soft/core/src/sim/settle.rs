//! What can begin now: operations that take no time, kernels, gates, and copies that get an engine.

use super::{Active, Flow, Holds, Simulation, Work, has_ended, is_reached};

impl Simulation {
    /// Runs what takes no time, in order of issue, then begins what needs no engine, and gives free engines to the copies that
    /// became ready.
    pub(super) fn settle(&mut self) {
        while let Some((_, stream)) = self.next_instant() {
            self.run_instant(stream);
        }
        for (id, stream) in &mut self.streams {
            if stream.busy {
                continue;
            }
            let Some((operation, work)) = stream.queue.front_mut() else {
                continue;
            };
            let (flow, holds) = match work {
                Work::Copy(_) => {
                    stream.busy = true;
                    self.pools[stream.pool]
                        .waiting
                        .push((self.now, *operation, *id));
                    continue;
                }
                Work::Run(_) => match std::mem::replace(work, Work::Begun) {
                    Work::Run(flow) => (flow, Holds::Nothing),
                    _ => continue,
                },
                Work::Gate(timeout_ns) => (Flow::idle(*timeout_ns), Holds::Gate),
                _ => continue,
            };
            stream.busy = true;
            let begun = Active::begin(*operation, *id, holds, flow, self.now);
            self.active.push(begun);
        }
        for pool in &mut self.pools {
            pool.waiting
                .sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let granted = pool.waiting.len().min(pool.free as usize);
            for (_, operation, stream) in pool.waiting.drain(..granted) {
                let Some((_, Work::Copy(flow))) = self
                    .streams
                    .get(&stream)
                    .and_then(|stream| stream.queue.front())
                else {
                    continue;
                };
                pool.free -= 1;
                let (flow, holds) = (flow.clone(), Holds::Engine);
                let begun = Active::begin(operation, stream, holds, flow, self.now);
                self.active.push(begun);
            }
        }
    }

    /// The earliest issued head operation that takes no time and can run, with its stream.
    fn next_instant(&self) -> Option<(u64, u64)> {
        let can_run = |work: &Work| match work {
            Work::Begun | Work::Copy(_) | Work::Run(_) | Work::Gate(_) => false,
            Work::Record { .. } => true,
            Work::Wait { event, count } => is_reached(&self.events, *event, *count),
            Work::After { stream, operation } => has_ended(&self.streams, *stream, *operation),
        };
        self.streams
            .iter()
            .filter_map(|(id, stream)| {
                stream
                    .queue
                    .front()
                    .map(|(operation, work)| (*operation, *id, work))
            })
            .filter(|(_, _, work)| can_run(work))
            .map(|(operation, id, _)| (operation, id))
            .min()
    }

    fn run_instant(&mut self, stream: u64) {
        let streams = self.streams.get_mut(&stream);
        let work = streams.and_then(|stream| stream.queue.pop_front());
        if let Some((_, Work::Record { event, count })) = work
            && let Some(event) = self.events.get_mut(&event)
            && event.reached < count
        {
            event.reached = count;
            event.time = self.now;
        }
    }
}

impl Active {
    /// Work that begins at `now`.
    pub(super) fn begin(operation: u64, stream: u64, holds: Holds, flow: Flow, now: f64) -> Self {
        Self {
            operation,
            stream,
            holds,
            moves_at: now + flow.latency_ns,
            left: flow.bytes,
            flow,
        }
    }
}
