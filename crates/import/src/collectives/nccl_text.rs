//! The text of nccl-tests and rccl-tests of any version: a test begins with its name, its arguments or its header, and columns are
//! found by the header row. Before 2.17 nothing but the command line names the operation.

use super::nccl::{Measured, Row, Test, version as library_version};
use super::value::{CallFile, CallTrouble};
use crate::error::ImportError;
use crate::links::TroubleKind;
use record::CallMode;
use record::CollectiveKind;
use record::control;

/// What stands where nothing was measured or compared.
const ABSENT: &str = "N/A";

/// Whether a header row of nccl-tests is in the text.
pub(super) fn is_one(text: &str) -> bool {
    text.lines().any(|line| Columns::of(line).is_some())
}

/// The file of every test in a text; `asked` is the operation of those that do not say theirs.
pub(super) fn file(
    text: &str,
    origin: &str,
    asked: Option<CollectiveKind>,
) -> Result<CallFile, ImportError> {
    let mut reading = Reading {
        file: CallFile {
            origin: origin.to_owned(),
            made_by: "nccl-tests".to_owned(),
            ..CallFile::default()
        },
        asked,
        test: Test::default(),
        columns: None,
        most: None,
        ended: false,
        refused: Vec::new(),
    };
    let last = text.lines().filter(|line| !line.is_empty()).count();
    let filled = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty());
    for (count, (index, line)) in filled.enumerate() {
        reading.line(line, index + 1, count + 1 == last);
    }
    reading.close();
    let mut refused = reading.refused.into_iter();
    match refused.next() {
        Some(error) if reading.file.values.is_empty() => return Err(error),
        first => {
            let others = first.into_iter().chain(refused);
            let others =
                others.map(|error| CallTrouble::of_file(TroubleKind::File, error.to_string()));
            reading.file.troubles.extend(others);
        }
    }
    Ok(reading.file)
}

struct Reading {
    file: CallFile,
    asked: Option<CollectiveKind>,
    test: Test,
    columns: Option<Columns>,
    /// The largest size that the test was asked for.
    most: Option<u64>,
    /// Whether the lines are there that a test prints at its end.
    ended: bool,
    refused: Vec<ImportError>,
}

impl Reading {
    fn line(&mut self, line: &str, number: usize, is_last: bool) {
        let words: Vec<&str> = line.trim_start_matches('#').split_whitespace().collect();
        let bytes = |label: &str| after(line, label)?.parse().ok();
        if let Some(columns) = Columns::of(line) {
            self.next_test();
            self.columns = Some(columns);
        } else if let Some(program) = after(line, "Collective test starting:") {
            self.close();
            self.test.program = Some(program.to_owned());
            self.test.begun = true;
        } else if line.contains("Collective test concluded") {
        } else if let Some(program) = words.iter().find_map(|word| program(word)) {
            self.next_test();
            self.test.program = Some(program.to_owned());
        } else if let Some(version) = after(line, "nccl-tests version") {
            self.file.made_by = control::replaced(&format!("nccl-tests {version}"));
            self.file.library =
                bytes("nccl-library=").map(|number| format!("nccl {}", library_version(number)));
        } else if words.first() == Some(&"nThread") {
            self.next_test();
            self.most = bytes("maxBytes ");
            self.test.mode = after(line, "graph:")
                .filter(|graph| *graph != "0")
                .map(|_| CallMode::Graph);
        } else if words.first() == Some(&"Rank") && line.contains(" on ") {
            self.next_test();
            self.device(line, &words);
        } else if let Some((_, why)) = line.split_once("NCCL failure ") {
            let why = self.test.failure.take().unwrap_or(control::shortened(why));
            self.test.failure = Some(why);
        } else if line.contains("Out of bounds values") || line.contains("Avg bus bandwidth") {
            self.ended = true;
        } else if words
            .first()
            .is_some_and(|word| word.parse::<u64>().is_ok())
            && !line.starts_with('#')
        {
            self.row(line, number, is_last);
        }
    }

    fn row(&mut self, line: &str, number: usize, is_last: bool) {
        let Some(columns) = &self.columns else { return };
        let words: Vec<&str> = line.split_whitespace().collect();
        match columns.row(&words, number) {
            Some(row) => self.test.rows.push(row),
            None => self.trouble(match is_last {
                true => format!("is cut: line {number} ends in its middle"),
                false => format!(
                    "line {number} has not the columns of its header: {}",
                    control::shortened(line)
                ),
            }),
        }
    }

    fn device(&mut self, line: &str, words: &[&str]) {
        let rank = words.get(1).and_then(|rank| rank.parse::<u32>().ok());
        let Some(rank) = rank.and_then(|rank| rank.checked_add(1)) else {
            return;
        };
        if self.test.ranks.is_none() {
            self.file.devices.clear();
        }
        // Some paste the first and last ranks of each machine only.
        self.test.ranks = self.test.ranks.max(Some(rank));
        let name = line.rsplit_once(']').map(|(_, name)| name.trim());
        self.file.devices.extend(name.map(control::replaced));
        self.file.host = after(line, " on ").map(control::replaced);
    }

    /// What stands above rows, where rows came before: a test of its own.
    fn next_test(&mut self) {
        if !self.test.rows.is_empty() {
            self.close();
        }
    }

    fn close(&mut self) {
        let test = std::mem::take(&mut self.test);
        let most = self.most.take();
        let ended = std::mem::take(&mut self.ended);
        self.columns = None;
        let last = test.rows.last().map(|row| row.size);
        if let (Some(most), Some(last)) = (most, last)
            && !ended
            && last < most
        {
            self.trouble(format!(
                "is cut: its head says sizes up to {most} bytes and it ends at {last}"
            ));
        }
        self.refused
            .extend(test.add_to(&mut self.file, self.asked).err());
    }

    fn trouble(&mut self, detail: String) {
        let trouble = CallTrouble::of_file(TroubleKind::File, detail);
        self.file.troubles.push(trouble);
    }
}

/// The program of nccl-tests that a word of a command line or a script names.
fn program(word: &str) -> Option<&str> {
    let word = word.trim_matches(|c: char| "'\"`;".contains(c));
    let name = word.rsplit(['/', '=']).next()?;
    let operation = name.strip_suffix("_perf")?;
    let is_one = !operation.is_empty()
        && operation
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b == b'_');
    is_one.then_some(name)
}

/// The word that follows a label in a line.
fn after<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    line.split_once(label)?.1.split_whitespace().next()
}

/// Where the columns are that are read.
struct Columns {
    size: usize,
    element: Option<usize>,
    reduction: Option<usize>,
    root: Option<usize>,
    out_of_place: Place,
    in_place: Option<Place>,
}

/// Where the columns of one measurement are.
#[derive(Clone, Copy)]
struct Place {
    time: usize,
    algorithm: usize,
    bus: usize,
    /// Absent in old versions, whose `error` column is the largest rounding error and no count.
    wrong: Option<usize>,
}

impl Columns {
    /// The columns of a header row; those that come twice come out of place first.
    fn of(line: &str) -> Option<Self> {
        let names: Vec<&str> = line.trim_start_matches('#').split_whitespace().collect();
        let at = |name: &str, turn: usize| {
            let found = names.iter().enumerate();
            let mut found = found.filter(|(_, known)| **known == name);
            found.nth(turn).map(|(at, _)| at)
        };
        let place = |turn| {
            Some(Place {
                time: at("time", turn)?,
                algorithm: at("algbw", turn)?,
                bus: at("busbw", turn)?,
                wrong: at("#wrong", turn),
            })
        };
        Some(Self {
            size: at("size", 0)?,
            element: at("type", 0),
            reduction: at("redop", 0),
            root: at("root", 0),
            out_of_place: place(0)?,
            in_place: place(1),
        })
    }

    /// A row; `None` where a column is missing or no number.
    fn row(&self, words: &[&str], line: usize) -> Option<Row> {
        let word = |column: Option<usize>| words.get(column?).copied();
        let in_place = self.in_place.map(|place| place.measured(words));
        Some(Row {
            place: format!("line {line}"),
            size: words.get(self.size)?.parse().ok()?,
            element: word(self.element).map(str::to_owned),
            reduction: word(self.reduction).map(str::to_owned),
            root: word(self.root).and_then(|root| root.parse().ok()),
            out_of_place: self.out_of_place.measured(words)?,
            // A line that was cut behind the first columns still has those.
            in_place: in_place.flatten().flatten(),
        })
    }
}

impl Place {
    /// A measurement, nothing where none was made; `None` where a column is missing or no number.
    fn measured(self, words: &[&str]) -> Option<Option<Measured>> {
        let number = |column: usize| words.get(column)?.parse::<f64>().ok();
        if words.get(self.time) == Some(&ABSENT) {
            return Some(None);
        }
        let wrong = match self.wrong.map(|column| words.get(column)) {
            Some(Some(&ABSENT)) | None => None,
            Some(word) => Some(word?.parse().ok()?),
        };
        Some(Some(Measured {
            us: number(self.time)?,
            bandwidths: number(self.algorithm).zip(number(self.bus)),
            wrong,
        }))
    }
}
