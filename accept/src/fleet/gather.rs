//! Reports as a fleet needs them: of each only its head, what speaks against it, and its figures as numbers. They are read a few at a
//! time, so that a thousand of them do not stand in memory together.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use measure::control;

use super::find::Found;
use crate::bounded;
use crate::figures::figures;
use crate::outputs::NODE_WITHHELD;
use crate::report::{BoxVerdict, Fingerprint, Report, RunStatus, Side, Verdict};
use crate::run::written;

/// Readers at once, at most.
const READERS: usize = 8;
/// Figures of one report; 8 devices have about 200.
const MOST_FIGURES: usize = 20_000;
/// Checks that are told of a box that was not accepted.
const MOST_REASONS: usize = 5;
/// Characters that are kept of a text of others.
const MOST_CHARACTERS: usize = 300;
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
}

/// Boxes that can be judged beside each other.
#[derive(Debug)]
pub(super) struct Group {
    /// Name and sha256 of the profile.
    pub(super) profile: (String, String),
    /// What is equal in all of them.
    pub(super) fingerprint: Fingerprint,
    /// The soft box that they are of.
    pub(super) soft_box: Option<String>,
    /// The boxes, by name.
    pub(super) boxes: Vec<Member>,
}

/// A box.
#[derive(Debug)]
pub(super) struct Member {
    /// Where its report is.
    pub(super) path: String,
    /// Its name; where it is withheld, with the folder of its report.
    pub(super) node: String,
    /// Whether it has a name of its own.
    pub(super) is_named: bool,
    /// When its run began.
    pub(super) started: String,
    /// Its verdict.
    pub(super) verdict: BoxVerdict,
    /// What speaks against it; empty where it was accepted.
    pub(super) reasons: Vec<String>,
    /// Its devices.
    pub(super) devices: Vec<Device>,
    /// Its figures.
    pub(super) figures: Vec<Value>,
}

/// A device of a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Device {
    /// Such as `GPU0`.
    pub(super) label: String,
    /// Its slot.
    pub(super) slot: Option<String>,
    /// UUID or serial, or a stand-in.
    pub(super) identity: Option<String>,
}

/// What a figure is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Kind {
    /// Key of the check.
    pub(super) check: String,
    /// What was measured.
    pub(super) what: String,
    /// Its unit.
    pub(super) unit: String,
}

/// A figure of a box.
#[derive(Debug, Clone)]
pub(super) struct Value {
    /// What it is.
    pub(super) kind: Kind,
    /// What it is about: labels of devices.
    pub(super) about: Vec<String>,
    /// What its limit was worked out of, which is equal where devices are alike; `None` without a limit.
    pub(super) class: Option<String>,
    /// Where a good one lies.
    pub(super) good: Side,
    /// The median.
    pub(super) value: f64,
    /// How many samples stand behind it.
    pub(super) n: usize,
}

/// What a file turned out to be.
enum Read {
    /// A report: its group's name, head and box.
    Report(Box<(String, Group)>),
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
    let mut fleet = Fleet::default();
    for (path, error) in &found.unlisted {
        fleet.unreadable.push((shown(path), error.clone()));
    }
    let mut groups: HashMap<String, Group> = HashMap::new();
    each(&found.files, |path, read| match read {
        Read::Other => fleet.passed_over += 1,
        Read::Unreadable(why) => fleet.unreadable.push((shown(path), why)),
        Read::Report(report) => {
            let (key, alone) = *report;
            match groups.get_mut(&key) {
                Some(group) => group.boxes.extend(alone.boxes),
                None => drop(groups.insert(key, alone)),
            }
        }
    });
    fleet.groups = groups.into_values().collect();
    fleet.unreadable.sort();
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
    if fleet.groups.is_empty() && fleet.unreadable.is_empty() {
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
    match written(path) {
        Err(error) => Read::Unreadable(cut(&error)),
        Ok(report) => match digest(path, &report) {
            Ok(digested) => Read::Report(Box::new(digested)),
            Err(why) => Read::Unreadable(why),
        },
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

/// What a fleet needs of a report: the name of its group, and the group with it alone.
fn digest(path: &Path, report: &Report) -> Result<(String, Group), String> {
    let values: Vec<Value> = figures(report)
        .take(MOST_FIGURES + 1)
        .map(|figure| Value {
            kind: Kind {
                check: cut(&figure.check.kind),
                what: cut(figure.what),
                unit: figure.unit.to_owned(),
            },
            about: figure.check.about.iter().map(|about| cut(about)).collect(),
            class: figure.check.limit.as_ref().map(|limit| cut(&limit.basis)),
            good: figure.good,
            value: figure.value,
            n: figure.n,
        })
        .collect();
    if values.len() > MOST_FIGURES {
        return Err(format!(
            "it has more than {MOST_FIGURES} figures, which no report of ours has"
        ));
    }
    let soft_box = report.simulated.as_ref().map(|soft| cut(&soft.box_name));
    let node = &report.node;
    let key = format!(
        "{:?}",
        (&soft_box, &report.profile.sha256, &node.fingerprint)
    );
    let is_named = node.name != NODE_WITHHELD;
    let member = Member {
        path: shown(path),
        node: match path.parent().and_then(Path::file_name) {
            Some(folder) if !is_named => {
                cut(&format!("{} ({})", node.name, folder.to_string_lossy()))
            }
            _ => cut(&node.name),
        },
        is_named,
        started: cut(&report.started),
        verdict: report.verdict,
        reasons: reasons(report),
        devices: report.devices.iter().map(device).collect(),
        figures: values,
    };
    let group = Group {
        profile: (cut(&report.profile.name), cut(&report.profile.sha256)),
        fingerprint: cleaned(&node.fingerprint),
        soft_box,
        boxes: vec![member],
    };
    Ok((key, group))
}

fn device(device: &crate::report::ReportDevice) -> Device {
    Device {
        label: cut(&device.label),
        slot: device.slot.as_deref().map(cut),
        identity: device.identity.as_deref().map(cut),
    }
}

/// What speaks against a box: how its run ended, and its checks that failed or were not told.
fn reasons(report: &Report) -> Vec<String> {
    if matches!(
        report.verdict,
        BoxVerdict::Accepted | BoxVerdict::AcceptedWithWarnings
    ) {
        return Vec::new();
    }
    let ended = match &report.status {
        RunStatus::Complete => None,
        RunStatus::Interrupted { signal } => Some(format!("the run was ended by {signal}")),
        RunStatus::Broken => Some("the run was broken off".to_owned()),
        RunStatus::Failed { reason } => Some(reason.clone()),
    };
    let mut against: Vec<_> = report
        .checks
        .iter()
        .filter(|check| check.required && speaks_against(check))
        .collect();
    against.sort_by_key(|check| check.verdict != Verdict::Fail);
    let more = against.len().saturating_sub(MOST_REASONS);
    let told = against.iter().take(MOST_REASONS);
    let told = told.map(|check| {
        format!(
            "{}: {}: {}",
            check.id,
            check.reason.code.word(),
            check.reason.text
        )
    });
    let more = (more > 0).then(|| format!("and {more} more"));
    ended
        .into_iter()
        .chain(told)
        .chain(more)
        .map(|text| cut(&text))
        .collect()
}

fn speaks_against(check: &crate::report::Check) -> bool {
    use crate::report::ReasonCode::NotApplicable;
    match check.verdict {
        Verdict::Fail | Verdict::Inconclusive => true,
        Verdict::Skip => check.reason.code != NotApplicable,
        Verdict::Pass | Verdict::Warn => false,
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

fn cleaned(fingerprint: &Fingerprint) -> Fingerprint {
    let word = |word: &Option<String>| word.as_deref().map(cut);
    Fingerprint {
        backend: cut(&fingerprint.backend),
        devices: fingerprint.devices.iter().map(|name| cut(name)).collect(),
        driver: word(&fingerprint.driver),
        interface: word(&fingerprint.interface),
        collectives: word(&fingerprint.collectives),
        kernel: word(&fingerprint.kernel),
        cpu: word(&fingerprint.cpu),
        topology: word(&fingerprint.topology),
        max_payload_bytes: fingerprint.max_payload_bytes.clone(),
    }
}

/// A path as it may be shown.
fn shown(path: &Path) -> String {
    control::replaced(&path.display().to_string())
}

/// A text of others: without control characters, and not too long.
fn cut(text: &str) -> String {
    let mut kept: String = text.chars().take(MOST_CHARACTERS).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    control::replaced(&kept)
}
