//! Whether every rank of a server was delayed, by the log of the delay library.
//!
//! A replayed graph calls nothing: an engine with graphs is delayed only where calls came while it captured.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;

/// A line of the log; the last one of a process counts.
#[derive(Debug, Deserialize)]
struct Line {
    pid: u32,
    #[serde(default)]
    calls: u64,
    #[serde(default)]
    calls_captured: u64,
    #[serde(default)]
    calls_refused: u64,
}

/// Checks that so many processes were delayed, in their graphs where the engine has any.
///
/// # Errors
/// What the log shows instead, in words.
pub(super) fn check(log: &Path, ranks: u32, has_graphs: bool) -> Result<(), String> {
    let file = log.display();
    let text = match bounded::text(log, bounded::TEXT) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(format!("cannot read {file}: {error}"));
        }
        text => text.unwrap_or_default(),
    };
    let parsed = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let last: BTreeMap<u32, Line> = parsed.map(|line: Line| (line.pid, line)).collect();
    let count = |of: fn(&Line) -> u64| last.values().filter(|line| of(line) > 0).count();
    let (called, captured) = (count(|line| line.calls), count(|line| line.calls_captured));
    if count(|line| line.calls_refused) > 0 {
        return Err(format!(
            "the delay library could not delay some calls: {file} tells of calls_refused"
        ));
    }
    if called == 0 {
        return Err(format!(
            "the delay library was never called by the server: {file} shows no call"
        ));
    }
    let (delayed, what) = match has_graphs {
        true => (captured, "all-reduces in a graph (calls_captured)"),
        false => (called, "all-reduces (calls)"),
    };
    // As many processes as ranks: one that is not delayed waits for one that is, and a warm-up alone delays no replay.
    if delayed < ranks as usize {
        return Err(format!(
            "{delayed} of {ranks} ranks were delayed in {what}, by {file}: the step does not hold the delay of this arm"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ranks_whose_graphs_hold_the_delay_count() {
        let log = std::env::temp_dir().join(format!("tplens-shim-log-{}", std::process::id()));
        let of = |text: &str, has_graphs| {
            std::fs::write(&log, text).unwrap();
            check(&log, 2, has_graphs)
                .map_err(|why| why.split(',').next().unwrap_or_default().to_owned())
        };
        let line = |pid: u32, calls: u32, captured: u32| {
            format!(
                "{{\"pid\":{pid},\"calls\":{calls},\"calls_captured\":{captured},\"calls_refused\":0}}\n"
            )
        };
        assert!(of("", true).is_err());
        assert!(
            of(&line(1, 0, 0), true)
                .unwrap_err()
                .contains("never called")
        );
        // Warm-up calls of both ranks, and none while capturing: replays hold no delay.
        let warm = line(1, 12, 0) + &line(2, 12, 0);
        assert!(of(&warm, true).unwrap_err().starts_with("0 of 2 ranks"));
        assert_eq!(of(&warm, false), Ok(()));
        // One rank of two.
        let one = line(1, 161, 161) + &line(2, 12, 0);
        assert!(of(&one, true).unwrap_err().starts_with("1 of 2 ranks"));
        // Two lines of one process are one rank, and its last line counts.
        let twice = line(1, 1, 0) + &line(1, 161, 161);
        assert!(of(&twice, true).unwrap_err().starts_with("1 of 2 ranks"));
        let both = line(1, 161, 161) + "half a li" + "\n" + &line(2, 161, 161);
        assert_eq!(of(&both, true), Ok(()));
        let refused = both + "{\"pid\":3,\"calls\":1,\"calls_refused\":1}\n";
        assert!(of(&refused, true).unwrap_err().contains("calls_refused"));
        std::fs::remove_file(&log).unwrap();
        assert!(check(&log, 2, true).is_err());
    }
}
