//! The text of nccl-tests and rccl-tests: columns are found by the header row, since versions have different ones.

use super::nccl::{Measured, Row, Test, kind, version};
use super::value::{CallFile, CallTrouble};
use crate::control;
use crate::import::error::ImportError;
use crate::import::links::TroubleKind;
use crate::record::{BufferCache, CallMode};

/// What stands where nothing was measured or compared.
pub(crate) const ABSENT: &str = "N/A";

/// Whether a header row of nccl-tests is in the text.
pub(super) fn is_one(text: &str) -> bool {
    text.lines()
        .any(|line| Columns::of(&untagged(line)).is_some())
}

/// How the lines begin in which our own text of this form says what nccl-tests has no word for.
pub(crate) const OURS: &str = "# tplens ";

/// The file of every test in the text.
pub(super) fn file(text: &str, origin: &str) -> Result<CallFile, ImportError> {
    let mut test = Test::unknown(origin);
    let mut file = CallFile {
        origin: origin.to_owned(),
        made_by: "nccl-tests".to_owned(),
        ..CallFile::default()
    };
    let mut columns = None;
    let mut ends = Ends::default();
    let lines = text.lines().enumerate();
    let filled = lines.filter(|(_, line)| !line.trim().is_empty());
    let last_line = filled.last().map_or(0, |(index, _)| index);
    for (index, line) in text.lines().map(untagged).enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(said) = line.trim().strip_prefix(OURS) {
            ours(said, &mut test, &mut file);
        } else if let Some(found) = Columns::of(&line) {
            columns = Some(found);
        } else if let Some(program) = after(&line, "Collective test starting:") {
            // A file may hold several tests, each with a head of its own.
            file.troubles.extend(ends.cut());
            ends = Ends::default();
            test = Test {
                kind: kind(program),
                ..Test::unknown(origin)
            };
        } else if words.first() == Some(&"#") {
            head(&line, &words, &mut test, &mut file);
            ends.head(&line);
        } else if let Some(columns) = &columns
            && words
                .first()
                .is_some_and(|word| word.parse::<u64>().is_ok())
        {
            let Some(row) = columns.row(&words, index + 1) else {
                // The last line of a file that was cut ends anywhere.
                if index == last_line && ends.most.is_some() && !ends.is_ended {
                    ends.torn = Some(index + 1);
                    continue;
                }
                return Err(ImportError::Nonsense {
                    origin: origin.to_owned(),
                    key: format!("line {}", index + 1),
                    seen: control::quoted(&words.join(" ")),
                    want: "the columns of the header with a time".to_owned(),
                });
            };
            test.add(&mut file, &row)?;
            ends.last = Some(row.size);
        }
    }
    file.troubles.extend(ends.cut());
    Ok(file)
}

/// Up to where a test was to go, and whether it came there.
#[derive(Default)]
struct Ends {
    /// The largest size that it was asked for.
    most: Option<u64>,
    /// What makes the next size of one.
    step: Option<Step>,
    /// The last size that has a row.
    last: Option<u64>,
    /// Whether the lines are there that it prints at its end.
    is_ended: bool,
    /// The line that ends in its middle.
    torn: Option<usize>,
}

/// From one size to the next.
#[derive(Clone, Copy)]
enum Step {
    Factor(u64),
    Bytes(u64),
}

impl Ends {
    fn head(&mut self, line: &str) {
        if let Some(most) = after(line, "maxBytes ").and_then(|bytes| bytes.parse().ok()) {
            self.most = Some(most);
        }
        let step = after(line, "step: ").and_then(|step| step.split_once('('));
        self.step = self.step.or_else(|| {
            let (number, kind) = step?;
            let number = number.parse().ok().filter(|number| *number > 0)?;
            match kind {
                "factor)" => Some(Step::Factor(number)),
                "bytes)" => Some(Step::Bytes(number)),
                _ => None,
            }
        });
        let ends = ["Out of bounds values", "Avg bus bandwidth"];
        self.is_ended |= ends.iter().any(|end| line.contains(end));
    }

    /// That rows are missing at the end; `None` where none are, or where the head is not there to say so.
    fn cut(&self) -> Option<CallTrouble> {
        let most = self.most?;
        let (ends, is_cut) = match self.last {
            None => ("has no row".to_owned(), self.torn.is_some()),
            Some(last) => {
                let next = match self.step {
                    Some(Step::Factor(factor)) if factor > 1 => last.checked_mul(factor),
                    Some(Step::Bytes(bytes)) => last.checked_add(bytes),
                    _ => None,
                };
                // A test that ended went as far as its step took it.
                let is_short = match self.is_ended {
                    true => next.is_some_and(|next| next <= most),
                    false => last < most,
                };
                let is_cut = is_short || self.torn.is_some();
                (format!("ends at {last}"), is_cut)
            }
        };
        let torn = self.torn.map_or_else(String::new, |line| {
            format!(", with line {line} cut in its middle")
        });
        is_cut.then(|| CallTrouble {
            kind: TroubleKind::File,
            series: None,
            bytes_per_rank: None,
            words: format!(
                "is cut: its head says sizes up to {most} bytes and it {ends}{torn}, so that what is missing is left out; copy it again, or measure again"
            ),
        })
    }
}

/// What a line of a test's head says.
fn head(line: &str, words: &[&str], test: &mut Test<'_>, file: &mut CallFile) {
    if let Some(version) = after(line, "nccl-tests version") {
        file.made_by = control::replaced(&format!("nccl-tests {version}"));
    }
    if let Some(library) = after(line, "nccl-library=").and_then(|number| number.parse().ok()) {
        file.library = Some(format!("nccl {}", version(library)));
    }
    if words.get(1) == Some(&"Rank") {
        let is_first = words.get(2) == Some(&"0");
        test.ranks = if is_first { 1 } else { test.ranks + 1 };
        if is_first {
            file.devices.clear();
        }
        let name = line.rsplit_once(']').map(|(_, name)| name.trim());
        file.devices.extend(name.map(control::replaced));
        file.host = after(line, " on ").map(control::replaced);
    }
    if let Some(graph) = after(line, "graph:") {
        test.mode = if graph == "0" {
            CallMode::BackToBack
        } else {
            CallMode::Graph
        };
    }
}

/// What a line of our own says, such as `mode: host_synced`.
fn ours(said: &str, test: &mut Test<'_>, file: &mut CallFile) {
    let Some((key, value)) = said.split_once(": ") else {
        return;
    };
    let value = control::replaced(value.trim());
    match key {
        "made by" => file.made_by = value,
        "simulated" => file.simulated = Some(value),
        "library" => file.library = Some(value),
        "mode" => {
            let known = CallMode::ALL.into_iter();
            let named = known.into_iter().find(|mode| mode.to_string() == value);
            test.mode = named.unwrap_or(test.mode);
        }
        "cache" if value == "rotate" => test.cache = BufferCache::Rotate,
        "engine" => test.engine = Some(value),
        "arm" => {
            file.first_arm.get_or_insert_with(|| value.clone());
            test.arm = Some(value);
        }
        _ => {}
    }
}

/// The word that follows a label in a line.
fn after<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    line.split_once(label)?.1.split_whitespace().next()
}

/// A line without the tags that mpirun puts into it, such as `[1,0]<stdout>:` or `[0]`.
fn untagged(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(open) = rest.find('[') {
        let (before, from) = rest.split_at(open);
        out.push_str(before);
        // A bracket is no part of a tag, so that no byte is looked at for two of them.
        let inside = from[1..]
            .find(|c: char| !c.is_ascii_digit() && c != ',')
            .unwrap_or(from.len() - 1);
        if inside > 0 && from[1 + inside..].starts_with(']') {
            rest = &from[inside + 2..];
            rest = ["<stdout>:", "<stderr>:"]
                .iter()
                .find_map(|stream| rest.strip_prefix(stream))
                .unwrap_or(rest);
        } else {
            out.push('[');
            rest = &from[1..];
        }
    }
    out.push_str(rest);
    out
}

/// Where the columns are that are read.
struct Columns {
    size: usize,
    element: Option<usize>,
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
        let names: Vec<&str> = line.trim().strip_prefix('#')?.split_whitespace().collect();
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
            out_of_place: place(0)?,
            in_place: place(1),
        })
    }

    /// A row; `None` where a column is missing or no number.
    fn row(&self, words: &[&str], line: usize) -> Option<Row> {
        let element = self.element.and_then(|column| words.get(column));
        let in_place = self.in_place.map(|place| place.measured(words));
        Some(Row {
            place: format!("line {line}"),
            size: words.get(self.size)?.parse().ok()?,
            element: element.map(|word| (*word).to_owned()),
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
            Some(Some(&ABSENT)) | None => 0.0,
            Some(word) => word?.parse().ok()?,
        };
        Some(Some(Measured {
            us: number(self.time)?,
            bandwidths: number(self.algorithm).zip(number(self.bus)),
            wrong,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_taken_out_in_one_pass() {
        assert_eq!(untagged("[1,0]<stdout>: 8 [a] [0] 2"), " 8 [a]  2");
        assert_eq!(untagged("[[0]] [ [12"), "[] [ [12");
        // A quadratic reader takes minutes for 200,000 brackets, and hours for these.
        let open = "[".repeat(8_000_000);
        assert_eq!(untagged(&open), open);
    }
}
