//! What a fleet came to, as it is printed, drawn and written as JSON.

use serde::Serialize;

use crate::report::{BoxVerdict, Fingerprint, Side};

/// Everything that a fleet came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Outcome {
    /// Version of this form.
    pub(crate) schema: u32,
    /// Always `accept fleet`.
    pub(crate) program: &'static str,
    /// The soft boxes behind the reports; with any of them nothing is of real hardware.
    pub(crate) simulated: Vec<String>,
    /// How many reports were read, those of an earlier run of a box too.
    pub(crate) reports: usize,
    /// Files that are, or claim to be, reports and could not be read.
    pub(crate) unreadable: Vec<Unreadable>,
    /// How many files of other programs were passed over.
    pub(crate) passed_over: usize,
    /// Reports of boxes of which there is a later one.
    pub(crate) superseded: Vec<String>,
    /// Copies of reports that were read.
    pub(crate) copies: Vec<String>,
    /// Runs that looked at no device, which are of no box, soft or real: the report, and why.
    pub(crate) without_devices: Vec<Unreadable>,
    /// Reports without a journal beside them, which are taken as they were handed on.
    pub(crate) without_journal: usize,
    /// Folders that lie too deep below those that were named, and were not searched.
    pub(crate) not_searched: Vec<String>,
    /// How many boxes were expected, where that was said.
    pub(crate) expected: Option<usize>,
    /// Boxes of one profile and fingerprint each; groups are not compared.
    pub(crate) groups: Vec<Group>,
    /// 0 all is well, 1 an outlier or a rejected box, 3 something is undecided or unreadable, or boxes as a whole could not be judged.
    pub(crate) exit_code: u8,
}

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Unreadable {
    /// The file or folder.
    pub(crate) path: String,
    /// Why.
    pub(crate) why: String,
}

/// Boxes that were judged beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Group {
    /// Name of the profile.
    pub(crate) profile: String,
    /// Its sha256.
    pub(crate) profile_sha256: String,
    /// What is equal in all of them.
    pub(crate) fingerprint: Fingerprint,
    /// The soft box that they are of.
    pub(crate) soft_box: Option<String>,
    /// How many boxes.
    pub(crate) boxes: usize,
    /// How many devices.
    pub(crate) devices: usize,
    /// How many boxes have the same place of a figure, at most.
    pub(crate) boxes_alike: usize,
    /// Whether these are enough to judge boxes as a whole; where not, none of them is cleared.
    pub(crate) whole_boxes_judged: bool,
    /// What each box is called in a picture, in the order of their folders.
    #[serde(skip)]
    pub(crate) names: Vec<String>,
    /// Boxes that were not accepted, rejected ones first.
    pub(crate) not_accepted: Vec<NotAccepted>,
    /// What is slower than its like, boxes first.
    pub(crate) outliers: Vec<Outlier>,
    /// Each figure over all boxes.
    pub(crate) figures: Vec<Figure>,
}

/// A box that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NotAccepted {
    /// Its name.
    pub(crate) node: String,
    /// Where its report is.
    pub(crate) report: String,
    /// Its verdict.
    pub(crate) verdict: BoxVerdict,
    /// Why.
    pub(crate) reasons: Vec<String>,
}

/// What is slower than its like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Outlier {
    /// Whether it is a whole box or one of its devices or pairs.
    pub(crate) scope: Scope,
    /// The box.
    pub(crate) node: String,
    /// Where its report is.
    pub(crate) report: String,
    /// Label, slot and identity of each device that it is about; all of the box for a box.
    pub(crate) devices: Vec<Named>,
    /// What it is about as the check has it, such as `GPU0->GPU1`; empty for a box.
    pub(crate) about: Vec<String>,
    /// Key of the check.
    pub(crate) check: String,
    /// The figure.
    pub(crate) what: String,
    /// Unit of the figure.
    pub(crate) unit: String,
    /// The figure; for a box the median over its devices or pairs.
    pub(crate) value: f64,
    /// Samples behind it.
    pub(crate) n: usize,
    /// How many devices or pairs it is of.
    pub(crate) places: usize,
    /// Whether these are pairs.
    pub(crate) of_pairs: bool,
    /// The median of its like.
    pub(crate) median: f64,
    /// What it is worse than.
    pub(crate) against: Against,
    /// How much worse, in percent.
    pub(crate) worse_percent: f64,
    /// Modified z score.
    pub(crate) z: f64,
    /// What that is in units of.
    pub(crate) spread: Spread,
    /// How many were alike, with itself.
    pub(crate) alike: usize,
    /// Whether it is a pair like most of its box, and no worse than that is as a whole: it follows from the box.
    pub(crate) follows_box: bool,
}

/// What an outlier is worse than.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Against {
    /// The median of the boxes.
    Boxes,
    /// The median of its like.
    Like,
    /// The rest of its box, which is itself slow as a whole.
    OwnBox,
}

/// What a score is in units of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Spread {
    /// The spread of what is alike.
    Measured,
    /// The least spread that is taken, as that of what is alike is below it.
    Floor,
}

/// What an outlier is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// A whole box.
    Node,
    /// A device or pair.
    Device,
}

/// A device by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Named {
    /// Such as `GPU0`.
    pub(crate) label: String,
    /// Its slot.
    pub(crate) slot: Option<String>,
    /// UUID or serial, or a stand-in.
    pub(crate) identity: Option<String>,
}

/// A figure over all boxes of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Figure {
    /// Key of the check.
    pub(crate) check: String,
    /// The figure.
    pub(crate) what: String,
    /// Its unit.
    pub(crate) unit: String,
    /// Where a good one lies.
    pub(crate) good: Side,
    /// How many values there are.
    pub(crate) values: usize,
    /// How many of them had enough like them to be judged.
    pub(crate) judged: usize,
    /// How many boxes have the same place of it, at most.
    pub(crate) boxes_alike: usize,
    /// The median of all.
    pub(crate) median: f64,
    /// The least of all.
    pub(crate) least: f64,
    /// The most of all.
    pub(crate) most: f64,
    /// 1.4826 of the median absolute deviation of the judged, each as a part of the median of its like, in percent.
    pub(crate) spread_percent: Option<f64>,
    /// How many are outliers.
    pub(crate) outliers: usize,
    /// The values that were judged, in the order of the boxes: for the picture.
    #[serde(skip)]
    pub(crate) points: Vec<Point>,
}

/// A value in the picture of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// Index of its box in the group.
    pub(crate) member: usize,
    /// What it is of the median of its like.
    pub(crate) part: f64,
    /// Whether it is an outlier, or one of a box that is slow as a whole.
    pub(crate) is_outlier: bool,
}
