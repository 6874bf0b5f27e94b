//! [`Stream`]: where lines go, each written whole and at once, as JSON or, where a person reads along, as text; and [`Ticks`]: when
//! readings are due, a fixed rhythm from the start, of which instants that went by are left out and never made up for.

use std::io;
use std::time::{Duration, Instant, SystemTime};

use program::outputs::printed;
use record::unit::ByteCount;
use record::{MonitorHeader, MonitorLine, MonitorValues};

/// The lines of one run, and how many of which kind.
pub(super) struct Stream {
    pub(super) start: Instant,
    pub(super) header: MonitorHeader,
    is_read_along: bool,
    pub(super) samples: u64,
    pub(super) late: u64,
}

impl Stream {
    /// Starts the clock and writes the header.
    ///
    /// # Errors
    /// As of [`Stream::write`].
    pub(super) fn begin(header: MonitorHeader, is_read_along: bool) -> io::Result<Self> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let header = MonitorHeader {
            started_unix_ns: since.ok().map(ns),
            ..header
        };
        let mut stream = Self {
            start: Instant::now(),
            header: header.clone(),
            is_read_along,
            samples: 0,
            late: 0,
        };
        stream.write(MonitorLine::Header(Box::new(header)))?;
        Ok(stream)
    }

    /// Time since the start.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Writes a line; a reader gets each when it is written.
    ///
    /// # Errors
    /// The reader went away, as with `| head`, or the line cannot be written.
    pub(super) fn write(&mut self, line: MonitorLine) -> io::Result<()> {
        let text = match self.is_read_along {
            true => text(&line, &self.header),
            false => serde_json::to_string(&line)?,
        };
        printed(&(text + "\n"))?;
        match line {
            MonitorLine::Sample(_) => self.samples += 1,
            MonitorLine::Late(_) => self.late += 1,
            _ => {}
        }
        Ok(())
    }
}

/// A line as a person reads it.
fn text(line: &MonitorLine, header: &MonitorHeader) -> String {
    let label = |device: usize| {
        let device = header.devices.get(device);
        device.map_or("?", |device| device.label.as_str())
    };
    let what = match line {
        MonitorLine::Header(header) => {
            let soft = header.soft_box.iter();
            let soft =
                soft.map(|name| format!("SIMULATED machine {name}, numbers are arithmetic\n"));
            let names = header.devices.iter();
            let names = names.map(|device| format!("{}: {}\n", device.label, device.name));
            let lines: String = soft.chain(names).collect();
            return lines + "Ctrl-C ends this; --json shows every value and what is not available";
        }
        MonitorLine::Sample(sample) => format!("{} {}", label(sample.device), told(&sample.values)),
        MonitorLine::Late(late) => format!("{} {}", label(late.device), late.what),
        MonitorLine::Cpu(cpu) => {
            let nodes = cpu.by_node.iter();
            let nodes = nodes.map(|used| format!("{:.2} on node {}, ", used.cpus, used.node));
            let nodes: String = nodes.collect();
            let (pid, unplaced) = (cpu.pid, cpu.unplaced);
            format!("process {pid} used CPUs: {nodes}{unplaced:.2} elsewhere")
        }
        MonitorLine::Gone { pid, .. } => format!("process {pid} ended"),
        MonitorLine::Lost { what, .. } => what.clone(),
        MonitorLine::End(end) => format!("{} readings, end: {}", end.samples, end.reason),
    };
    format!("{:7.1} s  {what}", line.written_ns() as f64 / 1e9)
}

/// The values that are there, in short.
fn told(values: &MonitorValues) -> String {
    let link = values.slot_link.or(values.device_link);
    let bytes = values.pcie_rx_kb_per_s.zip(values.pcie_tx_kb_per_s);
    let held = values.throttle.as_ref().filter(|held| !held.is_empty());
    let gb = |kb: u32| f64::from(kb) / 1e6;
    let parts = [
        link.map(|link| link.to_string()),
        bytes.map(|(rx, tx)| format!("in {:.2} out {:.2} GB/s", gb(rx), gb(tx))),
        values
            .utilisation_percent
            .map(|busy| format!("{busy}% busy")),
        values.sm_clock_mhz.map(|clock| format!("{clock} MHz")),
        values.power_w.map(|power| format!("{power:.0} W")),
        values.temperature_c.map(|degrees| format!("{degrees} °C")),
        values
            .memory_used_bytes
            .map(|used| format!("{} used", ByteCount(used))),
        held.map(|held| format!("held by {}", held.join(", "))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "no value is available".to_owned(),
        false => parts.join(", "),
    }
}

/// Nanoseconds of a time, which fit for 584 years.
pub(super) fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The rhythm.
#[derive(Debug)]
pub(super) struct Ticks {
    period: Duration,
    /// Number of the next one.
    next: u32,
    /// How many went by without being taken.
    pub(super) skipped: u64,
}

impl Ticks {
    /// So many a second, the first one at the start.
    pub(super) fn new(hz: f64) -> Self {
        Self {
            period: Duration::from_secs_f64(1.0 / hz),
            next: 0,
            skipped: 0,
        }
    }

    /// When the next one is due, from the start.
    pub(super) fn due(&self) -> Duration {
        self.period.saturating_mul(self.next)
    }

    /// Takes the one that is due at `now`; those before it that went by are counted.
    pub(super) fn take(&mut self, now: Duration) {
        let reached = now.as_nanos() / self.period.as_nanos().max(1);
        let current = u32::try_from(reached).unwrap_or(u32::MAX).max(self.next);
        self.skipped += u64::from(current - self.next);
        self.next = current.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_gets_the_values_that_are_there() {
        let values = MonitorValues {
            slot_link: topology::PcieLink::new(4, 16).ok(),
            pcie_rx_kb_per_s: Some(1_250_000),
            pcie_tx_kb_per_s: Some(0),
            power_w: Some(251.4),
            throttle: Some(Vec::new()),
            ..MonitorValues::default()
        };
        // 1,250,000 KB/s are 1.25 GB/s.
        assert_eq!(told(&values), "Gen4 x16, in 1.25 out 0.00 GB/s, 251 W");
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn ten_a_second_are_due_every_100_ms() {
        let mut ticks = Ticks::new(10.0);
        for number in 0..5 {
            assert_eq!(ticks.due(), 100 * MS * number);
            // A little late each time, which does not add up.
            ticks.take(ticks.due() + 7 * MS);
        }
        assert_eq!(ticks.skipped, 0);
    }

    #[test]
    fn instants_that_went_by_are_left_out() {
        let mut ticks = Ticks::new(10.0);
        ticks.take(Duration::ZERO);
        // At 350 ms the ones of 100 and 200 ms went by, the one of 300 ms is taken, and 400 ms is next.
        ticks.take(350 * MS);
        assert_eq!((ticks.skipped, ticks.due()), (2, 400 * MS));
    }

    #[test]
    fn a_tick_is_never_taken_twice() {
        let mut ticks = Ticks::new(10.0);
        ticks.take(Duration::ZERO);
        ticks.take(100 * MS);
        // Taken a moment early, as by a clock that rounds.
        ticks.take(200 * MS - Duration::from_nanos(1));
        assert_eq!((ticks.skipped, ticks.due()), (0, 300 * MS));
    }
}
