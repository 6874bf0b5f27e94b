//! A load on one device: memory written and compared in one stream, multiply-adds in another, beside each other.
//!
//! It looks at every word that it wrote and every sum that it made. All of the memory is written before any is compared, so that nothing
//! is answered by a cache. Where there are no kernels the host sends one piece, the device copies it from piece to piece, and the host
//! compares the last: a bit that any piece loses is lost in all behind it.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use device::pattern::Pattern;
use device::{Backend, Device, DeviceError, Event, HostBuffer, HostKind, Result, Stream};
use kernels::{BURN_MULTIPLY_ADDS, Kernels, Place};
use record::caveat::Condition;
use record::plan::StopReason;
use record::quantity::{Gate, Timing, Unit};
use record::{FailureKind, Outcome, Verification};

use super::bench::Bench;
use super::series::{Sampled, Series};
use crate::messages::{Finding, LOAD_PIECE, LoadRequest};

/// Samples that the whole time is cut into, about.
const SAMPLES: u32 = 60;

/// Between two words to the parent.
const WORD: Duration = Duration::from_secs(1);

/// Bytes of a kernel's answer: the index of the first wrong word or sum; all ones where none is.
const ANSWER: usize = 8;

/// As a length of memory.
const PIECE: usize = LOAD_PIECE as usize;

/// Bytes of a copy at most, and copies of a pass about: large, so that no cache holds what the next one reads.
const MOST_OF_COPY: usize = 256 << 20;
const COPIES: usize = 16;

/// Rounds of a launch of multiply-adds: some ten milliseconds, long beside a launch's cost, short beside what a driver takes for a hang.
const ROUNDS: u64 = 8192;

/// Launches of a pass at most.
const MOST_LAUNCHES: f64 = 64.0;

/// Items for each thread.
const TURNS: u64 = 2;

/// What one kind of work did: amounts and their nanoseconds, and what was wrong.
#[derive(Default)]
struct Work {
    spans: Vec<(f64, f64)>,
    wrong: usize,
    first_wrong: Option<String>,
}

impl Work {
    /// Takes a pass into a new span or the last one; the first warms up, as drivers load code in it, and only what it found wrong counts.
    fn take(
        &mut self,
        (pass, is_new): (u64, bool),
        (amount, ns): (f64, f64),
        wrong: Option<String>,
    ) {
        match self.spans.last_mut() {
            Some(last) if !is_new => *last = (last.0 + amount, last.1 + ns),
            _ if pass > 0 && ns > 0.0 => self.spans.push((amount, ns)),
            _ => {}
        }
        if let Some(seen) = wrong {
            self.wrong += 1;
            let first = || format!("pass {}: {seen}", pass + 1);
            self.first_wrong.get_or_insert_with(first);
        }
    }

    /// Amounts a nanosecond, times a factor.
    fn rates(&self, name: &str, unit: Unit, factor: f64) -> (String, Unit, Vec<f64>) {
        let spans = self.spans.iter();
        let rates = spans.map(|(amount, ns)| factor * amount / ns).collect();
        (name.to_owned(), unit, rates)
    }

    /// What came of it, with its numbers, those that there are.
    fn measured(
        &self,
        passes: u64,
        timing: Timing,
        rates: Vec<(String, Unit, Vec<f64>)>,
    ) -> Finding {
        let rates = rates.into_iter().filter(|(.., rates)| !rates.is_empty());
        let series = rates.map(|(name, unit, samples)| Series {
            name,
            unit,
            source: timing.source,
            samples,
        });
        let sampled = Sampled {
            series: series.collect(),
            overlaps: Vec::new(),
            timing,
            stopped: StopReason::Budget,
        };
        let verification = match &self.first_wrong {
            None => Verification::Passed,
            Some(first) => Verification::WrongData {
                seen: format!("wrong in {} of {passes} passes; {first}", self.wrong),
            },
        };
        Finding::without_numbers(sampled.measured(verification, None))
    }
}

/// Loads the device until the time is over or the parent asks to stop; gives what came of memory and of arithmetic.
///
/// # Errors
/// The device failed; what is wrong with its data is an outcome.
pub(super) fn run<B: Backend>(
    bench: &mut Bench<B>,
    request: &LoadRequest,
    stop: &AtomicBool,
) -> Result<Vec<Finding>> {
    let device = bench.device(request.ordinal)?;
    let (kernels, without_kernels) = match bench.kernels(request.ordinal) {
        Err(DeviceError::Unsupported { why, .. }) => (None, Some(why)),
        kernels => (Some(kernels?), None),
    };
    let bytes = match request.bytes {
        Some(bytes) => bytes,
        None => device.memory()?.0 / 2,
    };
    bench.doing("allocating device memory");
    let load = Load::new(
        &device,
        usize::try_from(bytes).unwrap_or(usize::MAX),
        kernels,
    )?;
    let without_sums = without_kernels.clone().or(load.without_sums()?);
    let bytes = load.bytes as f64;
    let time = Duration::from_secs_f64(request.seconds);
    let mut next = Duration::ZERO;
    let (mut written, mut checked, mut multiplied) =
        (Work::default(), Work::default(), Work::default());
    let (begun, mut told) = (Instant::now(), None);
    let (mut passes, mut launches) = (0, u32::from(without_sums.is_none()));
    while passes < 2 || (begun.elapsed() < time && !stop.load(Ordering::SeqCst)) {
        if told.is_none_or(|told: Instant| told.elapsed() >= WORD) {
            told = Some(Instant::now());
            bench.doing(&format!("pass {}", passes + 1));
        }
        let is_new = begun.elapsed() >= next;
        if is_new {
            next = begun.elapsed() + time / SAMPLES;
        }
        let pass = load.pass(passes, launches)?;
        written.take((passes, is_new), (bytes, pass.written_ns), pass.wrong_word);
        checked.take((passes, is_new), (bytes, pass.checked_ns), None);
        let operations = load.operations(launches);
        multiplied.take(
            (passes, is_new),
            (operations, pass.multiplied_ns),
            pass.wrong_sum,
        );
        // As long as what is done to memory takes.
        let memory_ns = pass.written_ns + pass.checked_ns;
        let wanted = memory_ns * f64::from(launches) / pass.multiplied_ns.max(1.0);
        launches = launches.min(1) * wanted.clamp(1.0, MOST_LAUNCHES).ceil() as u32;
        passes += 1;
    }
    let pieces = u32::try_from(load.bytes / PIECE).unwrap_or(u32::MAX);
    let timing = Timing {
        source: bench.backend.time_source(),
        gate: Gate::None,
        copies_per_sample: pieces,
        warmup_copies: pieces,
    };
    // Bytes a nanosecond are GB/s; operations a nanosecond are thousandths of a TFLOP/s.
    let [writes, checks] = [(&written, "write"), (&checked, "check")]
        .map(|(work, name)| work.rates(name, Unit::GbPerS, 1.0));
    let mut of_memory = written.measured(passes, timing, vec![writes, checks]);
    let of_sums = match without_sums {
        None => {
            let rates = multiplied.rates("multiply_add", Unit::TflopPerS, 1e-3);
            multiplied.measured(passes, timing, vec![rates])
        }
        Some(why) => Finding::without_numbers(Outcome::Skipped {
            reason: FailureKind::Unsupported
                .of(format!("multiplying by kernels is not supported: {why}")),
        }),
    };
    let by_copies = without_kernels.map(|why| Condition::LoadByCopies.with(why));
    of_memory.caveats.extend(by_copies);
    Ok(vec![of_memory, of_sums])
}

/// The memory of a device that is loaded, and what loads it.
struct Load<D: Device> {
    /// For memory, and for multiply-adds beside it.
    streams: [D::Stream; 2],
    marks: [D::Event; 5],
    ordinal: u64,
    memory: D::DeviceBuffer,
    bytes: usize,
    /// The kernels and the memory for their answers, of words and of sums, where there are some.
    kernels: Option<(Rc<Kernels<D>>, D::DeviceBuffer)>,
    /// The answers, or a piece.
    host: HostBuffer,
}

/// Nanoseconds in which a pass wrote the memory, compared it and multiplied, and what was wrong; none of what copies do not do.
#[derive(Default)]
struct Pass {
    written_ns: f64,
    checked_ns: f64,
    multiplied_ns: f64,
    wrong_word: Option<String>,
    wrong_sum: Option<String>,
}

impl<D: Device> Load<D> {
    fn new(device: &D, bytes: usize, kernels: Option<Rc<Kernels<D>>>) -> Result<Self> {
        let piece = match kernels {
            Some(_) => PIECE,
            None => (bytes / COPIES).clamp(PIECE, MOST_OF_COPY) / PIECE * PIECE,
        };
        let mut bytes = (bytes / piece).max(1) * piece;
        let (kernels, of_host) = match kernels {
            Some(kernels) => (Some((kernels, device.alloc(2 * ANSWER)?)), 2 * ANSWER),
            None => (None, piece),
        };
        let memory = loop {
            match device.alloc(bytes) {
                // Somebody else took what was free; what fits is loaded.
                Err(DeviceError::OutOfMemory { .. }) if bytes > piece => {
                    bytes = bytes / 2 / piece * piece;
                }
                memory => break memory?,
            }
        };
        let event = || device.event();
        Ok(Self {
            streams: [device.stream()?, device.stream()?],
            marks: [event()?, event()?, event()?, event()?, event()?],
            ordinal: device.ordinal() as u64,
            memory,
            host: device.alloc_host(HostKind::Pinned, of_host, None)?,
            bytes,
            kernels,
        })
    }

    fn items(kernels: &Kernels<D>) -> u64 {
        kernels.burn_items(TURNS)
    }

    /// Why a device that takes other kernels does not take the one that multiplies, which is launched once.
    fn without_sums(&self) -> Result<Option<String>> {
        let ([_, stream], Some((kernels, answers))) = (&self.streams, &self.kernels) else {
            return Ok(None);
        };
        let (items, answer) = (Self::items(kernels), Place::Device(answers, ANSWER));
        let tried = kernels.burn(stream, items, 1, 0, answer);
        match tried.and_then(|()| stream.synchronize()) {
            Err(error) if error.is_lost() => Err(error),
            tried => Ok(tried.err().map(|error| error.to_string())),
        }
    }

    /// Operations of so many launches; a multiply-add is two.
    fn operations(&self, launches: u32) -> f64 {
        let kernels = self.kernels.iter();
        let items: u64 = kernels.map(|(kernels, _)| Self::items(kernels)).sum();
        2.0 * f64::from(launches) * (items * ROUNDS * BURN_MULTIPLY_ADDS) as f64
    }

    /// Writes all of the memory, with words of its own in each pass, and compares it, beside so many launches of multiply-adds.
    fn pass(&self, pass: u64, launches: u32) -> Result<Pass> {
        let pattern = Pattern::of(self.ordinal, pass, self.bytes as u64);
        let Some((kernels, answers)) = &self.kernels else {
            return self.by_copies(pattern);
        };
        let [stream, of_sums] = &self.streams;
        let [begun, written, checked, started, multiplied] = &self.marks;
        self.host.with_bytes(|bytes| bytes.fill(0xff))?;
        stream.host_to_device((answers, 0), (&self.host, 0), 2 * ANSWER)?;
        stream.synchronize()?;
        // Multiply-adds are queued first and run beside what is done to memory.
        of_sums.record(started)?;
        for launch in 0..launches {
            let (items, answer) = (Self::items(kernels), Place::Device(answers, ANSWER));
            kernels.burn(of_sums, items, ROUNDS, launch.into(), answer)?;
        }
        of_sums.record(multiplied)?;
        stream.record(begun)?;
        let memory = || Place::Device(&self.memory, 0);
        kernels.fill(stream, memory(), self.bytes, pattern, false)?;
        stream.record(written)?;
        let answer = Place::Device(answers, 0);
        kernels.check(stream, memory(), self.bytes, pattern, answer)?;
        stream.record(checked)?;
        of_sums.synchronize()?;
        stream.device_to_host((&self.host, 0), (answers, 0), 2 * ANSWER)?;
        stream.synchronize()?;
        let [word, sum] = self.host.with_bytes(|bytes| {
            [0, ANSWER].map(|at| {
                bytes[at..]
                    .first_chunk()
                    .map(|one| u64::from_le_bytes(*one))
            })
        })?;
        let is_wrong = |answer: &u64| *answer != u64::MAX;
        let not_written = |word| format!("word {word} is not what was written");
        let not_so = |_| "a sum of small whole numbers is not what it must be".to_owned();
        Ok(Pass {
            written_ns: written.nanoseconds_since(begun)?,
            checked_ns: checked.nanoseconds_since(written)?,
            multiplied_ns: multiplied.nanoseconds_since(started)?,
            wrong_word: word.filter(is_wrong).map(not_written),
            wrong_sum: sum.filter(is_wrong).map(not_so),
        })
    }

    fn by_copies(&self, pattern: Pattern) -> Result<Pass> {
        let ([stream, _], [begun, written, ..]) = (&self.streams, &self.marks);
        let piece = self.host.len();
        self.host.with_bytes(|bytes| pattern.fill(bytes))?;
        stream.record(begun)?;
        stream.host_to_device((&self.memory, 0), (&self.host, 0), piece)?;
        for at in (piece..self.bytes).step_by(piece) {
            stream.device_to_device((&self.memory, at), (&self.memory, at - piece), piece)?;
        }
        stream.record(written)?;
        stream.synchronize()?;
        // What does not come back must not look right by what lay there before.
        self.host.with_bytes(|bytes| bytes.fill(0))?;
        let last = self.bytes - piece;
        stream.device_to_host((&self.host, 0), (&self.memory, last), piece)?;
        stream.synchronize()?;
        let wrong = self
            .host
            .with_bytes(|found| pattern.first_difference(found))?;
        Ok(Pass {
            written_ns: written.nanoseconds_since(begun)?,
            wrong_word: wrong.map(|first| first.to_string()),
            ..Pass::default()
        })
    }
}
