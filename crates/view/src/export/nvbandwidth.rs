//! Links in the JSON of nvbandwidth v0.8 (`-j`), for tools that read that.
//!
//! One entry for each matrix, so that every matrix has N rows or one; nvbandwidth itself stacks three of a test of both ways
//! into one. Cells are texts of six digits, as a C++ stream prints them. Devices are numbered by their place in the record. A
//! soft run carries a warning, the box in its version, and a further key `simulated`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use thiserror::Error;

use import::links::{TESTS, Test};
use record::control::replaced;
use record::{Endpoint, LinkDevice, Links, Outcome, Payload, Point, Record, Unmeasured};

use crate::cell::{because, number};

use super::styled::styled;

/// Why a record has no such form.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LinksExportError {
    /// The record holds something else.
    #[error("the record holds {0}; only links of tplens p2p have nvbandwidth's form")]
    NotLinks(&'static str),
}

/// A record in nvbandwidth's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvbandwidthJson {
    /// The JSON.
    pub text: String,
    /// What of the record is not in it and why, a line each.
    pub left_out: Vec<String>,
}

/// The record in nvbandwidth's JSON: of each case the largest size that was measured.
///
/// # Errors
/// The record is none of links.
pub fn nvbandwidth_json(record: &Record) -> Result<NvbandwidthJson, LinksExportError> {
    let Payload::Links(links) = &record.payload else {
        return Err(LinksExportError::NotLinks(record.payload.kind()));
    };
    let mut left_out = unknown_cases(links);
    left_out.extend(smaller_sizes(links));
    let mut entries = Vec::new();
    for test in TESTS.iter() {
        let points: Vec<&Point> = links
            .points
            .iter()
            .filter(|point| point.case == test.case)
            .collect();
        if !points.is_empty() {
            entries.push(entry(test, &points, links.devices.len(), &mut left_out));
        }
    }
    let mut seen = BTreeSet::new();
    left_out.retain(|line| seen.insert(line.clone()));
    let mut root = head(record, links);
    root.insert("testcases".to_owned(), Value::from(entries));
    Ok(NvbandwidthJson {
        text: styled(&json!({ "nvbandwidth": root })),
        left_out,
    })
}

/// A line for the cases that nvbandwidth does not have.
fn unknown_cases(links: &Links) -> Vec<String> {
    let known = |point: &&Point| TESTS.iter().any(|test| test.case == point.case);
    let unknown: BTreeSet<String> = links
        .points
        .iter()
        .filter(|point| !known(point))
        .map(|point| replaced(&point.case))
        .collect();
    let names: Vec<String> = unknown.into_iter().collect();
    if names.is_empty() {
        return Vec::new();
    }
    vec![format!("nvbandwidth has no test of {}", names.join(", "))]
}

/// A line for the cases of which several sizes were measured.
fn smaller_sizes(links: &Links) -> Option<String> {
    let several: BTreeSet<&str> = TESTS
        .iter()
        .map(|test| test.case.as_str())
        .filter(|case| measured_sizes(links.points.iter().filter(|p| p.case == *case)).len() > 1)
        .collect();
    (!several.is_empty()).then(|| {
        format!(
            "nvbandwidth has one size: of {} cases only the largest that was measured is written",
            several.len()
        )
    })
}

/// The sizes of points that were measured.
fn measured_sizes<'a>(points: impl Iterator<Item = &'a Point>) -> BTreeSet<u64> {
    points
        .filter(|point| matches!(point.outcome, Outcome::Measured { .. }))
        .map(|point| point.bytes)
        .collect()
}

fn head(record: &Record, links: &Links) -> Map<String, Value> {
    let program = format!("{} {}", record.header.program, record.header.version);
    let soft = record.soft_box();
    let version = match &soft {
        Some(soft) => format!("{program}, SIMULATED on {soft}"),
        None => program.clone(),
    };
    let host = record.header.provenance.host.as_deref();
    let backend = links.backend.as_ref();
    let interface = backend.and_then(|backend| cuda_version(backend.interface.as_deref()?));
    let driver = backend.and_then(|backend| backend.driver.clone());
    let devices = links.devices.iter().enumerate();
    let mut root = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            root.insert(key.to_owned(), value);
        }
    };
    put("version", Some(replaced(&version).into()));
    put("git_version", Some(replaced(&program).into()));
    put("CUDA Runtime Version", interface.map(Value::from));
    put("Driver Version", driver.map(|text| replaced(&text).into()));
    put(
        "GPU Device list",
        Some(devices.map(|(at, device)| line(at, device, host)).collect()),
    );
    put(
        "warning",
        soft.as_ref().map(|soft| {
            Value::from(replaced(&format!(
                "SIMULATED on {soft}: arithmetic of a box file, not a measurement"
            )))
        }),
    );
    put("simulated", soft.map(|soft| replaced(&soft).into()));
    root
}

/// 12080 of `CUDA 12.8`, as CUDA_VERSION in cuda.h counts.
fn cuda_version(interface: &str) -> Option<u64> {
    let (major, minor) = interface.strip_prefix("CUDA ")?.split_once('.')?;
    let (major, minor): (u64, u64) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1000 && minor < 100).then_some(1000 * major + 10 * minor)
}

/// `0: NVIDIA L40 (00000000:21:00): (host)`.
fn line(position: usize, device: &LinkDevice, host: Option<&str>) -> Value {
    let address = device.address.map_or_else(String::new, |address| {
        format!(
            " ({:08x}:{:02x}:{:02x})",
            address.domain, address.bus, address.device
        )
    });
    let (name, host) = (&device.name, host.unwrap_or("unknown"));
    Value::from(replaced(&format!("{position}: {name}{address}: ({host})")))
}

fn entry(test: &Test, points: &[&Point], devices: usize, left_out: &mut Vec<String>) -> Value {
    let name = format!("{}{}", test.name, test.suffix);
    let sizes = measured_sizes(points.iter().copied());
    let largest = sizes.last().copied();
    let of_size = |point: &&&Point| largest.is_none_or(|bytes| point.bytes == bytes);
    let points: Vec<&Point> = points.iter().filter(of_size).copied().collect();
    let rows = if test.cell.is_row() { 1 } else { devices };
    let mut sum = 0.0;
    let mut count = 0;
    let matrix: Vec<Vec<String>> = (0..rows)
        .map(|row| {
            (0..devices)
                .map(|column| match value(test, &points, row, column) {
                    Some(value) => {
                        sum += value;
                        count += 1;
                        six_digits(value)
                    }
                    None => "N/A".to_owned(),
                })
                .collect()
        })
        .collect();
    let failures: Vec<String> = points.iter().filter_map(|point| failure(point)).collect();
    left_out.extend(
        failures
            .iter()
            .map(|words| format!("{}: {words}", test.case)),
    );
    if count > 0 {
        return json!({
            "name": name,
            "status": "Passed",
            "bandwidth_description": test.description,
            "bandwidth_matrix": matrix,
            "sum": sum,
        });
    }
    let status = if failures.is_empty() {
        "Waived"
    } else {
        "Error"
    };
    json!({ "name": name, "status": status })
}

/// The number of a cell.
fn value(test: &Test, points: &[&Point], row: usize, column: usize) -> Option<f64> {
    if !test.cell.is_row() && row == column {
        return None;
    }
    let (from, to, name) = test.cell.ends(row, column);
    let at = |from: Endpoint, to: Endpoint, name: &str| {
        let point = points
            .iter()
            .find(|point| (point.from, point.to) == (from, to))?;
        measured(point, name)
    };
    // Both ways are measured once for a pair, whichever device is named first.
    let forward = || at(from, to, "forward").or_else(|| at(to, from, "back"));
    let back = || at(from, to, "back").or_else(|| at(to, from, "forward"));
    match name.as_str() {
        "forward" => forward(),
        "back" => back(),
        "sum" => Some(forward()? + back()?),
        name => at(from, to, name),
    }
}

/// A number of a point that stands for something.
fn measured(point: &Point, name: &str) -> Option<f64> {
    number(point, name).map(|quantity| quantity.value)
}

/// Why a point that was tried has no number.
fn failure(point: &Point) -> Option<String> {
    let tried = point.outcome.unmeasured()?;
    let is_untried = matches!(tried.0, Unmeasured::NotApplicable | Unmeasured::Skipped);
    (!is_untried).then(|| replaced(&because(tried)))
}

/// A number as a C++ stream prints it by default: six significant digits, no zeros at the end, an exponent below 1e-4 and from
/// 1e6 on.
pub(super) fn six_digits(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let trimmed = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or_default();
        return trimmed(&format!("{value:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_a_stream() {
        // As `std::cout << value` prints with its precision of 6.
        for (value, text) in [
            (26.345_678, "26.3457"),
            (26.3, "26.3"),
            (20.0, "20"),
            (999_999.6, "1e+06"),
            (1_234_567.0, "1.23457e+06"),
            (0.000_123_456_7, "0.000123457"),
            (0.000_012, "1.2e-05"),
            (123_456.0, "123456"),
        ] {
            assert_eq!(six_digits(value), text);
        }
    }

    #[test]
    fn a_version_of_cuda_is_its_number() {
        assert_eq!(cuda_version("CUDA 12.8"), Some(12_080));
        assert_eq!(cuda_version("HIP 6.4"), None);
    }
}
