//! A `tplens serve run` as a process whose folder is there whole or not at all.
//!
//! It measures into a folder of its own below `parts`, which gets its name when its record is complete. What a killed program left
//! may still be ending when the next one begins, so neither writes where the other does.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use program::{Stop, outputs};
use record::exit;
use record::{Payload, Record, Serve, Status, load};
use runner::Interrupt;
use runner::child::{self, Ended, Program};

/// Where runs are until they are whole, below the folder of a search or sweep.
const PARTS: &str = "parts";

/// What failed requests say where this machine, and not the server, had no more files or ports.
const OF_THE_CLIENT: [&str; 2] = ["os error 24", "os error 99"];

/// What begins the line in which a run says where its folder is, which here gets another name when it is whole.
const RESULT: &str = "result: ";

/// What begins a program's last words where it failed.
const ERROR: &str = "error: ";

/// Begins a folder with these settings, or finds that it holds the very same; says whether it does.
///
/// # Errors
/// The folder holds other settings, or something else, or cannot be written.
pub(crate) fn keep(folder: &Path, file: &str, settings: &[u8]) -> Result<bool, Stop> {
    let (path, name) = (folder.join(file), folder.display());
    let other = "choose another folder with --out";
    match bounded::read(&path, bounded::SETTINGS) {
        Ok(kept) if kept == settings => return Ok(true),
        Ok(_) => {
            return Err(Stop::Usage(format!(
                "{name} holds results of other settings ({file} there differs); {other}"
            )));
        }
        Err(_) => {}
    }
    let taken = folder.read_dir();
    if taken.is_ok_and(|mut entries| entries.next().is_some()) {
        let reason = format!("{name} holds something else; {other}");
        return Err(Stop::Usage(reason));
    }
    outputs::make_folder("--out", folder)?;
    record::write_whole(&path, settings).map_err(anyhow::Error::from)?;
    Ok(false)
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

/// The code of why a run says nothing about the server, because the load generator was the limit.
pub(crate) fn of_client(serve: &Serve) -> Option<&str> {
    let client = serve.client.as_ref();
    if let Some(code) = client.and_then(|client| client.invalid.first()) {
        return Some(code);
    }
    let mut errors = serve.requests.iter().filter_map(|one| one.error.as_ref());
    let is_own = errors.any(|error| OF_THE_CLIENT.iter().any(|own| error.seen.contains(own)));
    is_own.then_some("client-out-of-files")
}

/// Runs a load with these flags into `folder`, which is below `above`; its words go to the end of `log`. Gives the record, or how the
/// run ended that left none.
///
/// # Errors
/// A signal came, a flag is wrong, or it cannot be started or kept.
pub(crate) fn measure(
    above: &Path,
    folder: &Path,
    flags: Vec<String>,
    log: &Path,
    interrupt: &Interrupt,
) -> Result<Result<Record, String>, Stop> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let parts = above.join(PARTS);
    if let Some(whole) = left(&parts, &name) {
        return adopt(&whole, folder).map(Ok);
    }
    for needed in [Some(parts.as_path()), folder.parent()]
        .into_iter()
        .flatten()
    {
        record::private::make_folders(needed)
            .with_context(|| format!("cannot make the folder {}", needed.display()))?;
    }
    let part = part(&parts, &name);
    let mut arguments = flags;
    arguments.extend(["--out".to_owned(), part.display().to_string()]);
    let is_kept = |line: &str| !line.starts_with(RESULT);
    let program = Program {
        name: &name,
        command: "serve run",
        arguments: &arguments,
        environment: &[],
        log,
        is_kept,
        grows: &part.join("journal.jsonl"),
        deadline: crate::study::load::LOAD_DEADLINE,
    };
    let (code, last) = match child::run(&program, interrupt)? {
        Ended::Stalled(silence) => {
            return Err(Stop::Refused(silence.kind().of(silence.to_string())));
        }
        Ended::Interrupted(signal) => return Err(Stop::Interrupted(signal)),
        Ended::Exit { .. } if complete(&part).is_some() => {
            let record = adopt(&part, folder)?;
            tell(log, folder);
            return Ok(Ok(record));
        }
        Ended::Exit { code, last } => (code, last),
    };
    // Whoever passes it on says that it is an error.
    let last = last.strip_prefix(ERROR).unwrap_or(&last);
    let (log, above) = (log.display(), above.display());
    let reason = format!(
        "{name} ended with exit code {code}: {last} (all of it is in {log}); what is done in {above} is kept, the same command resumes there"
    );
    match code {
        // A wrong flag would fail in every run.
        exit::USAGE => Err(Stop::Usage(reason)),
        exit::INTERNAL => Err(Stop::Internal(anyhow!(reason))),
        _ => Ok(Err(reason)),
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
