//! Loads one device until the time is over: memory in one stream, multiply-adds in another, beside each other.
//!
//! It looks at every word that it wrote and every sum that it made.

mod arithmetic;
mod memory;

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use device::{Backend, DeviceError};
use kernels::Kernels;
use record::caveat::Condition;
use record::plan::StopReason;
use record::quantity::{Gate, Timing, Unit};
use record::{FailureKind, Outcome, Verification};

use self::arithmetic::Arithmetic;
use self::memory::Memory;
use super::series::{self, Series};
use super::tell::{Tell, doing};
use crate::messages::{Ended, LoadRequest};

/// Samples that the whole time is cut into, about.
const SAMPLES: u32 = 60;

/// Between two words to the parent.
const WORD: Duration = Duration::from_secs(1);

/// Rates over spans of time, an amount a nanosecond: so many samples of a load that has far more passes.
struct Rates {
    span: Duration,
    begun: Instant,
    amount: f64,
    ns: f64,
    samples: Vec<f64>,
}

/// Passes in which something was wrong, and the first of them.
#[derive(Default)]
struct Wrong {
    passes: u64,
    first: Option<String>,
}

/// Loads the device until the time is over or the parent asks to stop.
///
/// # Errors
/// The device failed; what is wrong with its data is an outcome.
pub(super) fn run<B: Backend>(
    backend: &B,
    request: &LoadRequest,
    stop: &AtomicBool,
    tell: Tell<'_>,
) -> device::Result<Vec<Ended>> {
    let device = backend.device(request.ordinal)?;
    let source = backend.time_source();
    doing(tell, "loading kernels");
    let (kernels, mut arithmetic) = match Kernels::load(&device) {
        Ok(kernels) => {
            let kernels = Rc::new(kernels);
            let arithmetic = Arithmetic::start(&device, Rc::clone(&kernels))?;
            (Ok(kernels), arithmetic)
        }
        Err(DeviceError::Unsupported { why, .. }) => (Err(why.clone()), Err(why)),
        Err(error) => return Err(error),
    };
    let without_kernels = kernels.as_ref().err().cloned();
    let memory = Memory::allocate(&device, request, kernels.ok(), tell)?;
    let count = memory.pieces.len();
    let bytes = (count * memory.bytes) as f64;
    let time = Duration::from_secs_f64(request.seconds);
    let rates = || Rates::over(time / SAMPLES);
    let (mut written, mut checked, mut multiplied) = (rates(), rates(), rates());
    let (mut in_memory, mut in_sums) = (Wrong::default(), Wrong::default());
    let begun = Instant::now();
    let mut told = begun;
    let mut passes = 0;
    // The first pass warms up: drivers load code in it.
    let goes_on = |passes| passes < 2 || (begun.elapsed() < time && !stop.load(Ordering::SeqCst));
    while goes_on(passes) {
        if passes == 0 || told.elapsed() >= WORD {
            told = Instant::now();
            doing(tell, &format!("pass {}", passes + 1));
        }
        // Multiply-adds are queued first and run beside what is done to memory.
        if let Ok(arithmetic) = &arithmetic {
            arithmetic.begin()?;
        }
        let pass = memory.pass(passes)?;
        if let Ok(arithmetic) = &mut arithmetic {
            let done = arithmetic.end(pass.written_ns + pass.checked_ns.unwrap_or(0.0))?;
            if passes > 0 {
                multiplied.add(done.operations, done.ns);
            }
            in_sums.see(done.wrong, passes);
        }
        if passes > 0 {
            written.add(bytes, pass.written_ns);
            if let Some(ns) = pass.checked_ns {
                checked.add(bytes, ns);
            }
        }
        in_memory.see(pass.wrong, passes);
        passes += 1;
    }
    let samples = |name: &str, unit, mut rates: Rates, factor: f64| {
        rates.close();
        let rates = rates.samples.into_iter();
        let series = Series {
            name: name.to_owned(),
            unit,
            source,
            samples: rates.map(|rate| rate * factor).collect(),
        };
        (!series.samples.is_empty()).then_some(series)
    };
    // Bytes a nanosecond are GB/s; operations a nanosecond are thousandths of a TFLOP/s.
    let of_memory = [
        samples("write", Unit::GbPerS, written, 1.0),
        samples("check", Unit::GbPerS, checked, 1.0),
    ];
    let of_sums = [samples("multiply_add", Unit::TflopPerS, multiplied, 1e-3)];
    let pieces = u32::try_from(count).unwrap_or(u32::MAX);
    let timing = Timing {
        source,
        gate: Gate::None,
        copies_per_sample: pieces,
        warmup_copies: pieces,
    };
    let measured = |all: Vec<Series>, wrong: Wrong, caveats| {
        let timed = (timing, StopReason::Budget);
        let outcome = series::measured(all, timed, wrong.verification(passes), None);
        Ended {
            caveats,
            ..Ended::of(outcome)
        }
    };
    let by_copies = without_kernels.iter();
    let by_copies = by_copies.map(|why| Condition::LoadByCopies.with(why));
    Ok(vec![
        measured(
            of_memory.into_iter().flatten().collect(),
            in_memory,
            by_copies.collect(),
        ),
        match arithmetic {
            Ok(_) => measured(of_sums.into_iter().flatten().collect(), in_sums, Vec::new()),
            Err(why) => Ended::of(Outcome::Skipped {
                reason: FailureKind::Unsupported
                    .of(format!("multiplying by kernels is not supported: {why}")),
            }),
        },
    ])
}

impl Rates {
    fn over(span: Duration) -> Self {
        Self {
            span,
            begun: Instant::now(),
            amount: 0.0,
            ns: 0.0,
            samples: Vec::new(),
        }
    }

    /// Adds what was done in so many nanoseconds.
    fn add(&mut self, amount: f64, ns: f64) {
        self.amount += amount;
        self.ns += ns;
        if self.begun.elapsed() >= self.span {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.ns > 0.0 {
            self.samples.push(self.amount / self.ns);
        }
        (self.amount, self.ns) = (0.0, 0.0);
        self.begun = Instant::now();
    }
}

impl Wrong {
    fn see(&mut self, wrong: Option<String>, pass: u64) {
        if let Some(seen) = wrong {
            self.passes += 1;
            let first = || format!("pass {}: {seen}", pass + 1);
            self.first.get_or_insert_with(first);
        }
    }

    fn verification(self, passes: u64) -> Verification {
        match self.first {
            None => Verification::Passed,
            Some(first) => Verification::WrongData {
                seen: format!("wrong in {} of {passes} passes; {first}", self.passes),
            },
        }
    }
}
