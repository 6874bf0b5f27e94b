//! The JSON of nvbandwidth (`-j`).
//!
//! Its defects, v0.8: an error adds a second entry of the test's name and leaves the first one `Running`; the three matrices
//! of a test of both ways stand below each other in one; the minimum counts absent cells as zero. Minimum, maximum, average
//! and sum are not read.

use std::collections::BTreeSet;

use serde_json::Value;

use super::matrix::{Matrix, trouble};
use crate::error::ImportError;
use crate::links::value::{LinkFacts, LinkFile, TroubleKind};
use crate::source::unused;
use record::control::replaced;

/// The key that holds everything.
const TITLE: &str = "nvbandwidth";

/// Keys of it that are read.
#[rustfmt::skip]
const READ: [&str; 6] = [
    "CUDA Runtime Version", "Driver Version", "GPU Device list", "error", "testcases", "version",
];

/// Whether a text is nvbandwidth's JSON, whole or cut off; lines of text may stand before it.
pub(in crate::links) fn is_one(text: &str) -> bool {
    from_brace(text).is_some_and(|json| {
        json.trim_start_matches(|c: char| c == '{' || c.is_whitespace())
            .starts_with("\"nvbandwidth\"")
    })
}

/// The text from its first line that begins with a brace.
fn from_brace(text: &str) -> Option<&str> {
    if text.starts_with('{') {
        return Some(text);
    }
    text.find("\n{").map(|at| &text[at + 1..])
}

/// Reads a file.
pub(in crate::links) fn file(text: &str, origin: &str) -> Result<LinkFile, ImportError> {
    let json = from_brace(text).unwrap_or(text);
    let value = serde_json::Deserializer::from_str(json)
        .into_iter::<Value>()
        .next()
        .and_then(Result::ok)
        .unwrap_or_default();
    let root = &value[TITLE];
    if !root.is_object() {
        let lines = json.lines().count();
        let why = format!(
            "begins as nvbandwidth's JSON and is cut off or broken, {lines} lines in; give its whole output"
        );
        return Err(ImportError::unusable(origin, why));
    }
    let mut file = head(root, origin);
    let tests = || root["testcases"].as_array().into_iter().flatten();
    let of_error = tests().filter(|test| test["status"] == "Error");
    let failed: BTreeSet<String> = of_error.filter_map(|test| text_of(test, "name")).collect();
    for test in tests() {
        add_test(&mut file, test, &failed);
    }
    if let Some(error) = text_of(root, "error") {
        let words = format!("nvbandwidth stopped: {error}");
        trouble(&mut file, TroubleKind::Failed, None, &words);
    }
    if file.values.is_empty() && file.troubles.is_empty() {
        let why = "holds no test; run nvbandwidth again, or give its whole output";
        return Err(ImportError::unusable(origin, why));
    }
    Ok(file)
}

fn head(root: &Value, origin: &str) -> LinkFile {
    let list = || root["GPU Device list"].as_array().into_iter().flatten();
    let lines = || list().filter_map(Value::as_str);
    let cuda = root["CUDA Runtime Version"].as_u64();
    LinkFile {
        origin: origin.to_owned(),
        made_by: made_by(text_of(root, "version").as_deref()),
        host: lines().find_map(host).map(replaced),
        backend: Some("cuda".to_owned()),
        driver: text_of(root, "Driver Version"),
        interface: cuda.map(interface),
        devices: lines().filter_map(facts).collect(),
        unused: unused(root, &READ),
        ..LinkFile::default()
    }
}

/// Who wrote it: a version that begins with our program's name is ours, up to the mark of a simulated machine.
pub(super) fn made_by(version: Option<&str>) -> String {
    match version {
        Some(version) if version.starts_with("p2p-bw") => {
            version.split(',').next().unwrap_or(version).to_owned()
        }
        Some(version) => format!("nvbandwidth {version}"),
        None => "nvbandwidth".to_owned(),
    }
}

/// `CUDA 12.8` of 12080, as CUDA_VERSION in cuda.h counts.
pub(super) fn interface(version: u64) -> String {
    format!("CUDA {}.{}", version / 1000, version % 1000 / 10)
}

fn text_of(root: &Value, key: &str) -> Option<String> {
    root[key].as_str().map(replaced)
}

/// A device of a line such as `0: NVIDIA L40 (00000000:21:00): (host1)`; in text the host is not there.
pub(super) fn facts(line: &str) -> Option<LinkFacts> {
    let (number, rest) = line.split_once(": ")?;
    let ordinal = number.trim().parse().ok()?;
    // The name may hold parentheses itself, the address is the first of them that is one.
    let found = rest.match_indices(" (").find_map(|(at, _)| {
        let inside = rest[at + 2..].split(')').next()?;
        Some((&rest[..at], inside.parse().ok()?))
    });
    let (name, address) = match found {
        Some((name, address)) => (name, Some(address)),
        None => (rest.split(": (").next().unwrap_or(rest), None),
    };
    Some(LinkFacts {
        ordinal,
        label: format!("GPU{ordinal}"),
        name: replaced(name),
        address,
        link: None,
    })
}

/// The host of such a line.
fn host(line: &str) -> Option<&str> {
    let (_, host) = line.rsplit_once(": (")?;
    host.strip_suffix(')')
}

fn add_test(file: &mut LinkFile, test: &Value, failed: &BTreeSet<String>) {
    let Some(name) = text_of(test, "name").filter(|name| !name.is_empty()) else {
        return trouble(file, TroubleKind::File, None, "a test has no name");
    };
    let status = text_of(test, "status").unwrap_or_default();
    let said = text_of(test, "error").map_or_else(String::new, |error| format!(": {error}"));
    if let Some(rows) = test["bandwidth_matrix"].as_array() {
        let matrix = Matrix {
            name: name.clone(),
            description: text_of(test, "bandwidth_description").unwrap_or_default(),
            rows: rows.iter().map(cells).collect(),
            samples: Vec::new(),
        };
        matrix.add_to(file);
    } else if status == "Passed" {
        let words = format!("{name}: passed, and has no matrix");
        trouble(file, TroubleKind::File, Some(&name), &words);
    }
    let kind = match status.as_str() {
        "Passed" => return,
        // A second entry tells the error, and the head of the file its message.
        "Running" if failed.contains(&name) => return,
        "Waived" => TroubleKind::NotApplicable,
        "Not Found" | "ERROR" => TroubleKind::Absent,
        "Running" => TroubleKind::Interrupted,
        "Error" => TroubleKind::Failed,
        _ => TroubleKind::File,
    };
    trouble(file, kind, Some(&name), &format!("{name}: {status}{said}"));
}

/// The cells of a row: texts there, numbers in what others made of it.
fn cells(row: &Value) -> Vec<String> {
    let cell = |cell: &Value| match cell {
        Value::String(text) => text.clone(),
        Value::Null => "N/A".to_owned(),
        other => other.to_string(),
    };
    row.as_array().into_iter().flatten().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_line_gives_number_name_and_address() {
        let facts = |line: &str| {
            let facts = facts(line).unwrap();
            let address = facts.address.map(|address| address.to_string());
            (facts.ordinal, facts.name, address.unwrap_or_default())
        };
        assert_eq!(
            facts("1: NVIDIA L40 (00000000:61:00): (host1)"),
            (1, "NVIDIA L40".to_owned(), "0000:61:00.0".to_owned())
        );
        assert_eq!(
            facts("0: Card (rev 2) (0001:e1:00)"),
            (0, "Card (rev 2)".to_owned(), "0001:e1:00.0".to_owned())
        );
        assert_eq!(facts("0: Card: (h)"), (0, "Card".to_owned(), String::new()));
        assert_eq!(host("0: Card (0:21:00): (host1)"), Some("host1"));
    }

    #[test]
    fn a_version_of_cuda_is_read_from_its_number() {
        // CUDA_VERSION is 1000 * major + 10 * minor.
        assert_eq!(interface(12_080), "CUDA 12.8");
        assert_eq!(interface(13_000), "CUDA 13.0");
    }
}
