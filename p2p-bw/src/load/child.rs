//! The child that loads one device until the time is over: memory in one stream, multiply-adds in another, beside each other.
//!
//! It looks at every word that it wrote and every sum that it made. Who watches it, and what its figures mean, is the parent's matter.

mod arithmetic;
mod by_copies;
mod by_kernels;
mod rates;

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use device::{Backend, Device, DeviceError, Visit};
use inventory::time_source;
use kernels::Kernels;
use program::child::Line;

use self::arithmetic::Arithmetic;
use self::by_copies::ByCopies;
use self::by_kernels::ByKernels;
use self::rates::Rates;
use super::messages::{Counted, Load, LoadReply, LoadRequest, Loaded};
use crate::messages::Series;
use measure::quantity::Unit;

/// Samples that the whole time is cut into, about.
const SAMPLES: u32 = 60;

/// Between two words to the parent.
const WORD: Duration = Duration::from_secs(1);

pub(crate) fn run(mut line: Line<LoadRequest>) -> Result<()> {
    match line.request()? {
        Some(request) => request.backend.visit(Serve { request, line }),
        None => Ok(()),
    }
}

struct Serve {
    request: LoadRequest,
    line: Line<LoadRequest>,
}

impl Visit for Serve {
    type Output = Result<()>;

    fn visit<B: Backend>(mut self) -> Result<()> {
        let mut pipe = Ok(());
        let stop = self.line.abort_flag();
        let line = &mut self.line;
        let mut tell = |reply: LoadReply| {
            if pipe.is_ok() {
                pipe = line.send(&reply);
            }
        };
        let end = match load::<B>(&self.request, &stop, &mut tell) {
            Ok(loaded) => LoadReply::Done {
                loaded: Box::new(loaded),
            },
            Err(error) => LoadReply::Failed {
                reason: error.to_string(),
            },
        };
        pipe?;
        self.line.send(&end)
    }
}

/// Takes what the parent shall know.
type Tell<'a> = &'a mut dyn FnMut(LoadReply);

fn doing(tell: Tell<'_>, doing: &str) {
    tell(LoadReply::Doing {
        doing: doing.to_owned(),
    });
}

/// What writes and checks the memory of a device.
enum Memory<D: Device> {
    Kernels(ByKernels<D>),
    Copies(ByCopies<D>),
}

/// What one pass took in nanoseconds, and what was wrong.
struct Pass {
    written_ns: f64,
    /// `None` where the host compared what had gone through all of the memory.
    checked_ns: Option<f64>,
    wrong: Option<String>,
}

/// Memory of a device in pieces, as many as were wanted or there is room for.
struct Pieces<D: Device> {
    all: Vec<D::DeviceBuffer>,
    bytes: usize,
}

impl<D: Device> Pieces<D> {
    fn allocate(device: &D, request: &LoadRequest, tell: Tell<'_>) -> device::Result<Self> {
        let wanted = match request.bytes {
            Some(bytes) => bytes,
            None => device.memory()?.0 / 2,
        };
        let bytes = request.piece_bytes.min(wanted).max(1) & !15;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let count = wanted / bytes.max(1) as u64;
        let mut all = Vec::new();
        for number in 0..count.max(1) {
            doing(tell, &format!("allocating piece {number} of {count}"));
            match device.alloc(bytes) {
                Ok(piece) => all.push(piece),
                // Somebody else took what was free; what there is is loaded.
                Err(DeviceError::OutOfMemory { .. }) if !all.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Self { all, bytes })
    }

    fn total(&self) -> u64 {
        self.all.len() as u64 * self.bytes as u64
    }
}

/// Loads the device until the time is over or the parent asks to stop.
fn load<B: Backend>(
    request: &LoadRequest,
    stop: &AtomicBool,
    tell: Tell<'_>,
) -> device::Result<Loaded> {
    doing(tell, "opening the driver");
    let backend = B::open()?;
    let device = backend.device(request.ordinal)?;
    let source = time_source(backend.time_source());
    let pieces = Pieces::allocate(&device, request, tell)?;
    let (bytes, count) = (pieces.total(), pieces.all.len());
    doing(tell, "loading kernels");
    let (mut memory, mut arithmetic, without_kernels) = match Kernels::load(&device) {
        Ok(kernels) => {
            let kernels = Rc::new(kernels);
            let arithmetic = Arithmetic::start(&device, Rc::clone(&kernels))?;
            let memory = ByKernels::new(&device, kernels, pieces, request.ordinal)?;
            (Memory::Kernels(memory), arithmetic, None)
        }
        Err(DeviceError::Unsupported { why, .. }) => {
            let memory = ByCopies::new(&device, pieces, request.ordinal)?;
            (Memory::Copies(memory), Err(why.clone()), Some(why))
        }
        Err(error) => return Err(error),
    };
    let time = Duration::from_secs_f64(request.seconds);
    let rates = || Rates::new(time / SAMPLES);
    let (mut written, mut checked, mut multiplied) = (rates(), rates(), rates());
    let (mut in_memory, mut in_sums) = (Counted::default(), Counted::default());
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
        let pass = match &mut memory {
            Memory::Kernels(memory) => memory.pass(passes)?,
            Memory::Copies(memory) => memory.pass(passes)?,
        };
        if let Ok(arithmetic) = &mut arithmetic {
            let done = arithmetic.end(pass.written_ns + pass.checked_ns.unwrap_or(0.0))?;
            if passes > 0 {
                multiplied.add(done.operations, done.ns);
            }
            in_sums.see(Load::Arithmetic, done.wrong, passes, tell);
        }
        if passes > 0 {
            written.add(bytes as f64, pass.written_ns);
            if let Some(ns) = pass.checked_ns {
                checked.add(bytes as f64, ns);
            }
        }
        in_memory.see(Load::Memory, pass.wrong, passes, tell);
        passes += 1;
    }
    let series = |name: &str, unit, rates: Rates, factor: f64| {
        let rates = rates.end().into_iter();
        let samples: Vec<f64> = rates.map(|rate| rate * factor).collect();
        let series = Series {
            name: name.to_owned(),
            unit,
            source,
            samples,
        };
        (!series.samples.is_empty()).then_some(series)
    };
    // Bytes a nanosecond are GB/s; operations a nanosecond are thousandths of a TFLOP/s.
    in_memory.series = [
        series("write", Unit::GbPerS, written, 1.0),
        series("check", Unit::GbPerS, checked, 1.0),
    ]
    .into_iter()
    .flatten()
    .collect();
    in_sums.series = series("multiply_add", Unit::TflopPerS, multiplied, 1e-3)
        .into_iter()
        .collect();
    Ok(Loaded {
        bytes,
        pieces: u32::try_from(count).unwrap_or(u32::MAX),
        passes,
        source,
        memory: in_memory,
        without_kernels,
        arithmetic: arithmetic.map(|_| in_sums),
    })
}

impl Counted {
    /// Counts what a pass had wrong, and tells the first.
    fn see(&mut self, of: Load, wrong: Option<String>, pass: u64, tell: Tell<'_>) {
        let Some(seen) = wrong else {
            return;
        };
        self.wrong_passes += 1;
        if self.wrong.is_none() {
            let seen = format!("pass {}: {seen}", pass + 1);
            tell(LoadReply::Wrong {
                of,
                seen: seen.clone(),
            });
            self.wrong = Some(seen);
        }
    }
}
