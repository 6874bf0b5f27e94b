//! The child that measures host memory by CPUs: one thread copies, and follows a chain of loads, on the nodes of the request.

use std::hint::black_box;

use numa::{HostPages, NumaError};
use record::clock::{Clock, Monotonic};
use record::plan::{Plan, Sampling, StopReason};
use record::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
use record::unit::gb_per_s;
use record::{HostMemoryOutcome, NamedQuantity, Placement};

use super::tell::{Tell, doing};
use super::worker::verdicts::thread_place;
use crate::messages::HostMemoryRequest;

/// Bytes of a line of the cache: no two loads of the chain share one, and on some machines a pair of lines comes together.
const LINE: usize = 128;

/// Loads in one sample.
const LOADS: usize = 200_000;

/// Samples of a quantity take this long together, where that is more than six of them.
const BUDGET: std::time::Duration = std::time::Duration::from_millis(800);

pub(super) fn measure(
    request: &HostMemoryRequest,
    tell: Tell<'_>,
) -> Result<HostMemoryOutcome, NumaError> {
    if !request.cpus.is_empty() {
        numa::pin_thread_to_cpus(&request.cpus)?;
    }
    doing(tell, "copying");
    let copy_bytes = usize::try_from(request.copy_bytes).unwrap_or(usize::MAX);
    let (bandwidth, mut proofs) = copy(request, copy_bytes, tell)?;
    doing(tell, "following a chain");
    let chain_bytes = usize::try_from(request.chain_bytes).unwrap_or(usize::MAX);
    let chain = Chain::new(request, chain_bytes)?;
    proofs.push(chain.proven());
    let latency = chain.latency(request.samples, tell);
    let quantities = [("bandwidth", bandwidth), ("latency", latency)];
    let named = |(name, quantity): (&str, Option<Quantity>)| {
        let name = name.to_owned();
        quantity.map(|quantity| NamedQuantity { name, quantity })
    };
    let first = proofs.first().copied().flatten();
    let proven = first.filter(|_| proofs.iter().all(|proof| *proof == first));
    Ok(HostMemoryOutcome::Measured {
        quantities: quantities.into_iter().filter_map(named).collect(),
        copy_bytes: request.copy_bytes,
        chain_bytes: request.chain_bytes,
        huge_pages: chain.in_huge_pages(),
        placement: Placement {
            wanted: request.memory_node,
            proven,
            basis: match (proven, chain.pages.proof()) {
                (_, Err(refused)) => refused.to_string(),
                (Some(_), Ok(found)) => format!("{}, after the pages were touched", found.by),
                (None, Ok(found)) => format!("{} did not find all pages on one node", found.by),
            },
        },
        thread: match request.cpu_node {
            Some(node) => thread_place(node, &request.cpus, None),
            None => Placement {
                wanted: None,
                proven: None,
                basis: "the kernel shows no node".to_owned(),
            },
        },
    })
}

/// The rate of a copy between two buffers, and where these were found.
fn copy(
    request: &HostMemoryRequest,
    bytes: usize,
    tell: Tell<'_>,
) -> Result<(Option<Quantity>, Vec<Option<u32>>), NumaError> {
    let place = placement(request);
    let (mut to, mut from) = (
        HostPages::allocate(bytes, &place)?,
        HostPages::allocate(bytes, &place)?,
    );
    from.as_mut_slice().fill(1);
    let proofs = vec![to.proven_node(), from.proven_node()];
    let clock = Monotonic::start();
    let sampling = Sampling::start(plan(request.samples), &clock);
    let mut rates = Vec::new();
    to.as_mut_slice().copy_from_slice(from.as_slice());
    let stopped = loop {
        doing(tell, "copying");
        let before = clock.now();
        black_box(to.as_mut_slice()).copy_from_slice(black_box(from.as_slice()));
        let took = clock.now().saturating_sub(before);
        rates.push(gb_per_s(request.copy_bytes, took.as_secs_f64() * 1e9));
        if let Some(stopped) = sampling.stop(&[&rates]) {
            break stopped;
        }
    };
    Ok((quantity(rates, Unit::GbPerS, stopped, 1), proofs))
}

/// A random cycle through memory, each line naming the next.
struct Chain {
    pages: HostPages,
}

impl Chain {
    fn new(request: &HostMemoryRequest, bytes: usize) -> Result<Self, NumaError> {
        let place = numa::Placement {
            huge: numa::HugePages::Advised,
            ..placement(request)
        };
        let mut pages = HostPages::allocate(bytes, &place)?;
        let lines = bytes / LINE;
        // Sattolo's shuffle: one cycle through all lines.
        let mut order: Vec<u32> = (0..u32::try_from(lines).unwrap_or(u32::MAX)).collect();
        let mut random = stats::SplitMix::new(1);
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last));
        }
        let memory = pages.as_mut_slice();
        for (at, next) in order.iter().enumerate() {
            let word = (*next as usize * LINE) as u64;
            memory[at * LINE..at * LINE + 8].copy_from_slice(&word.to_ne_bytes());
        }
        Ok(Self { pages })
    }

    fn proven(&self) -> Option<u32> {
        self.pages.proven_node()
    }

    /// Whether nearly all of it is in huge pages; what lies at the ends may not be.
    fn in_huge_pages(&self) -> bool {
        let sizes = self.pages.page_sizes();
        let ordinary = rustix::param::page_size() as u64;
        sizes.is_ok_and(|sizes| sizes.huge_bytes(ordinary) >= sizes.bytes / 10 * 9)
    }

    /// The time of one load, each after the one before.
    fn latency(&self, samples: usize, tell: Tell<'_>) -> Option<Quantity> {
        let memory = self.pages.as_slice();
        let clock = Monotonic::start();
        let sampling = Sampling::start(plan(samples), &clock);
        let (mut at, mut times) = (0, Vec::new());
        at = follow(memory, at, LOADS);
        let stopped = loop {
            doing(tell, "following a chain");
            let before = clock.now();
            at = black_box(follow(memory, at, LOADS));
            let took = clock.now().saturating_sub(before);
            times.push(took.as_secs_f64() * 1e9 / LOADS as f64);
            if let Some(stopped) = sampling.stop(&[&times]) {
                break stopped;
            }
        };
        quantity(times, Unit::Nanoseconds, stopped, LOADS)
    }
}

/// Follows so many links from a place; where it ends.
fn follow(memory: &[u8], mut at: usize, loads: usize) -> usize {
    for _ in 0..loads {
        let word = memory.get(at..at + 8).and_then(|word| word.try_into().ok());
        at = word.map_or(0, u64::from_ne_bytes) as usize;
    }
    at
}

fn placement(request: &HostMemoryRequest) -> numa::Placement {
    numa::Placement {
        node: request.memory_node,
        ..numa::Placement::default()
    }
}

fn plan(samples: usize) -> Plan {
    Plan::new(samples, BUDGET)
}

fn quantity(samples: Vec<f64>, unit: Unit, stopped: StopReason, copies: usize) -> Option<Quantity> {
    let timing = Timing {
        source: TimeSource::HostMonotonic,
        gate: Gate::None,
        copies_per_sample: u32::try_from(copies).unwrap_or(u32::MAX),
        warmup_copies: 1,
    };
    Quantity::from_samples(samples, unit, timing, stopped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(bytes: u64) -> HostMemoryRequest {
        HostMemoryRequest {
            cpus: Vec::new(),
            cpu_node: None,
            memory_node: None,
            copy_bytes: bytes,
            chain_bytes: bytes,
            samples: 6,
        }
    }

    #[test]
    fn the_chain_is_one_cycle_through_all_lines() {
        let chain = Chain::new(&request(1 << 20), 1 << 20).unwrap();
        let memory = chain.pages.as_slice();
        let lines = (1 << 20) / LINE;
        let (mut seen, mut at) = (vec![false; lines], 0);
        for _ in 0..lines {
            at = follow(memory, at, 1);
            assert!(!std::mem::replace(&mut seen[at / LINE], true));
        }
        // Back where it began, with every line seen once.
        assert_eq!(at, 0);
        assert!(seen.iter().all(|seen| *seen));
    }

    #[test]
    fn both_numbers_come_out_with_an_interval() {
        let outcome = measure(&request(1 << 20), &mut |_| ()).unwrap();
        let HostMemoryOutcome::Measured { quantities, .. } = outcome else {
            panic!("nothing was measured");
        };
        let names: Vec<&str> = quantities.iter().map(|named| named.name.as_str()).collect();
        assert_eq!(names, ["bandwidth", "latency"]);
        for named in &quantities {
            assert!(named.quantity.interval.is_some() && named.quantity.value > 0.0);
        }
    }
}
