//! The reports below the named files and folders, the latest of each machine, in groups of machines alike.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::documents::NODE_WITHHELD;
use crate::figures::figures;
use crate::report::{self, BoxVerdict, Fingerprint, REPORT_FILE, Report, RunStatus, Side, Verdict};
use crate::run::JOURNAL_FILE;

/// How many levels of folders are searched below a named one.
const DEPTH: usize = 3;

/// Reasons of a machine that was not accepted, at most.
const MOST_REASONS: usize = 5;

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) groups: Vec<Group>,
    /// Files that cannot be read, and runs that left no report.
    pub(super) unreadable: Vec<Unreadable>,
    /// Reports of earlier runs of a machine.
    pub(super) superseded: usize,
}

/// A file without a usable report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Unreadable {
    pub(crate) path: String,
    pub(crate) detail: String,
}

/// Machines that are compared with each other: of one profile, with the same devices, drivers and topology.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) profile: String,
    pub(super) fingerprint: Fingerprint,
    pub(super) simulated: Option<String>,
    pub(super) members: Vec<Member>,
}

/// A machine by its latest report.
#[derive(Debug, Clone, Default)]
pub(super) struct Member {
    pub(super) path: String,
    pub(super) node: String,
    pub(super) started: String,
    pub(super) verdict: Option<BoxVerdict>,
    /// The checks that speak against it.
    pub(super) reasons: Vec<String>,
    /// Slots by label.
    pub(super) slots: BTreeMap<String, String>,
    pub(super) identities: Vec<String>,
    pub(super) figures: Vec<Value>,
}

/// What a figure is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) check: String,
    pub(super) what: String,
    pub(super) unit: String,
}

/// A figure of a machine.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub(super) kind: Kind,
    pub(super) about: Vec<String>,
    /// What its limit rests on, such as the link: places of one class are alike.
    pub(super) class: Option<String>,
    pub(super) good: Side,
    pub(super) value: f64,
}

/// Reads all reports.
///
/// # Errors
/// Where there is none, or simulated ones stand beside real ones.
pub(super) fn gather(named: &[PathBuf]) -> Result<Gathered, String> {
    let mut gathered = Gathered::default();
    let mut files = Vec::new();
    for path in named {
        match fs::metadata(path) {
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
            Ok(found) if found.is_dir() => search(path, DEPTH, &mut files, &mut gathered),
            Ok(_) => files.push(path.clone()),
        }
    }
    files.sort();
    files.dedup();
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for file in files {
        match report::read(&file) {
            Ok(report) => add(&mut groups, &file, &report),
            Err(error) => gathered.lack(&file, &error.to_string()),
        }
    }
    if groups.is_empty() && gathered.unreadable.is_empty() {
        return Err("there is no report of accept; name the folder of the runs".to_owned());
    }
    gathered.groups = groups.into_values().collect();
    let is_simulated = |group: &Group| group.simulated.is_some();
    if gathered.groups.iter().any(is_simulated) && !gathered.groups.iter().all(is_simulated) {
        return Err("some reports are simulated and some are not; name them apart".to_owned());
    }
    for group in &mut gathered.groups {
        gathered.superseded += keep_latest(&mut group.members);
    }
    gathered.unreadable.sort();
    Ok(gathered)
}

impl Gathered {
    fn lack(&mut self, path: &Path, detail: &str) {
        self.unreadable.push(Unreadable {
            path: shown(path),
            detail: record::control::replaced(detail),
        });
    }
}

/// The reports of a folder: that of its own run, else those of the folders below.
fn search(folder: &Path, depth: usize, files: &mut Vec<PathBuf>, gathered: &mut Gathered) {
    let report = folder.join(REPORT_FILE);
    let has_journal = folder.join(JOURNAL_FILE).exists();
    if report.exists() {
        files.push(report);
        return;
    }
    if has_journal {
        gathered.lack(folder, "its run has no report: resume it with --resume");
        return;
    }
    let listed = fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let entries = match listed {
        Ok(entries) => entries,
        Err(error) => return gathered.lack(folder, &error.to_string()),
    };
    let paths = entries.iter().map(fs::DirEntry::path);
    for path in paths.filter(|path| path.is_dir()) {
        match depth {
            0 => gathered.lack(&path, "too deep to be searched: name it"),
            _ => search(&path, depth - 1, files, gathered),
        }
    }
}

fn shown(path: &Path) -> String {
    record::control::replaced(&path.display().to_string())
}

fn add(groups: &mut BTreeMap<String, Group>, path: &Path, report: &Report) {
    let simulated = report.simulated.as_ref().map(|soft| soft.box_name.clone());
    let fingerprint = &report.node.fingerprint;
    let key = format!("{:?}", (&report.profile.sha256, &simulated, fingerprint));
    let group = groups.entry(key).or_insert_with(|| Group {
        profile: record::control::replaced(&report.profile.name),
        fingerprint: fingerprint.clone(),
        simulated,
        members: Vec::new(),
    });
    group.members.push(member(path, report));
}

fn member(path: &Path, report: &Report) -> Member {
    let values = figures(report).map(|figure| Value {
        kind: Kind {
            check: figure.check.kind.clone(),
            what: figure.what.to_owned(),
            unit: figure.unit.to_owned(),
        },
        about: figure.check.about.clone(),
        class: figure.check.limit.as_ref().map(|limit| limit.basis.clone()),
        good: figure.good,
        value: figure.value,
    });
    let name = record::control::replaced(report.node.called());
    let folder = path.parent().and_then(Path::file_name);
    let slot = |device: &report::ReportDevice| Some((device.label.clone(), device.slot.clone()?));
    let identities = report.devices.iter();
    Member {
        path: shown(path),
        node: match folder {
            Some(folder) if report.node.called() == NODE_WITHHELD => shown(Path::new(folder)),
            _ => name,
        },
        started: report.started.clone(),
        verdict: Some(report.verdict),
        reasons: reasons(report),
        slots: report.devices.iter().filter_map(slot).collect(),
        identities: identities
            .filter_map(|device| device.identity.clone())
            .collect(),
        figures: values.collect(),
    }
}

/// The required checks without a good result, and how the run ended where it was not by itself.
fn reasons(report: &Report) -> Vec<String> {
    if report.verdict.exit_code() == record::exit::DONE {
        return Vec::new();
    }
    let ended = match &report.status {
        RunStatus::Complete => None,
        RunStatus::Interrupted { signal } => Some(format!("ended by {signal}")),
        RunStatus::Broken => Some("the run did not end".to_owned()),
        RunStatus::Failed { reason } => Some(record::control::replaced(reason)),
    };
    let mut against: Vec<_> = report
        .checks
        .iter()
        .filter(|check| check.required && (check.verdict == Verdict::Fail || check.is_open()))
        .collect();
    against.sort_by_key(|check| check.verdict != Verdict::Fail);
    let against = against.iter().take(MOST_REASONS);
    let against = against.map(|check| {
        let id = record::control::replaced(&check.id);
        format!("{id} [{}]", check.reason.code.code())
    });
    ended.into_iter().chain(against).collect()
}

/// Keeps the latest report of each machine that something identifies, and counts the others.
fn keep_latest(members: &mut Vec<Member>) -> usize {
    members.sort_by(|one, other| one.started.cmp(&other.started));
    let mut kept: Vec<Member> = Vec::new();
    let before = members.len();
    for member in std::mem::take(members) {
        let is_same = |other: &&mut Member| {
            other.identities == member.identities
                && (!member.identities.is_empty() || other.path == member.path)
                && other.node == member.node
        };
        match kept.iter_mut().find(is_same) {
            Some(earlier) => *earlier = member,
            None => kept.push(member),
        }
    }
    kept.sort_by(|one, other| one.path.cmp(&other.path));
    *members = kept;
    before - members.len()
}
