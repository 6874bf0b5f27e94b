//! Reports as a fleet needs them: of each only its head, what speaks against it, and its figures as numbers. Texts of others are cleaned and
//! cut here.
//!
//! Nothing is read and nothing compared.

use std::path::Path;

use measure::control;

use crate::figures::figures;
use crate::outputs::NODE_WITHHELD;
use crate::report::{BoxVerdict, Fingerprint, Report, RunStatus, Side, Verdict};

/// Figures of one report; 8 devices have about 200.
const MOST_FIGURES: usize = 20_000;
/// Checks that are told of a box that was not accepted.
const MOST_REASONS: usize = 5;
/// Characters that are kept of a text of others.
const MOST_CHARACTERS: usize = 300;

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

/// What a fleet needs of a report: the name of its group, and the group with it alone.
pub(super) fn digest(path: &Path, report: &Report) -> Result<(String, Group), String> {
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
pub(super) fn shown(path: &Path) -> String {
    control::replaced(&path.display().to_string())
}

/// A text of others: without control characters, and not too long.
pub(super) fn cut(text: &str) -> String {
    let mut kept: String = text.chars().take(MOST_CHARACTERS).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    control::replaced(&kept)
}
