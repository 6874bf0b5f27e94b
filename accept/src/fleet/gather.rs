//! The files of a fleet, read a few at a time, so that a thousand reports do not stand in memory together: which are reports, which belong
//! together, and which runs of a box are left out.
//!
//! What is kept of a report is in `member`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use super::find::Found;
use super::member::{Group, Member, cut, digest, shown};
use crate::outputs::redacted;
use crate::report::{BoxVerdict, Report, RunStatus};
use crate::run::{JOURNAL_FILE, told, written};

/// Readers at once, at most.
const READERS: usize = 8;
/// Bytes in which a report says who wrote it.
const HEAD: u64 = 4096;

/// A fleet as it was read.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    /// Boxes of one profile and one fingerprint; sorted.
    pub(super) groups: Vec<Group>,
    /// Files that are, or claim to be, reports and cannot be read, and why; sorted.
    pub(super) unreadable: Vec<(String, String)>,
    /// Files that another program wrote.
    pub(super) passed_over: usize,
    /// Reports of a box of which there is a later one.
    pub(super) superseded: Vec<String>,
    /// Copies of a report that is there already.
    pub(super) copies: Vec<String>,
    /// Reports of runs that looked at no device, and why; sorted. They are of no box, soft or real.
    pub(super) without_devices: Vec<(String, String)>,
    /// How many reports have no journal beside them.
    pub(super) alone: usize,
    /// Folders that lie too deep to be searched.
    pub(super) too_deep: Vec<String>,
}

/// Whether a report has no journal beside it.
type IsAlone = bool;

/// What a file turned out to be.
enum Read {
    /// A report: its group's name, head and box.
    Report(Box<(String, Group)>, IsAlone),
    /// A report of a run that looked at no device, and why it did not.
    WithoutDevices(String, IsAlone),
    /// A file of another program.
    Other,
    /// Not readable.
    Unreadable(String),
}

/// Reads all files.
///
/// # Errors
/// Reports of soft boxes and of real ones are among them, or no file is a report.
pub(super) fn gather(found: &Found) -> Result<Fleet, String> {
    let mut fleet = Fleet {
        too_deep: found.too_deep.iter().map(|path| shown(path)).collect(),
        ..Fleet::default()
    };
    for (path, error) in &found.unlisted {
        fleet.unreadable.push((shown(path), error.clone()));
    }
    let mut groups: HashMap<String, Group> = HashMap::new();
    each(&found.files, |path, read| match read {
        Read::Other => fleet.passed_over += 1,
        Read::Unreadable(why) => fleet.unreadable.push((shown(path), why)),
        Read::WithoutDevices(why, is_alone) => {
            fleet.alone += usize::from(is_alone);
            fleet.without_devices.push((shown(path), why));
        }
        Read::Report(report, is_alone) => {
            fleet.alone += usize::from(is_alone);
            let (key, one) = *report;
            match groups.get_mut(&key) {
                Some(group) => group.boxes.extend(one.boxes),
                None => drop(groups.insert(key, one)),
            }
        }
    });
    fleet.groups = groups.into_values().collect();
    fleet.unreadable.sort();
    fleet.without_devices.sort();
    not_mixed(&fleet.groups)?;
    for group in &mut fleet.groups {
        keep_latest(&mut group.boxes, &mut fleet.superseded, &mut fleet.copies);
    }
    fleet.copies.sort();
    fleet.superseded.sort();
    fleet.groups.sort_by_cached_key(|group| {
        (
            group.profile.clone(),
            format!("{:?}", group.fingerprint),
            group.soft_box.clone(),
        )
    });
    if fleet.groups.is_empty() && fleet.unreadable.is_empty() && fleet.without_devices.is_empty() {
        return Err(
            "no file is a report of accept; name the folder that holds the runs' folders"
                .to_owned(),
        );
    }
    Ok(fleet)
}

/// Reads files on some threads and hands each result over on this one, in any order.
fn each(files: &[(std::path::PathBuf, bool)], mut take: impl FnMut(&Path, Read)) {
    let next = AtomicUsize::new(0);
    let readers = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(READERS);
    let (sender, receiver) = sync_channel(readers);
    thread::scope(|scope| {
        for _ in 0..readers {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some((path, claims)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if sender.send((path, one(path, *claims))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (path, read) in receiver {
            take(path, read);
        }
    });
}

/// Reads one file. One that was found, and says that another program wrote it, is no report; what says nothing may be a broken one.
fn one(path: &Path, claims: bool) -> Read {
    if !claims && bounded::head(path, HEAD).is_ok_and(|head| is_of_another(&head)) {
        return Read::Other;
    }
    if path.is_dir() {
        return without_report(path);
    }
    match written(path) {
        Err(error) => Read::Unreadable(cut(&error)),
        // A box that is rejected is one, whatever else its report lacks.
        Ok(written)
            if written.report.devices.is_empty()
                && written.report.verdict != BoxVerdict::Rejected =>
        {
            Read::WithoutDevices(cut(&why_no_device(&written.report)), written.is_alone)
        }
        Ok(written) => match digest(path, &written.report) {
            Ok(digested) => Read::Report(Box::new(digested), written.is_alone),
            Err(why) => Read::Unreadable(why),
        },
    }
}

/// The run of a folder that has a journal and no report: one that did not end is told as that, unless its journal rejects the box.
fn without_report(folder: &Path) -> Read {
    const WHY: &str = "its run did not end: there is a journal and no report; `accept run --resume` goes on with it";
    let journal = folder.join(JOURNAL_FILE);
    let is_told = |report: &Report| {
        report.status == RunStatus::Complete || report.verdict == BoxVerdict::Rejected
    };
    match told(&journal) {
        Ok(written) if is_told(&written.report) => {
            match digest(&journal, &redacted(written.report, false)) {
                Ok(digested) => Read::Report(Box::new(digested), written.is_alone),
                Err(why) => Read::Unreadable(why),
            }
        }
        _ => Read::Unreadable(WHY.to_owned()),
    }
}

/// Why a run looked at no device.
fn why_no_device(report: &Report) -> String {
    match &report.status {
        RunStatus::Failed { reason } => reason.clone(),
        RunStatus::Interrupted { signal } => format!("it was ended by {signal} before"),
        RunStatus::Complete | RunStatus::Broken => "it names none".to_owned(),
    }
}

/// How a report begins, without spaces.
const BEGINNING: &str = "{\"schema\":";

/// Whether the head of a file names a program that is not this one, or is JSON that does not begin as a report. What is empty, torn
/// or no JSON may have been a report, and is not passed over.
fn is_of_another(head: &[u8]) -> bool {
    let text: String = String::from_utf8_lossy(head).split_whitespace().collect();
    match text.split_once("\"program\":\"") {
        Some((_, rest)) => !rest.starts_with("accept\""),
        None => {
            text.starts_with(['{', '['])
                && !text.starts_with(BEGINNING)
                && !BEGINNING.starts_with(&text)
        }
    }
}

/// Simulated figures and real ones never stand beside each other.
fn not_mixed(groups: &[Group]) -> Result<(), String> {
    let first = |soft: bool| {
        let of = groups
            .iter()
            .filter(|group| group.soft_box.is_some() == soft);
        of.flat_map(|group| &group.boxes)
            .map(|member| member.path.as_str())
            .min()
    };
    match (first(true), first(false)) {
        (Some(soft), Some(real)) => Err(format!(
            "{soft} is of a soft box and {real} is of real hardware; judge them apart"
        )),
        _ => Ok(()),
    }
}

/// Of several runs of one box only the latest counts, and of copies of one run only one. A box that nothing identifies is none of the
/// others, however alike their reports are.
fn keep_latest(boxes: &mut Vec<Member>, superseded: &mut Vec<String>, copies: &mut Vec<String>) {
    boxes.sort_by(|one, other| {
        let key = |member: &Member| {
            (
                member.node.clone(),
                identities(member),
                member.started.clone(),
                member.path.clone(),
            )
        };
        key(one).cmp(&key(other))
    });
    let mut kept: Vec<Member> = Vec::new();
    for member in std::mem::take(boxes) {
        match kept.last_mut() {
            Some(before)
                if before.node == member.node
                    && identities(before) == identities(&member)
                    && (is_known(before) || is_copy(before, &member)) =>
            {
                let same = is_copy(before, &member);
                let left_out = std::mem::replace(before, member).path;
                if same { &mut *copies } else { &mut *superseded }.push(left_out);
            }
            _ => kept.push(member),
        }
    }
    // Told and drawn in the order of their folders.
    kept.sort_by(|one, other| one.path.cmp(&other.path));
    *boxes = kept;
}

/// Whether a box is known by its name or a device of it.
fn is_known(member: &Member) -> bool {
    member.is_named || identities(member).iter().any(Option::is_some)
}

/// Whether two reports are of one run: begun in the same second, and with the same figures, of which there are some.
fn is_copy(one: &Member, other: &Member) -> bool {
    let figures = |member: &Member| -> Vec<f64> {
        member.figures.iter().map(|figure| figure.value).collect()
    };
    one.started == other.started && !one.figures.is_empty() && figures(one) == figures(other)
}

fn identities(member: &Member) -> Vec<Option<String>> {
    member
        .devices
        .iter()
        .map(|device| device.identity.clone())
        .collect()
}
