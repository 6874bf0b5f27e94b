//! What held the GPUs' clocks down during a run, as the monitor beside it read it.

use std::path::Path;

use super::read::record_of;
use crate::control;
use crate::import::error::ImportError;
use crate::record::{MonitorLine, Payload, Record};

/// Reasons that say nothing of a loaded GPU being slowed down.
const HARMLESS: [&str; 1] = ["idle"];

/// What held clocks down during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttle {
    /// The file, as the run names it.
    pub origin: String,
    /// Readings during the load that say what holds the clocks down, or that nothing does.
    pub readings: u64,
    /// Those of them in which something did.
    pub slowed: u64,
    /// What it was, each once.
    pub reasons: Vec<String>,
}

/// What held clocks down during a run; `None` where the file is not ours or no monitor ran beside it.
///
/// # Errors
/// The file cannot be read.
pub fn throttle(path: &Path) -> Result<Option<Throttle>, ImportError> {
    let origin = control::replaced(&path.display().to_string());
    Ok(record_of(path)?.and_then(|record| of(&record, origin)))
}

fn of(record: &Record, origin: String) -> Option<Throttle> {
    let Payload::Serve(serve) = &record.payload else {
        return None;
    };
    let machine = serve.server.as_ref()?.machine.as_ref()?;
    let ends = serve.requests.iter().map(|one| one.ended_ms);
    let end_ms = ends.fold(0.0, f64::max);
    let readings = machine.lines.iter().filter_map(|line| match line {
        MonitorLine::Sample(sample) => {
            let told = sample.values.throttle.as_deref()?;
            Some((machine.at_ms(sample.answered_ns), told))
        }
        _ => None,
    });
    counted(
        readings.filter(|(at_ms, _)| (0.0..=end_ms).contains(at_ms)),
        origin,
    )
}

fn counted<'a>(
    readings: impl Iterator<Item = (f64, &'a [String])>,
    origin: String,
) -> Option<Throttle> {
    let mut found = Throttle {
        origin,
        readings: 0,
        slowed: 0,
        reasons: Vec::new(),
    };
    for (_, told) in readings {
        found.readings += 1;
        let slowing = told.iter().map(|reason| control::replaced(reason));
        let slowing: Vec<String> = slowing
            .filter(|reason| !HARMLESS.contains(&reason.as_str()))
            .collect();
        found.slowed += u64::from(!slowing.is_empty());
        for reason in slowing {
            if !found.reasons.contains(&reason) {
                found.reasons.push(reason);
            }
        }
    }
    (found.readings > 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_gpu_is_not_held_down_and_no_reading_is_no_answer() {
        let idle = ["idle".to_owned()];
        let hot = ["idle".to_owned(), "hardware thermal slowdown".to_owned()];
        let readings: [(f64, &[String]); 4] = [(1.0, &[]), (2.0, &idle), (3.0, &hot), (4.0, &hot)];
        let found = counted(readings.into_iter(), "run".to_owned()).unwrap();
        assert_eq!((found.readings, found.slowed), (4, 2));
        assert_eq!(found.reasons, ["hardware thermal slowdown"]);
        assert_eq!(counted(std::iter::empty(), "run".to_owned()), None);
    }
}
