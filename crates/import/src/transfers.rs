//! What tools of others print of transfers between hosts: perftest's `ib_*_bw` and `ib_*_lat`, `ucx_perftest`, and Mooncake's
//! `transfer_engine_bench`; perftest's `--out_json` and the CSV of `ucx_perftest -v`, too.
//!
//! One file may hold several runs, as of a loop over sizes. Intervals of a run under way are not read: its last line counts.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ImportError;
use super::number::counted;
use super::source::{Source, is_json};

/// Perftest and UCX say MB and mean MiB (perftest_parameters.h, libperf.c); Gb are 1e9 bits.
const MIB: f64 = 1_048_576.0;

/// Transfers that a tool timed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Transfers {
    /// The tool: `perftest`, `ucx_perftest`, `transfer_engine_bench`.
    pub tool: &'static str,
    /// What it calls the test, where it says so.
    pub test: Option<String>,
    /// The network card, where it says so.
    pub device: Option<String>,
    /// In the order of the text.
    pub rows: Vec<Timed>,
}

/// Transfers of one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Timed {
    /// Bytes of one transfer, or of one batch; worked out of time and bandwidth where the tool does not say them.
    pub bytes: f64,
    /// Seconds of one transfer.
    pub seconds: f64,
    /// Whether it was alone, one way: a latency. Else several were under way at once, and this is each one's share.
    pub is_alone: bool,
    /// How many there were.
    pub n: u64,
}

impl Timed {
    /// Its bandwidth in GB/s of 1e9 bytes.
    #[must_use]
    pub fn gb_per_s(&self) -> f64 {
        self.bytes / self.seconds * 1e-9
    }
}

/// Reads a text of one of the tools.
///
/// # Errors
/// The file cannot be read, or has no line of a result.
pub fn read(path: &Path) -> Result<Transfers, ImportError> {
    let origin = record::control::replaced(&path.display().to_string());
    let read = match Source::of(path, &origin)? {
        Source::Text(text) if is_json(&text) => of_json(&text),
        Source::Text(text) => of_text(&text),
        Source::Ours(_) => None,
    };
    let looked_for = "results of ib_write_bw and its like, ucx_perftest, transfer_engine_bench";
    read.ok_or_else(|| ImportError::unknown(&origin, looked_for))
}

fn of_text(text: &str) -> Option<Transfers> {
    let mut read = Transfers::default();
    let mut columns: Vec<&str> = Vec::new();
    let (mut is_alone, mut is_final) = (false, false);
    for line in text.lines().map(str::trim) {
        let numbers = line.split_whitespace().map(|word| word.parse::<f64>().ok());
        let numbers: Option<Vec<f64>> = numbers.collect();
        let row = if let Some((_, device)) = line.split_once("Device         : ") {
            read.device = Some(device.to_owned());
            None
        } else if let Some(test) = line.strip_suffix(" Test").or(line.strip_prefix("| Test:")) {
            read.test = Some(test.trim_matches([' ', '|']).to_owned());
            None
        } else if line.starts_with("#bytes") {
            read.tool = "perftest";
            is_final = false;
            // `BW average[MB/sec]` is one column, as `t_typical[usec]` is.
            columns = line
                .split_whitespace()
                .filter(|word| *word != "BW")
                .collect();
            is_alone = line.contains("t_typical");
            None
        } else if line.contains("(usec)") {
            is_alone = line.contains("latency (usec)");
            None
        } else if line.contains("iterations,") && line.contains("_lat,") {
            // CSV does not say it; the end that listens prints what the test is.
            let test = read.test.as_deref().unwrap_or_default();
            is_alone = test.contains("latency") && !test.contains("bandwidth");
            is_final = true;
            None
        } else if line.starts_with('|') {
            is_final = line.contains(" Test ") && line.contains("# iterations");
            None
        } else if line.starts_with("Final:") || is_final && !line.starts_with(['[', '+']) {
            of_ucx(line).inspect(|_| read.tool = "ucx_perftest")
        } else if let Some((_, rest)) = line.split_once("Test completed: duration ") {
            read.tool = "transfer_engine_bench";
            of_mooncake(rest)
        } else {
            numbers.and_then(|numbers| of_perftest(&columns, &numbers))
        };
        read.rows.extend(row.map(|row| Timed { is_alone, ..row }));
    }
    (!read.rows.is_empty()).then_some(read)
}

/// `65536  5000  0.00  92.57  0.176557` under the names of the columns.
fn of_perftest(columns: &[&str], numbers: &[f64]) -> Option<Timed> {
    let value = |name: &str| {
        let place = columns.iter().position(|column| column.starts_with(name))?;
        Some((*numbers.get(place)?, columns[place]))
    };
    let (bytes, _) = value("#bytes")?;
    let (n, _) = value("#iterations")?;
    let seconds = match (value("average["), value("t_typical[")) {
        (Some((rate, unit)), _) if unit.contains("Gb") => bytes * 8.0 / (rate * 1e9),
        (Some((rate, _)), _) => bytes / (rate * MIB),
        (None, typical) => typical?.0 * 1e-6,
    };
    timed(bytes, seconds, n)
}

/// Iterations; a percentile, the last interval's average and the whole run's of the time; average and overall of MB/s and of messages.
/// Averages are of the last interval, which may be empty. Of several threads there are only those of the whole run.
fn of_ucx(line: &str) -> Option<Timed> {
    let words = line.rsplit([',', ' ']).filter(|word| !word.is_empty());
    let mut numbers: Vec<f64> = words.map_while(|word| word.parse().ok()).collect();
    numbers.reverse();
    let ([n, _, _, us, _, rate, _, _] | [n, us, rate, _]) = numbers[..] else {
        return None;
    };
    timed((rate * MIB * us * 1e-6).round(), us * 1e-6, n)
}

/// What perftest writes with `--out_json` of one size.
#[derive(Deserialize)]
struct Written {
    test_info: TestInfo,
    results: Results,
}

#[derive(Deserialize)]
struct TestInfo {
    test: String,
    #[serde(rename = "Device")]
    device: String,
}

#[derive(Deserialize)]
struct Results {
    #[serde(rename = "MsgSize")]
    bytes: f64,
    n_iterations: f64,
    /// MiB/s, or Gbit/s with `--report_gbits`, which is not written.
    #[serde(rename = "BW_average")]
    rate: Option<f64>,
    /// Millions a second.
    #[serde(rename = "MsgRate")]
    messages: Option<f64>,
    /// Microseconds.
    t_typical: Option<f64>,
}

/// Perftest's own file, or several behind each other.
fn of_json(text: &str) -> Option<Transfers> {
    let mut read = Transfers {
        tool: "perftest",
        ..Transfers::default()
    };
    for written in serde_json::Deserializer::from_str(text).into_iter::<Written>() {
        let Written { test_info, results } = written.ok()?;
        let seconds = match (results.rate, results.t_typical) {
            (Some(rate), _) => {
                // The unit is the one with which the rate of messages agrees.
                let about = results.messages? * 1e6 * results.bytes;
                let rates = [rate * MIB, rate * 1e9 / 8.0];
                let off = |rate: &f64| (rate / about).ln().abs();
                results.bytes / rates.into_iter().min_by(|a, b| off(a).total_cmp(&off(b)))?
            }
            (None, typical) => typical? * 1e-6,
        };
        let row = timed(results.bytes, seconds, results.n_iterations);
        let is_alone = results.rate.is_none();
        read.rows.extend(row.map(|row| Timed { is_alone, ..row }));
        read.device = Some(test_info.device);
        let test = test_info.test.replace('_', " ");
        read.test = Some(test.trim_end_matches(" Test").to_owned());
    }
    (!read.rows.is_empty()).then_some(read)
}

/// `4.00, batch count 1693, throughput 0.11 GB/s` (transfer_engine_bench.cpp, `--report_unit`).
fn of_mooncake(rest: &str) -> Option<Timed> {
    let (duration, rest) = rest.split_once(", batch count ")?;
    let (batches, rate) = rest.split_once(", throughput ")?;
    let (rate, unit) = rate.split_once(' ')?;
    let scale = match unit.trim() {
        "GB/s" => 1e9,
        "GiB/s" => 1024.0 * MIB,
        "Gb/s" => 1e9 / 8.0,
        "MB/s" => 1e6,
        "MiB/s" => MIB,
        "Mb/s" => 1e6 / 8.0,
        _ => return None,
    };
    let (duration, batches): (f64, f64) = (duration.parse().ok()?, batches.parse().ok()?);
    let rate: f64 = rate.parse().ok()?;
    let seconds = duration / batches;
    timed((rate * scale * seconds).round(), seconds, batches)
}

/// Transfers that were several at once; `None` where bytes or seconds are none.
fn timed(bytes: f64, seconds: f64, n: f64) -> Option<Timed> {
    (bytes > 0.0 && seconds.is_normal()).then_some(Timed {
        bytes,
        seconds,
        is_alone: false,
        n: counted(n)?,
    })
}
