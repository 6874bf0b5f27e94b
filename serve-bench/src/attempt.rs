//! A `serve-bench run` as a process whose folder is there whole or not at all.
//!
//! It measures into a folder of its own below `parts`, which gets its name when its record is complete. What a killed program left
//! may still be ending when the next one begins, so neither writes where the other does.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use measure::exit;
use measure::record::{Payload, Record, Serve, Status, load};
use program::Stop;
use supervisor::Interrupt;

use crate::study::child::{self, Ended};

/// Where runs are until they are whole, below the folder of a search or sweep.
const PARTS: &str = "parts";

/// What failed requests say where this machine, and not the server, had no more files or ports.
const OF_THE_CLIENT: [&str; 2] = ["os error 24", "os error 99"];

/// What begins the line in which a run says where its folder is, which here gets another name when it is whole.
const RESULT: &str = "result: ";

/// What begins a program's last words where it failed.
const ERROR: &str = "error: ";

/// How a run ended that left no complete record.
pub(crate) struct Unfinished {
    /// Its exit code.
    pub(crate) code: u8,
    /// Its last words.
    pub(crate) last: String,
}

/// The record of a run that came to its end, whatever its requests came to.
pub(crate) fn complete(folder: &Path) -> Option<Record> {
    let record = load(folder).ok()?;
    (record.status == Status::Complete && serve(&record).is_some()).then_some(record)
}

/// What a record holds of a load.
pub(crate) fn serve(record: &Record) -> Option<&Serve> {
    match &record.payload {
        Payload::Serve(serve) => Some(serve),
        Payload::Links(_) | Payload::Collectives(_) | Payload::Numa(_) => None,
    }
}

/// Why a run says nothing about the server, because the load generator was the limit, and what to do about it.
pub(crate) fn of_client(serve: &Serve) -> Option<String> {
    let client = serve.client.as_ref();
    if let Some(reason) = client.and_then(|client| client.invalid.first()) {
        return Some(reason.clone());
    }
    let mut errors = serve.requests.iter().filter_map(|one| one.error.as_ref());
    let own = errors.find(|error| OF_THE_CLIENT.iter().any(|own| error.seen.contains(own)))?;
    Some(format!(
        "requests failed on this machine and not at the server, {}; raise `ulimit -n`, or widen net.ipv4.ip_local_port_range",
        own.seen
    ))
}

/// The first words of a reason, to the end of its figures.
pub(crate) fn brief(reason: &str) -> &str {
    reason.split_inclusive(')').next().unwrap_or(reason)
}

/// Runs a load with these flags into `folder`, which is below `above`; its words go to the end of `log`.
///
/// # Errors
/// A signal came, or it cannot be started or kept.
pub(crate) fn measure(
    above: &Path,
    folder: &Path,
    flags: Vec<String>,
    log: &Path,
    interrupt: &Interrupt,
) -> Result<Result<Record, Unfinished>, Stop> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let parts = above.join(PARTS);
    if let Some(whole) = left(&parts, &name) {
        return adopt(&whole, folder).map(Ok);
    }
    measure::private::make_folders(&parts)
        .with_context(|| format!("cannot make the folder {}", parts.display()))?;
    let part = part(&parts, &name);
    let own = std::env::current_exe().context("looking for this program")?;
    let mut arguments = vec!["run".to_owned()];
    arguments.extend(flags);
    arguments.extend(["--out".to_owned(), part.display().to_string()]);
    let is_kept = |line: &str| !line.starts_with(RESULT);
    match child::run(&name, &own, &arguments, Vec::new(), log, is_kept, interrupt)? {
        Ended::Interrupted(signal) => Err(Stop::Interrupted(signal)),
        Ended::Exit { .. } if complete(&part).is_some() => {
            let record = adopt(&part, folder)?;
            tell(log, folder);
            Ok(Ok(record))
        }
        Ended::Exit { code, last } => Ok(Err(Unfinished {
            code,
            // Whoever passes it on says that it is an error.
            last: last.strip_prefix(ERROR).unwrap_or(&last).to_owned(),
        })),
    }
}

/// Ends the words of a run in a log with the folder that has its result.
fn tell(log: &Path, folder: &Path) {
    if let Ok(mut log) = OpenOptions::new().append(true).open(log) {
        // Its words may be lost on a full disk; the folder is what must be there.
        let _ = writeln!(log, "{RESULT}{}", folder.display());
    }
}

/// Gives a run its name.
fn adopt(part: &Path, folder: &Path) -> Result<Record, Stop> {
    std::fs::rename(part, folder)
        .with_context(|| format!("cannot rename {} to {}", part.display(), folder.display()))?;
    let record = complete(folder).with_context(|| format!("{} is gone", folder.display()))?;
    Ok(record)
}

/// A run that was whole when the program was killed before it could name it.
fn left(parts: &Path, name: &str) -> Option<PathBuf> {
    let entries = parts.read_dir().ok()?.flatten();
    let is_of = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == name);
    let mut mine = entries.map(|entry| entry.path()).filter(is_of);
    // One with failures may have lost its server to whatever killed the program.
    let is_good = |path: &PathBuf| complete(path).is_some_and(|it| it.exit_code == exit::DONE);
    mine.find(is_good)
}

/// A folder that nobody else has.
fn part(parts: &Path, name: &str) -> PathBuf {
    let own = std::process::id();
    let mut number = 1;
    loop {
        let part = parts.join(format!("{name}.{own}-{number}"));
        if !part.exists() {
            return part;
        }
        number += 1;
    }
}
