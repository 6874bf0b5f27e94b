//! Traces of requests that others published: when each came, how long prompt and reply were, and which blocks prompts share.
//!
//! Mooncake's (JSONL: `timestamp` in ms, `input_length`, `output_length`, `hash_ids` of blocks of 512 tokens) and Azure's (CSV:
//! `TIMESTAMP,ContextTokens,GeneratedTokens`, the first such as `2023-11-16 18:15:46.6805900`).

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde::Deserialize;

use super::Part;
use super::files::read;

/// Tokens of a block that has a hash (Mooncake, FAST '25, "trace format").
const BLOCK: u32 = 512;

/// Tokens of a prompt or reply at most: as many as a flag could ask for.
const MOST: u32 = 4_000_000;

/// A request of a trace.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// After the first one.
    pub(super) at: Duration,
    /// Tokens of each block of the prompt, with what says what it holds; `None` for what it shares with nobody.
    pub(super) parts: Vec<Part>,
    pub(super) output: u32,
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
    let text = bounded::decoded(read(path, bounded::TEXT)?);
    let text =
        text.map_err(|error| format!("--dataset-path: cannot read {}: {error}", path.display()))?;
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
            parts: parts(&line),
            output: line.output_length,
        })
    };
    lines.into_iter().map(entry).collect()
}

/// A line of Azure's.
fn azure(line: &str) -> Option<Line> {
    let mut fields = line.split(',').map(str::trim);
    let (instant, input, output) = (fields.next()?, fields.next()?, fields.next()?);
    // A zone at the end is the same one in every line.
    let at = humantime::parse_rfc3339_weak(instant.split('+').next()?).ok()?;
    Some(Line {
        timestamp: at.duration_since(UNIX_EPOCH).ok()?.as_secs_f64() * 1e3,
        input_length: input.parse().ok()?,
        output_length: output.parse().ok()?,
        hash_ids: Vec::new(),
    })
}

fn parts(line: &Line) -> Vec<Part> {
    // A block that is not full has the prompt's end.
    let full = line.input_length / BLOCK;
    let blocks = line.hash_ids.iter().take(full as usize);
    let mut parts: Vec<Part> = blocks.map(|block| (Some(*block), BLOCK)).collect();
    let shared: u32 = parts.iter().map(|(_, tokens)| tokens).sum();
    parts.push((None, line.input_length - shared));
    parts
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
            entries[0].parts,
            [(Some(46), 512), (Some(47), 512), (None, 176)]
        );
        assert_eq!(
            entries[1].parts,
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
        assert_eq!(
            (&entries[1].parts[..], entries[1].output),
            (&[(None, 396)][..], 109)
        );
        for wrong in ["", "a,b,c", "{\"timestamp\": 1}", "2023-11-16 1:2:3,0,5"] {
            assert!(parse(wrong, 1.0).is_err(), "{wrong}");
        }
    }
}
