//! The reports below the named files and folders, the latest of each machine, in groups of machines alike.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use record::control::replaced;
use record::exit;

use super::judge::{Fleet, Group, Node, Place, Unreadable};
use crate::compare::figures;
use crate::documents::NODE_WITHHELD;
use crate::report::{Check, REPORT_FILE, Report, RunStatus, Verdict};
use crate::run::JOURNAL;

/// How many levels of folders are searched below a named one.
const DEPTH: usize = 3;

/// Reasons of a machine that was not accepted, at most.
const MOST_REASONS: usize = 5;

/// Reads all reports.
///
/// # Errors
/// Where there is none, or simulated ones stand beside real ones.
pub(super) fn gather(named: &[PathBuf], expected: Option<usize>) -> Result<Fleet, String> {
    let mut fleet = Fleet {
        schema: 2,
        program: "accept fleet",
        expected,
        ..Fleet::default()
    };
    let mut files = Vec::new();
    for path in named {
        match fs::metadata(path) {
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
            Ok(found) if found.is_dir() => search(path, DEPTH, &mut files, &mut fleet),
            Ok(_) => files.push(path.clone()),
        }
    }
    files.sort();
    files.dedup();
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for file in files {
        match Report::read(&file) {
            Ok(report) => add(&mut groups, &file, &report),
            Err(error) => fleet.lack(&file, &format!("{error:#}")),
        }
    }
    if groups.is_empty() && fleet.unreadable.is_empty() {
        return Err("there is no report of accept; name the folder of the runs".to_owned());
    }
    fleet.groups = groups.into_values().collect();
    let simulated = fleet.groups.iter().map(|group| group.simulated.clone());
    let simulated: BTreeSet<Option<String>> = simulated.collect();
    if simulated.len() > 1 && simulated.contains(&None) {
        return Err("some reports are simulated and some are not; name them apart".to_owned());
    }
    let simulated: Vec<String> = simulated.into_iter().flatten().collect();
    fleet.simulated = (!simulated.is_empty()).then(|| simulated.join(", "));
    for group in &mut fleet.groups {
        fleet.superseded += keep_latest(&mut group.nodes);
    }
    fleet.unreadable.sort();
    Ok(fleet)
}

impl Fleet {
    fn lack(&mut self, path: &Path, detail: &str) {
        let (path, detail) = (shown(path), replaced(detail));
        self.unreadable.push(Unreadable { path, detail });
    }
}

/// The reports of a folder: that of its own run, else those of the folders below.
fn search(folder: &Path, depth: usize, files: &mut Vec<PathBuf>, fleet: &mut Fleet) {
    let report = folder.join(REPORT_FILE);
    if report.exists() {
        files.push(report);
        return;
    }
    if folder.join(JOURNAL).exists() {
        return fleet.lack(folder, "its run has no report: resume it with --resume");
    }
    let listed = fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let entries = match listed {
        Ok(entries) => entries,
        Err(error) => return fleet.lack(folder, &error.to_string()),
    };
    let paths = entries.iter().map(fs::DirEntry::path);
    for path in paths.filter(|path| path.is_dir()) {
        match depth {
            0 => fleet.lack(&path, "too deep to be searched: name it"),
            _ => search(&path, depth - 1, files, fleet),
        }
    }
}

fn add(groups: &mut BTreeMap<String, Group>, path: &Path, report: &Report) {
    let simulated = report.simulated().map(str::to_owned);
    let fingerprint = &report.node.fingerprint;
    let key = format!("{:?}", (&report.profile.sha256, &simulated, fingerprint));
    let group = groups.entry(key).or_insert_with(|| Group {
        profile: replaced(&report.profile.name),
        fingerprint: fingerprint.clone(),
        simulated,
        ..Group::default()
    });
    group.nodes.push(node(path, report));
}

fn node(path: &Path, report: &Report) -> Node {
    let figures = figures(report).map(|figure| {
        let check = figure.check;
        let place = Place {
            check: check.kind.clone(),
            what: figure.what.to_owned(),
            unit: figure.unit.to_string(),
            more_is_better: figure.unit.more_is_better(),
            about: check.about.clone(),
            class: check.limit.as_ref().map(|limit| limit.basis.clone()),
        };
        (place, figure.value)
    });
    let folder = path.parent().and_then(Path::file_name);
    Node {
        node: match folder {
            Some(folder) if report.node.called() == NODE_WITHHELD => shown(Path::new(folder)),
            _ => replaced(report.node.called()),
        },
        report: shown(path),
        verdict: report.verdict,
        reasons: reasons(report).collect(),
        outliers: 0,
        started: report.started.clone(),
        devices: report.devices.clone(),
        figures: figures.collect(),
    }
}

/// How the run ended where it was not by itself, and the required checks without a good result; none of a machine that was accepted.
fn reasons(report: &Report) -> impl Iterator<Item = String> {
    let ended = match &report.status {
        RunStatus::Complete => None,
        RunStatus::Interrupted { signal } => Some(format!("ended by {signal}")),
        RunStatus::Broken => Some("the run did not end".to_owned()),
        RunStatus::Failed { reason } => Some(replaced(reason)),
    };
    let is_against = |check: &&Check| check.verdict == Verdict::Fail || check.is_open();
    let required = report.checks.iter().filter(|check| check.required);
    let mut against: Vec<&Check> = required.filter(is_against).collect();
    against.sort_by_key(|check| check.verdict != Verdict::Fail);
    let named = |check: &Check| format!("{} [{}]", replaced(&check.id), check.reason.code.code());
    let against = against.into_iter().take(MOST_REASONS).map(named);
    let is_accepted = report.verdict.exit_code() == exit::DONE;
    let all = ended.into_iter().chain(against);
    all.filter(move |_| !is_accepted)
}

/// Keeps the latest report of each machine that something identifies, and counts the others.
fn keep_latest(nodes: &mut Vec<Node>) -> usize {
    nodes.sort_by(|one, other| one.started.cmp(&other.started));
    let before = nodes.len();
    let kept = std::mem::take(nodes).into_iter().map(|node| {
        let devices = node.devices.iter();
        let identities = devices.filter_map(|device| device.identity.clone());
        let identities: Vec<String> = identities.collect();
        let alone = identities.is_empty().then(|| node.report.clone());
        ((node.node.clone(), identities, alone), node)
    });
    let kept: BTreeMap<_, Node> = kept.collect();
    *nodes = kept.into_values().collect();
    nodes.sort_by(|one, other| one.report.cmp(&other.report));
    before - nodes.len()
}

fn shown(path: &Path) -> String {
    replaced(&path.display().to_string())
}
