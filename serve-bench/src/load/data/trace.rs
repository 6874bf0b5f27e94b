//! Traces of requests that others published: when each came, how long prompt and reply were, and which blocks prompts share.
//!
//! Mooncake's (JSONL: `timestamp` in ms, `input_length`, `output_length`, `hash_ids` of blocks of 512 tokens) and Azure's (CSV:
//! `TIMESTAMP,ContextTokens,GeneratedTokens`, the first such as `2023-11-16 18:15:46.6805900`).

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::Part;

/// Tokens of a block that has a hash (Mooncake, FAST '25, "trace format").
const BLOCK: u32 = 512;

/// Tokens of a prompt or reply at most: as many as a flag could ask for.
const MOST: u32 = 4_000_000;

/// A request of a trace.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// After the first one.
    pub(super) at: Duration,
    pub(super) input: u32,
    pub(super) output: u32,
    /// Blocks that begin the prompt, by what they hold.
    pub(super) blocks: Vec<u64>,
}

/// A line of Mooncake's; time in ms.
#[derive(Deserialize)]
struct Line {
    timestamp: f64,
    input_length: u32,
    output_length: u32,
    #[serde(default)]
    hash_ids: Vec<u64>,
}

/// The requests of a file, ascending, `speed` times as fast.
///
/// # Errors
/// In words: it cannot be read, or a line is of neither form.
pub(super) fn trace(path: &Path, speed: f64) -> Result<Vec<Entry>, String> {
    let text = bounded::text(path, bounded::TEXT)
        .map_err(|error| format!("--dataset-path: cannot read {}: {error}", path.display()))?;
    parse(&text, speed).map_err(|error| format!("{} {error}", path.display()))
}

fn parse(text: &str, speed: f64) -> Result<Vec<Entry>, String> {
    let mut lines: Vec<Line> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with("TIMESTAMP") {
            continue;
        }
        let wrong = |why: &str| format!("line {number}: {why}");
        let read = if line.starts_with('{') {
            serde_json::from_str(line).map_err(|error| wrong(&error.to_string()))?
        } else {
            azure(line).ok_or_else(|| {
                wrong("no `timestamp, input_length, output_length`, nor TIMESTAMP,ContextTokens,GeneratedTokens")
            })?
        };
        let is_length = |tokens: u32| (1..=MOST).contains(&tokens);
        if !read.timestamp.is_finite()
            || !is_length(read.input_length)
            || !is_length(read.output_length)
        {
            return Err(wrong("a time or length that no request can have"));
        }
        lines.push(read);
    }
    lines.sort_by(|one, other| one.timestamp.total_cmp(&other.timestamp));
    let first = lines.first().ok_or("holds no request")?.timestamp;
    let entry = |line: Line| {
        let at = Duration::try_from_secs_f64((line.timestamp - first) / 1e3 / speed);
        Ok(Entry {
            at: at.map_err(|error| error.to_string())?,
            input: line.input_length,
            output: line.output_length,
            blocks: line.hash_ids,
        })
    };
    lines.into_iter().map(entry).collect()
}

/// A line of Azure's.
fn azure(line: &str) -> Option<Line> {
    let mut fields = line.split(',').map(str::trim);
    let (instant, input, output) = (fields.next()?, fields.next()?, fields.next()?);
    let (date, time) = instant.split_once([' ', 'T'])?;
    let mut date = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    // A zone at the end is the same one in every line.
    let time = time.trim_end_matches('Z').split('+').next()?;
    let mut time = time.split(':').map(|part| part.parse::<f64>().ok());
    let (hours, minutes, seconds) = (time.next()??, time.next()??, time.next()??);
    #[expect(clippy::cast_precision_loss, reason = "days since 1970")]
    let days = days(year, month, day) as f64;
    Some(Line {
        timestamp: (days * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds) * 1e3,
        input_length: input.parse().ok()?,
        output_length: output.parse().ok()?,
        hash_ids: Vec::new(),
    })
}

/// Days since 1970 (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

impl Entry {
    /// Tokens of each block of the prompt, with what says what it holds; `None` for what it shares with nobody.
    pub(super) fn parts(&self) -> Vec<Part> {
        // A block that is not full has the prompt's end.
        let full = self.blocks.iter().take((self.input / BLOCK) as usize);
        let mut parts: Vec<Part> = full.map(|block| (Some(*block), BLOCK)).collect();
        let shared: u32 = parts.iter().map(|(_, tokens)| tokens).sum();
        parts.push((None, self.input - shared));
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mooncakes_lines_have_instants_and_shared_blocks() {
        let text = "{\"timestamp\": 27482, \"input_length\": 1200, \"output_length\": 52, \"hash_ids\": [46, 47, 2354]}\n\
                    {\"timestamp\": 30535, \"input_length\": 1024, \"output_length\": 26, \"hash_ids\": [46, 47]}\n";
        let entries = parse(text, 1.0).unwrap();
        assert_eq!(entries[1].at, Duration::from_millis(3053));
        // 1200 = 2 x 512 + 176.
        assert_eq!(
            entries[0].parts(),
            [(Some(46), 512), (Some(47), 512), (None, 176)]
        );
        assert_eq!(
            entries[1].parts(),
            [(Some(46), 512), (Some(47), 512), (None, 0)]
        );
        // Twice as fast.
        let fast = parse(text, 2.0).unwrap();
        assert_eq!(fast[1].at, Duration::from_micros(1_526_500));
    }

    #[test]
    fn azures_lines_have_dates() {
        let text = "TIMESTAMP,ContextTokens,GeneratedTokens\n\
                    2023-11-16 23:59:59.5000000,374,44\n\
                    2023-11-17 00:00:01.0000000,396,109\n";
        let entries = parse(text, 1.0).unwrap();
        assert_eq!(entries[1].at, Duration::from_millis(1500));
        assert_eq!((entries[1].input, entries[1].output), (396, 109));
        assert_eq!(days(1970, 1, 1), 0);
        // 30 years with 7 leap days, and 31 + 29 days.
        assert_eq!(days(2000, 3, 1), 30 * 365 + 7 + 60);
        for wrong in ["", "a,b,c", "{\"timestamp\": 1}", "2023-11-16 1:2:3,0,5"] {
            assert!(parse(wrong, 1.0).is_err(), "{wrong}");
        }
    }
}
