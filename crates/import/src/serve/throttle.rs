//! What held the GPUs' clocks down during a run, as the monitor beside it read it.

use record::control;
use record::{MonitorLine, Payload, Record};

/// The reason of a GPU with nothing to do, which says nothing of a loaded one.
const IDLE: &str = "idle";

/// What held clocks down during a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Throttle {
    /// The file, as the run names it.
    pub origin: String,
    /// Readings during the load that say what holds the clocks down, or that nothing does.
    pub readings: u64,
    /// Those of them in which something did.
    pub slowed: u64,
    /// What it was, each once.
    pub reasons: Vec<String>,
    /// Mean clock of the multiprocessors of devices that were not idle, MHz; `None` where none was read.
    pub clock_mhz: Option<f64>,
}

/// What held clocks down during the run of this record, which is named `origin`; `None` where no monitor ran beside it.
#[must_use]
pub fn throttle(record: &Record, origin: &str) -> Option<Throttle> {
    let Payload::Serve(serve) = &record.payload else {
        return None;
    };
    let machine = serve.server.as_ref()?.machine.as_ref()?;
    let ends = serve.requests.iter().map(|one| one.ended_ms);
    let end_ms = ends.fold(0.0, f64::max);
    let readings = machine.lines.iter().filter_map(|line| match line {
        MonitorLine::Sample(sample) => {
            let told = sample.values.throttle.as_deref()?;
            let at_ms = machine.at_ms(sample.answered_ns);
            Some((at_ms, (told, sample.values.sm_clock_mhz)))
        }
        _ => None,
    });
    let loaded = readings.filter(|(at_ms, _)| (0.0..=end_ms).contains(at_ms));
    counted(loaded.map(|(_, reading)| reading), origin.to_owned())
}

/// What held a device down at a reading, and its clock, MHz.
type Reading<'a> = (&'a [String], Option<u32>);

fn counted<'a>(readings: impl Iterator<Item = Reading<'a>>, origin: String) -> Option<Throttle> {
    let mut found = Throttle {
        origin,
        readings: 0,
        slowed: 0,
        reasons: Vec::new(),
        clock_mhz: None,
    };
    let (mut sum_mhz, mut clocks) = (0.0, 0.0);
    for (told, clock_mhz) in readings {
        found.readings += 1;
        let is_idle = !told.is_empty() && told.iter().all(|reason| reason == IDLE);
        if let Some(clock) = clock_mhz.filter(|_| !is_idle) {
            sum_mhz += f64::from(clock);
            clocks += 1.0;
        }
        let slowing = told.iter().map(|reason| control::replaced(reason));
        let slowing: Vec<String> = slowing.filter(|reason| reason != IDLE).collect();
        found.slowed += u64::from(!slowing.is_empty());
        for reason in slowing {
            if !found.reasons.contains(&reason) {
                found.reasons.push(reason);
            }
        }
    }
    found.clock_mhz = (clocks > 0.0).then(|| sum_mhz / clocks);
    (found.readings > 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_gpu_is_not_held_down_and_no_reading_is_no_answer() {
        let idle = ["idle".to_owned()];
        let hot = ["idle".to_owned(), "hardware thermal slowdown".to_owned()];
        let readings: [(&[String], u32); 4] =
            [(&[], 1900), (&idle, 210), (&hot, 1500), (&hot, 1500)];
        let readings = readings.map(|(told, clock)| (told, Some(clock)));
        let found = counted(readings.into_iter(), "run".to_owned()).unwrap();
        assert_eq!((found.readings, found.slowed), (4, 2));
        // Without the one in which it had nothing to do: (1900 + 2 * 1500) / 3 = 1633.3.
        assert_eq!(found.clock_mhz.map(f64::round), Some(1633.0));
        assert_eq!(found.reasons, ["hardware thermal slowdown"]);
        assert_eq!(counted(std::iter::empty(), "run".to_owned()), None);
    }
}
