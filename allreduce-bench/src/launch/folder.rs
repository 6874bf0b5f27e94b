//! The folder in which the copies of one job find each other: where it is, whose it is, and files in it that are written whole.
//!
//! Anything in it that does not belong to this user is refused: the id of a communicator lets its holder join.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use measure::private::make_new_folder;
use program::{Stop, provenance};
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::args::LaunchArgs;
use super::place::Place;
use super::post::Pulse;
use super::words::Call;

/// The file with the [`Call`].
const CALL: &str = "leader";

/// For how long the counter of an earlier leader is watched; one that lives moves it each second.
const WATCH: Duration = Duration::from_millis(2500);

/// Letters of a job's name: a file's name has 255 bytes on Linux's file systems, and user and launcher stand in it as well.
const MOST_LETTERS: usize = 200;

/// Where the copies of this job meet.
///
/// # Errors
/// The ranks are on several hosts and no folder was named, or there is none of this name.
pub(super) fn meeting_place(place: &Place, args: &LaunchArgs) -> Result<PathBuf, Stop> {
    let base = match &args.rendezvous {
        Some(folder) if folder.is_dir() => folder.clone(),
        Some(folder) => {
            return Err(Stop::Usage(format!(
                "--rendezvous {}: there is no such folder; make it first, where all hosts of the job see it",
                folder.display()
            )));
        }
        None if place.several_hosts => {
            return Err(Stop::Usage(format!(
                "the ranks of {} are on several hosts: name a folder that all of them see with --rendezvous, or start all ranks \
                 on one host",
                place.launcher
            )));
        }
        None => std::env::temp_dir(),
    };
    // A launcher that does not name its jobs is told from others of its kind by its process, which a host shares.
    let job = match &place.job {
        job if !job.is_empty() => job.clone(),
        _ if place.several_hosts => "job".to_owned(),
        _ => format!("of-{}", std::os::unix::process::parent_id()),
    };
    // What names a job may do so on one host only, as torchrun's own defaults do: `none` at port 29500 of 127.0.0.1.
    let host = provenance::host().filter(|_| place.one_host);
    let job = [Some(job), host]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("-");
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    let job: String = job
        .chars()
        .map(|letter| if plain(letter) { letter } else { '_' })
        .take(MOST_LETTERS)
        .collect();
    let user = rustix::process::geteuid().as_raw();
    Ok(base.join(format!("tplens-{user}-{}-{job}", place.launcher)))
}

/// Makes the folder anew for a leader, and gives the folder of its run in it. What an earlier run left is removed.
///
/// # Errors
/// It belongs to somebody else, a run that lives uses it, or it cannot be made.
pub(super) fn begin(folder: &Path) -> Result<PathBuf, Stop> {
    let failed = |doing: &str, error: &io::Error| {
        Stop::Internal(anyhow!(
            "{doing} {}: {error}; name another folder with --rendezvous",
            folder.display()
        ))
    };
    match make_new_folder(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => made.map_err(|error| failed("making", &error))?,
    }
    check(folder)?;
    if let Ok(Some(earlier)) = read::<Call>(folder, CALL) {
        let mut pulse = Pulse::of(&folder.join(earlier.token), 0);
        let watched = Instant::now();
        while pulse.is_there() && watched.elapsed() < WATCH {
            std::thread::sleep(Duration::from_millis(100));
            if pulse.moved() {
                return Err(Stop::Usage(format!(
                    "another run uses {}; name another folder with --rendezvous",
                    folder.display()
                )));
            }
        }
    }
    clear(folder);
    let mut random = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut random))
        .map_err(|error| failed("naming a folder in", &error))?;
    let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let room = folder.join(&token);
    make_new_folder(&room).map_err(|error| failed("making a folder in", &error))?;
    Ok(room)
}

/// Tells followers which folder is this run's.
pub(super) fn call(folder: &Path, room: &Path) -> io::Result<()> {
    let token = room.file_name().unwrap_or_default();
    let token = token.to_string_lossy().into_owned();
    write(folder, CALL, &Call { token })
}

/// The folder of the run that a leader calls to, where there is one.
///
/// # Errors
/// The folder belongs to somebody else.
pub(super) fn called(folder: &Path) -> Result<Option<PathBuf>, Stop> {
    if fs::symlink_metadata(folder).is_err() {
        return Ok(None);
    }
    check(folder)?;
    let call = read::<Call>(folder, CALL).ok().flatten();
    // A token is a name, never a way out of the folder.
    let is_name = |call: &Call| call.token.chars().all(|letter| letter.is_ascii_hexdigit());
    let call = call.filter(is_name);
    Ok(call.map(|call| folder.join(call.token)))
}

/// What to say of a rank that was waited for in vain.
pub(super) fn did_not_come(rank: u32, waited: Duration, folder: &Path) -> String {
    format!(
        "rank {rank} did not come within {:.0} s; was it started, and is {} on a file system that all hosts see? name such a \
         folder with --rendezvous, or wait longer with --rendezvous-wait",
        waited.as_secs_f64(),
        folder.display()
    )
}

/// Removes what is in the folder; what cannot be removed has no say, because its token is another.
fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        drop(fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)));
    }
}

/// Removes a folder with all that is in it.
pub(super) fn remove(folder: &Path) {
    // A follower that writes at this moment makes the first attempt fail.
    for _ in 0..3 {
        if fs::remove_dir_all(folder).is_ok() {
            return;
        }
    }
}

/// Whether the folder is one, belongs to this user, and is open to nobody else.
fn check(folder: &Path) -> Result<(), Stop> {
    let shown = folder.display();
    let wrong = |why: String| {
        Err(Stop::Usage(format!(
            "{shown} {why}: ranks do not meet there; remove it, or name another folder with --rendezvous"
        )))
    };
    let found = match fs::symlink_metadata(folder) {
        Ok(found) => found,
        Err(error) => return wrong(format!("cannot be looked at ({error})")),
    };
    if !found.is_dir() {
        return wrong("is no folder".to_owned());
    }
    let user = rustix::process::geteuid().as_raw();
    if found.uid() != user {
        return wrong(format!("belongs to user {} and not to {user}", found.uid()));
    }
    let mode = found.mode() & 0o777;
    if mode & 0o077 != 0 {
        return wrong(format!("is open to others (mode {mode:o} instead of 700)"));
    }
    Ok(())
}

/// Writes a file whole or not at all.
pub(super) fn write(folder: &Path, name: &str, content: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(content)?;
    let hidden = folder.join(format!(".{name}.{}", std::process::id()));
    let mut options = OpenOptions::new();
    // A file of the same name that a killed process left is written anew, and never one behind a link.
    options.write(true).create(true).truncate(true).mode(0o600);
    options.custom_flags(flags());
    let written = options
        .open(&hidden)
        .and_then(|mut file| file.write_all(&text));
    let renamed = written.and_then(|()| fs::rename(&hidden, folder.join(name)));
    if renamed.is_err() {
        drop(fs::remove_file(&hidden));
    }
    renamed
}

/// Reads a file of this user; `None` where it is not there.
pub(super) fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> io::Result<Option<T>> {
    // A network file system asks its server again when a folder is opened and listed, and may answer from memory otherwise.
    let mut listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        listed => listed?,
    };
    if !listed.any(|entry| entry.is_ok_and(|entry| entry.file_name() == OsStr::new(name))) {
        return Ok(None);
    }
    let path = folder.join(name);
    let mut options = OpenOptions::new();
    let file = match options.read(true).custom_flags(flags()).open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let (owner, user) = (file.metadata()?.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        let shown = path.display();
        return Err(io::Error::other(format!(
            "{shown} belongs to user {owner} and not to {user}"
        )));
    }
    let text = bounded::all(file, bounded::SETTINGS)?;
    Ok(Some(serde_json::from_slice(&text)?))
}

/// Flags of every open: no file behind a link.
fn flags() -> i32 {
    OFlags::NOFOLLOW.bits().cast_signed()
}
