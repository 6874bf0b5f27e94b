//! The text of nvbandwidth; matrices are found by the test's name, and their widths by their column line.
//!
//! A waived test does not say its name there. What is lost where a file is cut off is a trouble, the rest is taken.

use super::json::{facts, interface, made_by};
use super::matrix::{Matrix, trouble};
use crate::error::ImportError;
use crate::links::value::{LinkFile, TroubleKind};
use record::Endpoint;
use record::control::replaced;

/// What stands in the first line.
const VERSION: &str = "nvbandwidth Version:";

/// The beginning of the last lines that every whole run prints.
const LAST: &str = "NOTE: The reported results may not";

/// Whether a text is nvbandwidth's.
pub(in crate::links) fn is_one(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with(VERSION) || running(line).is_some())
}

/// The test that a line begins, as in `Running host_to_device_memcpy_ce.`
fn running(line: &str) -> Option<&str> {
    let name = line
        .trim_end()
        .strip_prefix("Running ")?
        .strip_suffix('.')?;
    (!name.is_empty() && !name.contains(' ')).then_some(name)
}

/// Reads a file.
pub(in crate::links) fn file(text: &str, origin: &str) -> Result<LinkFile, ImportError> {
    let mut reader = Reader {
        file: LinkFile {
            origin: origin.to_owned(),
            made_by: made_by(None),
            backend: Some("cuda".to_owned()),
            ..LinkFile::default()
        },
        test: None,
        samples: Vec::new(),
        matrices: 0,
        is_whole: false,
    };
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if is_header(line) {
            at += reader.matrix(line, &lines[at..]);
        } else {
            reader.line(line);
        }
    }
    reader.close();
    if !reader.is_whole {
        let words =
            "the last lines of nvbandwidth are missing: the run ended early or the file is cut off";
        trouble(&mut reader.file, TroubleKind::File, None, words);
    }
    if reader.file.values.is_empty() && reader.matrices == 0 && !reader.is_whole {
        let why = "is nvbandwidth's text and ends before its first matrix; give its whole output";
        return Err(ImportError::unusable(origin, why));
    }
    Ok(reader.file)
}

/// Whether a line stands above a matrix.
fn is_header(line: &str) -> bool {
    line.contains("(column)") && (line.ends_with("(GB/s)") || line.ends_with("(ns)"))
}

/// A file as far as it was read.
struct Reader {
    file: LinkFile,
    /// The test under way.
    test: Option<String>,
    /// Its samples, in the verbose text.
    samples: Vec<(Endpoint, Endpoint, f64)>,
    /// Its matrices so far.
    matrices: usize,
    is_whole: bool,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let after = |label: &str| line.strip_prefix(label).map(str::trim).map(replaced);
        if let Some(name) = running(line) {
            self.close();
            self.test = Some(name.to_owned());
            self.samples.clear();
            self.matrices = 0;
        } else if let Some(version) = after(VERSION) {
            self.file.made_by = made_by(Some(&version));
        } else if let Some(version) = after("Driver Version:") {
            self.file.driver = Some(version);
        } else if let Some(version) = after("CUDA Driver Version:") {
            self.file.interface = version.parse().ok().map(interface);
        } else if let Some(device) = line.strip_prefix("Device ").and_then(facts) {
            self.file.devices.push(device);
        } else if let Some(name) = after("Waiving ") {
            // To 0.2; nothing else names the test there.
            let name = name.trim_end_matches('.');
            self.test = None;
            self.is_whole = true;
            trouble(&mut self.file, TroubleKind::NotApplicable, Some(name), name);
        } else if let Some(said) = after("Waived:") {
            self.test = None;
            trouble(&mut self.file, TroubleKind::NotApplicable, None, &said);
        } else if let Some(said) = after("ERROR:") {
            let unknown = said.strip_prefix("Testcase ");
            let unknown = unknown.and_then(|rest| rest.strip_suffix(" not found!"));
            trouble(&mut self.file, TroubleKind::Absent, unknown, &said);
        } else if let Some(said) = after("Error:") {
            let test = self.test.take();
            let name = test.as_deref().unwrap_or("a test");
            let detail = format!("{name}: {said}");
            trouble(
                &mut self.file,
                TroubleKind::Failed,
                test.as_deref(),
                &detail,
            );
        } else if line.starts_with(LAST) {
            self.is_whole = true;
        } else if let Some(sample) = sample(line) {
            self.samples.push(sample);
        }
    }

    /// Ends the test under way; one without a matrix did not finish.
    fn close(&mut self) {
        if let Some(name) = self.test.take().filter(|_| self.matrices == 0) {
            let words = format!("{name}: began and has no numbers");
            trouble(&mut self.file, TroubleKind::Failed, Some(&name), &words);
        }
    }

    /// Reads the matrix below its header, and gives the number of lines it took.
    fn matrix(&mut self, header: &str, below: &[&str]) -> usize {
        let columns = below
            .first()
            .map_or(0, |line| line.split_whitespace().count());
        let rows: Vec<Vec<String>> = below
            .iter()
            .skip(1)
            .take_while(|line| !line.is_empty())
            .take(columns.max(1))
            .map(|line| {
                // The first word is the row's label.
                let cells = line.split_whitespace().skip(1);
                cells.map(str::to_owned).collect()
            })
            .collect();
        let taken = (1 + rows.len()).min(below.len());
        self.matrices += 1;
        let Some(test) = &self.test else {
            let words = format!("numbers without a test above them: {header}");
            trouble(&mut self.file, TroubleKind::File, None, &words);
            return taken;
        };
        let is_whole = !rows.is_empty() && rows.iter().all(|row| row.len() == columns);
        let name = test.clone();
        if !is_whole {
            let words = format!("{name}: its matrix is cut off; its numbers are left out");
            trouble(&mut self.file, TroubleKind::File, Some(&name), &words);
            return taken;
        }
        let matrix = Matrix {
            name,
            description: header.trim().to_owned(),
            rows,
            samples: std::mem::take(&mut self.samples),
        };
        matrix.add_to(&mut self.file);
        taken
    }
}

/// A sample of the verbose text: `Sample 0: Host -> Device 1: 26.31 GB/s`.
fn sample(line: &str) -> Option<(Endpoint, Endpoint, f64)> {
    let (_, rest) = line
        .trim_start()
        .strip_prefix("Sample ")?
        .split_once(": ")?;
    let (ends, value) = rest.strip_suffix(" GB/s")?.rsplit_once(": ")?;
    let (from, to) = ends.split_once(" -> ")?;
    let end = |text: &str| match text {
        "Host" => Some(Endpoint::Host),
        device => Some(Endpoint::Device(
            device.strip_prefix("Device ")?.parse().ok()?,
        )),
    };
    let value: f64 = value.trim().parse().ok()?;
    (value.is_finite() && value > 0.0).then_some((end(from)?, end(to)?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_ends_and_a_value() {
        assert_eq!(
            sample("\tSample 2: Device 1 -> Device 0: 22.10 GB/s"),
            Some((Endpoint::Device(1), Endpoint::Device(0), 22.1))
        );
        assert_eq!(sample("\tSample 0: Total Bandwidth : 22.10 GB/s"), None);
    }

    #[test]
    fn a_test_is_begun_by_its_name_and_a_full_stop() {
        assert_eq!(
            running("Running device_local_copy."),
            Some("device_local_copy")
        );
        assert_eq!(running("Running out of memory."), None);
    }
}
