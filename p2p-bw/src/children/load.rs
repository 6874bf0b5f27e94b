//! A load on one device: memory written and compared in one stream, multiply-adds in another, beside each other.
//!
//! It looks at every word that it wrote and every sum that it made. All pieces of memory are written before the first is compared, so
//! that nothing is answered by a cache. Where there are no kernels the host sends one piece, the device copies it from piece to piece,
//! and the host compares the last: a bit that any piece loses is lost in all behind it.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use device::pattern::Pattern;
use device::{Backend, Device, DeviceError, Event, HostBuffer, HostKind, Result, Stream};
use kernels::{BURN_MULTIPLY_ADDS, BURN_ROUNDS, Kernels, Place};
use record::caveat::Condition;
use record::plan::StopReason;
use record::quantity::{Gate, Timing, Unit};
use record::{FailureKind, Outcome, Verification};

use super::bench::Bench;
use super::series::{Sampled, Series};
use crate::messages::{Finding, LoadRequest};

/// Samples that the whole time is cut into at most.
const SAMPLES: usize = 60;

/// Between two words to the parent.
const WORD: Duration = Duration::from_secs(1);

/// Bytes of a kernel's answer: the index of the first wrong word of a piece, or of the first wrong sum; all ones where none is.
const ANSWER: usize = 8;

/// How long a launch of multiply-adds takes, nanoseconds, about: long beside a launch's cost, short beside what a driver takes for a
/// hang.
const LAUNCH_NS: f64 = 1e7;

/// Rounds of the first launch, by whose time the others are planned.
const FIRST_ROUNDS: u64 = 256;

/// Launches of a pass at most.
const MOST_LAUNCHES: u32 = 64;

/// Items for each thread.
const TURNS: u64 = 2;

/// What one kind of work did: amount and nanoseconds of each pass, and what was wrong.
#[derive(Default)]
struct Work {
    passes: Vec<(f64, f64)>,
    wrong: usize,
    first_wrong: Option<String>,
}

impl Work {
    /// Takes a pass; the first warms up, as drivers load code in it, and only what it found wrong counts.
    fn take(&mut self, pass: u64, (amount, ns): (f64, f64), wrong: Option<String>) {
        if pass > 0 {
            self.passes.push((amount, ns));
        }
        if let Some(seen) = wrong {
            self.wrong += 1;
            let first = || format!("pass {}: {seen}", pass + 1);
            self.first_wrong.get_or_insert_with(first);
        }
    }

    /// Amounts a nanosecond, times a factor.
    fn rates(&self, factor: f64) -> Vec<f64> {
        let spans = self
            .passes
            .chunks(self.passes.len().div_ceil(SAMPLES).max(1));
        let sum = |span: &[(f64, f64)]| {
            let both = |sum: (f64, f64), pass: &(f64, f64)| (sum.0 + pass.0, sum.1 + pass.1);
            span.iter().fold((0.0, 0.0), both)
        };
        let timed = spans.map(sum).filter(|(_, ns)| *ns > 0.0);
        timed.map(|(amount, ns)| factor * amount / ns).collect()
    }

    fn verification(&self, passes: u64) -> Verification {
        match &self.first_wrong {
            None => Verification::Passed,
            Some(first) => Verification::WrongData {
                seen: format!("wrong in {} of {passes} passes; {first}", self.wrong),
            },
        }
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
    let kernels = match bench.kernels(request.ordinal) {
        Err(DeviceError::Unsupported { why, .. }) => Err(why),
        kernels => Ok(kernels?),
    };
    let mut arithmetic = match &kernels {
        Ok(kernels) => Arithmetic::start(&device, kernels)?,
        Err(why) => Err(why.clone()),
    };
    let without_kernels = kernels.as_ref().err().cloned();
    let memory = Memory::allocate(bench, device, request, kernels.ok())?;
    let bytes = (memory.pieces.len() * memory.bytes) as f64;
    let time = Duration::from_secs_f64(request.seconds);
    let (mut written, mut checked, mut multiplied) =
        (Work::default(), Work::default(), Work::default());
    let begun = Instant::now();
    let mut told = None;
    let mut passes = 0;
    while passes < 2 || (begun.elapsed() < time && !stop.load(Ordering::SeqCst)) {
        if told.is_none_or(|told: Instant| told.elapsed() >= WORD) {
            told = Some(Instant::now());
            bench.doing(&format!("pass {}", passes + 1));
        }
        // Multiply-adds are queued first and run beside what is done to memory.
        if let Ok(arithmetic) = &arithmetic {
            arithmetic.begin()?;
        }
        let (written_ns, checked_ns, wrong) = memory.pass(passes)?;
        if let Ok(arithmetic) = &mut arithmetic {
            let (done, wrong) = arithmetic.end(written_ns + checked_ns)?;
            multiplied.take(passes, done, wrong);
        }
        written.take(passes, (bytes, written_ns), wrong);
        checked.take(passes, (bytes, checked_ns), None);
        passes += 1;
    }
    let source = bench.backend.time_source();
    let pieces = u32::try_from(memory.pieces.len()).unwrap_or(u32::MAX);
    let timing = Timing {
        source,
        gate: Gate::None,
        copies_per_sample: pieces,
        warmup_copies: pieces,
    };
    let measured = |work: &Work, rates: Vec<(&str, Unit, Vec<f64>)>| {
        let rates = rates.into_iter().filter(|(.., rates)| !rates.is_empty());
        let series = rates.map(|(name, unit, samples)| Series {
            name: name.to_owned(),
            unit,
            source,
            samples,
        });
        let sampled = Sampled {
            series: series.collect(),
            overlaps: Vec::new(),
            timing,
            stopped: StopReason::Budget,
        };
        Finding::without_numbers(sampled.measured(work.verification(passes), None))
    };
    // Bytes a nanosecond are GB/s; operations a nanosecond are thousandths of a TFLOP/s.
    let (writes, checks) = (written.rates(1.0), checked.rates(1.0));
    let gb_per_s = vec![
        ("write", Unit::GbPerS, writes),
        ("check", Unit::GbPerS, checks),
    ];
    let mut of_memory = measured(&written, gb_per_s);
    let by_copies = without_kernels.map(|why| Condition::LoadByCopies.with(why));
    of_memory.caveats.extend(by_copies);
    let sums = ("multiply_add", Unit::TflopPerS, multiplied.rates(1e-3));
    let of_sums = match arithmetic {
        Ok(_) => measured(&multiplied, vec![sums]),
        Err(why) => Finding::without_numbers(Outcome::Skipped {
            reason: FailureKind::Unsupported
                .of(format!("multiplying by kernels is not supported: {why}")),
        }),
    };
    Ok(vec![of_memory, of_sums])
}

/// Memory of a device that is written and compared in pieces.
struct Memory<D: Device> {
    stream: D::Stream,
    marks: [D::Event; 3],
    ordinal: u64,
    pieces: Vec<D::DeviceBuffer>,
    /// Bytes of a piece.
    bytes: usize,
    /// The kernels and the memory for their answers, where there are some.
    kernels: Option<(Rc<Kernels<D>>, D::DeviceBuffer)>,
    /// The answers, or a piece.
    host: HostBuffer,
}

/// Nanoseconds in which a pass over memory wrote it and compared it, and what was wrong; none to compare where the host did.
type Pass = (f64, f64, Option<String>);

impl<D: Device> Memory<D> {
    /// Allocates as many pieces as were wanted or there is room for.
    fn allocate<B: Backend<Device = D>>(
        bench: &mut Bench<B>,
        device: D,
        request: &LoadRequest,
        kernels: Option<Rc<Kernels<D>>>,
    ) -> Result<Self> {
        let wanted = match request.bytes {
            Some(bytes) => bytes,
            None => device.memory()?.0 / 2,
        };
        let bytes = usize::try_from(request.piece_bytes).unwrap_or(usize::MAX);
        let count = wanted / request.piece_bytes.max(1);
        let mut pieces = Vec::new();
        for number in 0..count.max(1) {
            bench.doing(&format!("allocating piece {number} of {count}"));
            match device.alloc(bytes) {
                Ok(piece) => pieces.push(piece),
                // Somebody else took what was free; what there is is loaded.
                Err(DeviceError::OutOfMemory { .. }) if !pieces.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        let answers = pieces.len() * ANSWER;
        let kernels = match kernels {
            Some(kernels) => Some((kernels, device.alloc(answers)?)),
            None => None,
        };
        let of_host = if kernels.is_some() { answers } else { bytes };
        Ok(Self {
            stream: device.stream()?,
            marks: [device.event()?, device.event()?, device.event()?],
            ordinal: request.ordinal as u64,
            host: device.alloc_host(HostKind::Pinned, of_host, None)?,
            pieces,
            bytes,
            kernels,
        })
    }

    /// The words of a piece in a pass: no piece has another one's, and none what it had before.
    fn pattern(&self, pass: u64, number: usize) -> Pattern {
        Pattern::of(
            self.ordinal,
            (pass << 20) | number as u64,
            self.bytes as u64,
        )
    }

    /// Writes all of the memory, with words of its own in each pass, and compares it.
    fn pass(&self, pass: u64) -> Result<Pass> {
        let Some((kernels, answers)) = &self.kernels else {
            return self.by_copies(pass);
        };
        let (stream, bytes, length) = (&self.stream, self.bytes, self.host.len());
        self.host.with_bytes(|bytes| bytes.fill(0xff))?;
        stream.host_to_device((answers, 0), (&self.host, 0), length)?;
        stream.record(&self.marks[0])?;
        for (number, piece) in self.pieces.iter().enumerate() {
            let (to, pattern) = (Place::Device(piece, 0), self.pattern(pass, number));
            kernels.fill(stream, to, bytes, pattern, false)?;
        }
        stream.record(&self.marks[1])?;
        for (number, piece) in self.pieces.iter().enumerate() {
            let (data, pattern) = (Place::Device(piece, 0), self.pattern(pass, number));
            let told = Place::Device(answers, number * ANSWER);
            kernels.check(stream, data, bytes, pattern, told)?;
        }
        stream.record(&self.marks[2])?;
        stream.device_to_host((&self.host, 0), (answers, 0), length)?;
        stream.synchronize()?;
        let wrong = first_wrong(&self.host)?;
        let wrong = wrong
            .map(|(piece, word)| format!("piece {piece}: word {word} is not what was written"));
        let [begun, written, checked] = &self.marks;
        let (written_ns, checked_ns) = (
            written.nanoseconds_since(begun)?,
            checked.nanoseconds_since(written)?,
        );
        Ok((written_ns, checked_ns, wrong))
    }

    fn by_copies(&self, pass: u64) -> Result<Pass> {
        let (stream, bytes) = (&self.stream, self.bytes);
        let pattern = self.pattern(pass, 0);
        self.host.with_bytes(|bytes| pattern.fill(bytes))?;
        stream.record(&self.marks[0])?;
        stream.host_to_device((&self.pieces[0], 0), (&self.host, 0), bytes)?;
        for pair in self.pieces.windows(2) {
            stream.device_to_device((&pair[1], 0), (&pair[0], 0), bytes)?;
        }
        stream.record(&self.marks[1])?;
        stream.synchronize()?;
        // What does not come back must not look right by what lay there before.
        self.host.with_bytes(|bytes| bytes.fill(0))?;
        let last = &self.pieces[self.pieces.len() - 1];
        stream.device_to_host((&self.host, 0), (last, 0), bytes)?;
        stream.synchronize()?;
        let found = self
            .host
            .with_bytes(|found| pattern.first_difference(found))?;
        let written_ns = self.marks[1].nanoseconds_since(&self.marks[0])?;
        Ok((written_ns, 0.0, found.map(|first| first.to_string())))
    }
}

/// The first answer of kernels that is not all ones, by its number.
fn first_wrong(answers: &HostBuffer) -> Result<Option<(usize, u64)>> {
    answers.with_bytes(|bytes| {
        let (answers, _) = bytes.as_chunks::<ANSWER>();
        let words = answers.iter().map(|answer| u64::from_le_bytes(*answer));
        words.enumerate().find(|(_, word)| *word != u64::MAX)
    })
}

/// Multiply-adds in a stream of their own, as long as what is done to memory takes; every sum is compared on the device.
struct Arithmetic<D: Device> {
    kernels: Rc<Kernels<D>>,
    stream: D::Stream,
    marks: [D::Event; 2],
    answer: D::DeviceBuffer,
    host: HostBuffer,
    rounds: u64,
    launches: u32,
}

impl<D: Device> Arithmetic<D> {
    /// Loads the kernel and launches it once; the inner error says why a device that takes other kernels does not take this one.
    fn start(device: &D, kernels: &Rc<Kernels<D>>) -> Result<std::result::Result<Self, String>> {
        let mut arithmetic = Self {
            kernels: Rc::clone(kernels),
            stream: device.stream()?,
            marks: [device.event()?, device.event()?],
            answer: device.alloc(ANSWER)?,
            host: device.alloc_host(HostKind::Pinned, ANSWER, None)?,
            rounds: FIRST_ROUNDS,
            launches: 1,
        };
        match arithmetic.begin().and_then(|()| arithmetic.end(LAUNCH_NS)) {
            Ok(_) => Ok(Ok(arithmetic)),
            Err(error) if error.is_lost() => Err(error),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    fn items(&self) -> u64 {
        self.kernels.burn_items(TURNS)
    }

    /// Queues the launches of a pass.
    fn begin(&self) -> Result<()> {
        let Self { stream, .. } = self;
        self.host.with_bytes(|bytes| bytes.fill(0xff))?;
        stream.host_to_device((&self.answer, 0), (&self.host, 0), ANSWER)?;
        stream.record(&self.marks[0])?;
        for launch in 0..self.launches {
            let (seed, told) = (launch.into(), Place::Device(&self.answer, 0));
            self.kernels
                .burn(stream, self.items(), self.rounds, seed, told)?;
        }
        stream.record(&self.marks[1])?;
        stream.device_to_host((&self.host, 0), (&self.answer, 0), ANSWER)
    }

    /// Waits for them, and plans those of the next pass, which shall take as long as its memory did. Gives operations, of which a
    /// multiply-add is two, their nanoseconds, and what was wrong.
    fn end(&mut self, memory_ns: f64) -> Result<((f64, f64), Option<String>)> {
        self.stream.synchronize()?;
        let ns = self.marks[1].nanoseconds_since(&self.marks[0])?;
        let wrong = first_wrong(&self.host)?;
        let wrong = wrong.map(|_| "a sum of small whole numbers is not what it must be".to_owned());
        let multiply_adds = self.items() * self.rounds * BURN_MULTIPLY_ADDS;
        let launches = f64::from(self.launches);
        (self.rounds, self.launches) = planned(self.rounds, ns / launches, memory_ns);
        Ok(((2.0 * multiply_adds as f64 * launches, ns), wrong))
    }
}

/// Rounds of a launch and launches of a pass, after a launch of so many rounds took so long.
fn planned(rounds: u64, launch_ns: f64, memory_ns: f64) -> (u64, u32) {
    let round_ns = (launch_ns / rounds as f64).max(1e-3);
    let wanted = (LAUNCH_NS / round_ns).clamp(1.0, BURN_ROUNDS as f64);
    let launches = (memory_ns / (wanted * round_ns)).clamp(1.0, f64::from(MOST_LAUNCHES));
    (wanted as u64, launches.ceil() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_last_ten_milliseconds_and_as_many_as_memory_takes() {
        // 256 rounds in 1 ms: 3.9 us a round, 2560 in 10 ms; 95 ms of memory are 10 of them, the last one not whole.
        assert_eq!(planned(256, 1e6, 9.5e7), (2560, 10));
        // No memory: one. A day of memory: 64.
        assert_eq!(planned(256, 1e6, 0.0), (2560, 1));
        assert_eq!(planned(256, 1e6, 8.64e13), (2560, 64));
        // 256 rounds in 10 us would be 256,000 in 10 ms; 32,768 are the most, 1.28 ms, of which 2 ms are two.
        assert_eq!(planned(256, 1e4, 2e6), (32_768, 2));
        // A slow device: a round of 20 ms is one round.
        assert_eq!(planned(256, 256.0 * 2e7, 1e6), (1, 1));
    }
}
