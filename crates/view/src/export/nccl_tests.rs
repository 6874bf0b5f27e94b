//! Collectives in the text of nccl-tests 2.19.6, column for column, for tools that read that.
//!
//! A block for each operation, type, mode, cache, engine and arm; what nccl-tests has no word for stands in comment lines that
//! begin with `# tplens`. Readers were seen to look for the first lines that hold the word of the column `time` and to count on
//! from there, so no line of ours above the columns holds it. The environment is never written.

use std::fmt::Write as _;

use ::record::calls::{Row, Series, rows};
use ::record::control::replaced;
use ::record::unit::ByteCount;
use ::record::{
    BufferCache, BufferPlacement, CallMode, CollectiveKind, CollectiveOutcome, CollectivePoint,
    Collectives, Payload, Record, Verification,
};
use import::collectives::type_name;
use import::collectives::{ABSENT, OURS};

use crate::cell::because;

use super::error::OtherPayload;
use super::nvbandwidth::six_digits;

/// A record in nccl-tests' form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NcclTestsText {
    /// The text.
    pub text: String,
    /// What of the record is not in it and why, a line each.
    pub left_out: Vec<String>,
}

/// The three lines above the numbers.
const HEADS: &str = "\
#                                                              out-of-place                       in-place         \x20
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\x20
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)        \x20
";

/// The word that no line above the columns may hold, and what stands for it there.
const COLUMN: (&str, &str) = ("time", "t-ime");

/// The record in nccl-tests' text; over launches the median of their medians.
///
/// # Errors
/// The record is none of collectives.
pub fn nccl_tests(record: &Record) -> Result<NcclTestsText, OtherPayload> {
    let Payload::Collectives(collectives) = &record.payload else {
        return Err(OtherPayload {
            form: "nccl-tests",
            wanted: "collectives of tplens allreduce",
            holds: record.payload.kind(),
        });
    };
    let rows = rows(collectives);
    let mut blocks: Vec<(Series, Vec<&Row<'_>>)> = Vec::new();
    for row in &rows {
        let series = Series {
            placement: BufferPlacement::OutOfPlace,
            ..row.series.clone()
        };
        match blocks.iter_mut().find(|(known, _)| *known == series) {
            Some((_, rows)) => rows.push(row),
            None => blocks.push((series, vec![row])),
        }
    }
    let mut left_out = Vec::new();
    let text = blocks
        .iter()
        .map(|(series, rows)| block(record, collectives, series, rows, &mut left_out))
        .collect();
    Ok(NcclTestsText { text, left_out })
}

/// One test.
fn block(
    record: &Record,
    collectives: &Collectives,
    series: &Series,
    rows: &[&Row<'_>],
    left_out: &mut Vec<String>,
) -> String {
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.bytes_per_rank).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let name = format!("{}_perf", series.kind);
    let mut text = head(record, collectives, series, rows, &name);
    let mut buses = Vec::new();
    let mut wrong = 0;
    for bytes in sizes {
        let place = |placement| {
            let of =
                |row: &&&Row<'_>| row.bytes_per_rank == bytes && row.series.placement == placement;
            rows.iter().find(of).copied()
        };
        let placed = [BufferPlacement::OutOfPlace, BufferPlacement::InPlace].map(place);
        let words = format!("{series}, {}", ByteCount(bytes));
        left_out.extend(
            placed
                .iter()
                .flatten()
                .filter_map(|row| Some(format!("{words}: {}", no_time(row)?))),
        );
        let all = placed.iter().flatten();
        wrong += all
            .filter(|row| row.points.iter().any(|p| is_wrong(p)))
            .count();
        let times = placed.map(|row| row.and_then(|row| Some((row, row.time()?.value))));
        let Some((first, _)) = times.iter().flatten().next() else {
            continue;
        };
        let point = first.first();
        // Writing to a String cannot fail, here and below.
        let _ = write!(
            text,
            "{:>12}  {:>12}  {:>8}  {:>6}  {:>6}",
            point.algorithm_bytes(),
            bytes / point.element.bytes(),
            type_name(point.element),
            reduction(series.kind),
            root(series.kind)
        );
        for measured in times {
            let _ = write!(text, "{}", body(measured, &mut buses));
        }
        text.push('\n');
    }
    let verdict = if wrong == 0 { "OK" } else { "FAILED" };
    let _ = writeln!(text, "# Out of bounds values : {wrong} {verdict}");
    let _ = writeln!(text, "# Avg bus bandwidth    : {} ", mean(&buses));
    let _ = writeln!(text, "#\n# Collective test concluded: {name}\n#\n");
    text
}

/// What stands above the numbers.
fn head(
    record: &Record,
    collectives: &Collectives,
    series: &Series,
    rows: &[&Row<'_>],
    name: &str,
) -> String {
    let mut text = format!("# Collective test starting: {name}\n{}", plan(series, rows));
    let library = collectives.library.as_ref().map(|library| {
        let version = library.version.iter();
        version.fold(library.name.clone(), |name, version| {
            format!("{name} {version}")
        })
    });
    let soft = record.soft_box();
    let made_by = format!(
        "{} {}, in the form of nccl-tests 2.19.6",
        record.header.program, record.header.version
    );
    let said = [
        ("made by", Some(made_by)),
        ("simulated", soft.clone()),
        ("library", library),
        ("mode", series.mode.map(|mode| mode.to_string())),
        (
            "cache",
            (series.cache == BufferCache::Rotate).then(|| "rotate".to_owned()),
        ),
        ("engine", series.engine.clone()),
        ("arm", series.arm.clone()),
    ];
    for (key, value) in said {
        if let Some(value) = value {
            let _ = writeln!(text, "{OURS}{key}: {}", plain(&value));
        }
    }
    if let Some(soft) = soft {
        let soft = plain(&soft);
        let _ = writeln!(
            text,
            "# SIMULATED on {soft}: arithmetic of a box file, not a measurement"
        );
    }
    if series.mode != Some(CallMode::BackToBack) {
        text.push_str("# not the mean of calls queued one after another, which nccl-tests gives: see the mode above\n");
    }
    text.push_str("#\n# Using devices\n");
    let host = record.header.provenance.host.as_deref();
    let hosts = collectives
        .launcher
        .as_ref()
        .map(|launcher| &launcher.hosts);
    for (rank, device) in collectives.devices.iter().enumerate() {
        let own = hosts.and_then(|hosts| hosts.get(rank)).map(String::as_str);
        let address = device.address.map(|address| address.to_string());
        // The record keeps no process numbers.
        let _ = writeln!(
            text,
            "#  Rank {rank:>2} Group {:>2} Pid {:>6} on {:>10} device {:>2} [{}] {}",
            0,
            0,
            plain(own.or(host).unwrap_or("unknown")),
            device.ordinal,
            address.as_deref().unwrap_or("0000:00:00"),
            plain(&device.name)
        );
    }
    text + "#\n" + HEADS
}

/// The line of numbers of calls: one process a rank, and sizes that need not be steps.
fn plan(series: &Series, rows: &[&Row<'_>]) -> String {
    let bytes = || rows.iter().map(|row| row.first().algorithm_bytes());
    let timing = rows
        .iter()
        .find_map(|row| row.times().first().map(|(_, time)| time.timing));
    let calls = timing.map_or(0, |timing| timing.copies_per_sample);
    let is_checked = rows.iter().any(|row| wrong_column(row) == "0");
    let is_graph = series.mode == Some(CallMode::Graph);
    format!(
        "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: 0(list) warmup iters: {} iters: {calls} agg iters: 1 validation: {} graph: {} unalign: 0\n",
        bytes().min().unwrap_or(0),
        bytes().max().unwrap_or(0),
        timing.map_or(0, |timing| timing.warmup_copies),
        u8::from(is_checked),
        u8::from(is_graph)
    )
}

/// One placement's columns: time, bandwidths and whether results were wrong.
fn body(measured: Option<(&Row<'_>, f64)>, buses: &mut Vec<f64>) -> String {
    // A time that the work around it hides is none, and gives no bandwidth to average.
    let told = |(row, us): &(&Row<'_>, f64)| {
        row.time().is_some_and(|time| time.is_above_zero())
            && row.first().bus_gb_per_s(*us).is_finite()
    };
    let Some((row, us)) = measured.filter(told) else {
        return format!("  {ABSENT:>7}  {ABSENT:>6}  {ABSENT:>6}  {ABSENT:>6}");
    };
    let point = row.first();
    let bus = point.bus_gb_per_s(us);
    buses.push(bus);
    format!(
        "  {}  {}  {}  {:>6}",
        fixed(us, 7),
        fixed(point.algorithm_gb_per_s(us), 6),
        fixed(bus, 6),
        wrong_column(row)
    )
}

/// A number in as many characters, decimals giving way: two, one or none, then with an exponent.
fn fixed(value: f64, width: usize) -> String {
    // Nothing stands before the decimal point of what is below one.
    let digits = if value < 1.0 {
        0
    } else {
        format!("{:.0}", value.trunc()).len()
    };
    match digits {
        n if n + 2 < width => format!("{value:>width$.2}"),
        n if n + 1 < width => format!("{value:>width$.1}"),
        n if n < width + 1 => format!("{value:>width$.0}"),
        _ => {
            let text = format!("{value:.1e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{mantissa}e+{exponent:0>2}")
        }
    }
}

/// Number of wrong results: none, or not known where they were not compared in a launch.
fn wrong_column(row: &Row<'_>) -> &'static str {
    let is_unchecked = |point: &&CollectivePoint| {
        matches!(
            &point.outcome,
            CollectiveOutcome::Measured {
                verification: Verification::NotAsked,
                ..
            }
        )
    };
    if row.points.iter().any(is_unchecked) {
        ABSENT
    } else {
        "0"
    }
}

fn is_wrong(point: &CollectivePoint) -> bool {
    matches!(
        &point.outcome,
        CollectiveOutcome::Measured {
            verification: Verification::WrongData { .. },
            ..
        }
    )
}

/// Why a row has no time; `None` where it has one.
fn no_time(row: &Row<'_>) -> Option<String> {
    if row.time().is_some() {
        return None;
    }
    let wrong = row.points.iter().find(|point| is_wrong(point));
    let point = wrong.copied().unwrap_or(row.first());
    point.outcome.unmeasured().map(because)
}

/// A text of others in a comment line.
fn plain(text: &str) -> String {
    replaced(text).replace(COLUMN.0, COLUMN.1)
}

fn reduction(kind: CollectiveKind) -> &'static str {
    match kind {
        CollectiveKind::AllReduce | CollectiveKind::ReduceScatter => "sum",
        CollectiveKind::AllGather | CollectiveKind::Broadcast | CollectiveKind::SendRecv => "none",
    }
}

fn root(kind: CollectiveKind) -> &'static str {
    if kind == CollectiveKind::Broadcast {
        "0"
    } else {
        "-1"
    }
}

/// The mean as C's `%g` prints it.
fn mean(values: &[f64]) -> String {
    // The sum that the library makes of nothing is a negative zero.
    #[expect(clippy::cast_precision_loss, reason = "a number of rows")]
    let count = values.len().max(1) as f64;
    six_digits(values.iter().fold(0.0, |sum, value| sum + value) / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_give_way_to_digits() {
        for (value, width, expected) in [
            (10.34, 7, "  10.34"),
            (9999.994, 7, "9999.99"),
            (12_345.67, 7, "12345.7"),
            (1_234_567.0, 7, "1234567"),
            (12_345_678.0, 7, "1.2e+07"),
            (0.0, 6, "  0.00"),
            (1234.5, 6, "1234.5"),
            // What a time of 1e-320 us makes of a bandwidth.
            (f64::INFINITY, 6, "   inf"),
            (1e-320, 7, "   0.00"),
        ] {
            assert_eq!(fixed(value, width), expected);
        }
    }

    #[test]
    fn a_mean_has_six_digits() {
        // (5 + 9.96404) / 2 = 7.48202.
        assert_eq!(mean(&[5.0, 9.964_04]), "7.48202");
        assert_eq!(mean(&[250.0]), "250");
        assert_eq!(mean(&[]), "0");
    }
}
