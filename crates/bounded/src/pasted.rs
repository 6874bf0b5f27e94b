//! Output of other tools as people paste it: without colours, quotes of a mail, fences of Markdown, and the rank that a launcher
//! writes before each line. It knows no tool.

use std::collections::HashMap;

/// So many lines with the same number before them are one rank's of `srun -l`; a table's rows have each number once.
const ALIKE: usize = 3;

/// The lines of a text, each as [`line`] gives it, and without the ranks that `srun -l` puts before them.
#[must_use]
pub fn lines(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines: Vec<String> = text.lines().map(line).collect();
    let mut ranks: HashMap<&str, usize> = HashMap::new();
    for (rank, _) in lines.iter().filter_map(|line| ranked(line)) {
        *ranks.entry(rank).or_default() += 1;
    }
    if ranks.values().any(|count| *count >= ALIKE) {
        for line in &mut lines {
            if let Some((_, rest)) = ranked(line) {
                *line = rest.trim().to_owned();
            }
        }
    }
    lines
}

/// A line without colour codes (also those that lost their escape character), `mpirun`'s tags, the `>` of a quoted mail and blanks
/// around it; a fence of Markdown is an empty line. Of a line that was drawn again and again the last drawing counts.
#[must_use]
pub fn line(line: &str) -> String {
    let drawn = line.trim_end_matches('\r');
    let drawn = drawn.rsplit('\r').next().unwrap_or(drawn);
    let plain = without_streams(&without_codes(drawn));
    let mut rest = plain.trim();
    while let Some(after) = tagged(rest).or_else(|| rest.strip_prefix('>')) {
        rest = after.trim_start();
    }
    match rest.starts_with("```") || rest.starts_with("~~~") {
        true => String::new(),
        false => rest.to_owned(),
    }
}

/// A text without control sequences (ECMA-48); other control characters become a replacement mark.
#[must_use]
pub fn without_codes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = code(rest) {
            rest = after;
            continue;
        }
        plain.push(match first {
            '\t' => '\t',
            control if control.is_control() => '\u{fffd}',
            other => other,
        });
        rest = &rest[first.len_utf8()..];
    }
    plain
}

/// What follows a code such as `ESC[1;36m`; pastes often lose the escape character, which is taken back for colours only.
fn code(text: &str) -> Option<&str> {
    let (text, escaped) = match text.strip_prefix('\u{1b}') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let Some(parameters) = text.strip_prefix('[') else {
        return escaped.then(|| text.get(1..).unwrap_or_default());
    };
    // A code has at most some numbers; the bound keeps a long run of digits from being looked at again and again.
    let end = parameters
        .bytes()
        .take(16)
        .position(|b| !b.is_ascii_digit() && b != b';' && b != b'?');
    match end.and_then(|end| parameters.get(end..)) {
        Some(rest) if rest.starts_with('m') => Some(&rest[1..]),
        Some(rest) if escaped => rest.get(1..).or(Some("")),
        None if escaped => Some(""),
        _ => None,
    }
}

/// A line without `[1,0]<stdout>:`, which mpirun may put into its middle.
fn without_streams(line: &str) -> String {
    let mut parts = line
        .split("]<stdout>:")
        .flat_map(|part| part.split("]<stderr>:"));
    let mut plain = String::with_capacity(line.len());
    let mut part = parts.next().unwrap_or_default();
    for next in parts {
        match part.rsplit_once('[') {
            Some((before, rank)) if rank.bytes().all(|b| b.is_ascii_digit() || b == b',') => {
                plain.push_str(before)
            }
            _ => plain.push_str(part),
        }
        part = next;
    }
    plain + part
}

/// What follows a tag of mpirun at the beginning of a line, such as `[0]`.
fn tagged(line: &str) -> Option<&str> {
    let (tag, rest) = line.strip_prefix('[')?.split_once(']')?;
    let numbers = !tag.is_empty() && tag.bytes().all(|b| b.is_ascii_digit() || b == b',');
    numbers.then_some(rest)
}

/// A number and a colon before a line, and the rest.
fn ranked(line: &str) -> Option<(&str, &str)> {
    let (rank, rest) = line.split_once(':')?;
    let is_rank = !rank.is_empty() && rank.len() < 6 && rank.bytes().all(|b| b.is_ascii_digit());
    (is_rank && (rest.is_empty() || rest.starts_with(' '))).then_some((rank, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_mails_and_launchers_add_goes() {
        for (pasted, plain) in [
            ("\u{1b}[1;36m(Worker)\u{1b}[0;0m x", "(Worker) x"),
            ("[4mGPU0[0m\tGPU1", "GPU0\tGPU1"),
            ("> > Running a.", "Running a."),
            ("```text", ""),
            ("[1,0]<stdout>: 8 [a] [1,0]<stderr>:[0] 2", "8 [a] [0] 2"),
            ("10%\r100%\r", "100%"),
            ("a\u{7}b\u{1b}[", "a\u{fffd}b"),
        ] {
            assert_eq!(line(pasted), plain, "{pasted:?}");
        }
    }

    #[test]
    fn ranks_go_and_rows_that_begin_with_a_number_stay() {
        let ranks = lines("+ srun -l x\n0: # a\n 0:   8 2\n0:\n1: b");
        assert_eq!(ranks, ["+ srun -l x", "# a", "8 2", "", "b"]);
        let nodes = lines("node   0   1\n  0:  10  21\n  1:  21  10");
        assert_eq!(nodes[1], "0:  10  21");
    }

    #[test]
    fn brackets_without_end_take_one_pass() {
        let open = "[".repeat(8_000_000);
        assert_eq!(line(&open).len(), open.len());
    }
}
