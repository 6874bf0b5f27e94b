//! What a file of link measurements says, whoever wrote it: values, devices, and what is no value and why.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use topology::{PathType, PciAddress};

use record::quantity::Unit;
use record::{Endpoint, PeerVerdict, Status, Unmeasured};
use stats::Interval;

/// A file of link measurements.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkFile {
    /// The file's name in messages.
    pub origin: String,
    /// What wrote it, such as `p2p-bw 0.1.0` or `nvbandwidth v0.8`.
    pub made_by: String,
    /// The simulated machine behind it: its numbers are arithmetic, not measurements.
    pub simulated: Option<String>,
    /// UTC start, where it is said.
    pub started: Option<String>,
    /// The host's name.
    pub host: Option<String>,
    /// `cuda`, `hip`, `maca` or `host`.
    pub backend: Option<String>,
    /// Version of the driver package.
    pub driver: Option<String>,
    /// Version of the interface, such as `CUDA 12.8`.
    pub interface: Option<String>,
    /// The devices, as far as they are listed.
    pub devices: Vec<LinkFacts>,
    /// What was found of peer access, by the device that accesses and the one whose memory it is.
    pub peers: BTreeMap<(usize, usize), PeerState>,
    /// Whether peer access was left off on the command line.
    pub without_peers: bool,
    /// The path class of every pair of devices, the lower number first.
    pub paths: BTreeMap<(usize, usize), PathType>,
    /// The values.
    pub values: Vec<LinkValue>,
    /// What is no value.
    pub troubles: Vec<LinkTrouble>,
    /// Keys of the file that nothing was taken from.
    pub unused: Vec<String>,
}

/// A device of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkFacts {
    /// The number that endpoints carry: the backend's own.
    pub ordinal: usize,
    /// What tables call it, such as `GPU0`.
    pub label: String,
    /// The vendor's name of it.
    pub name: String,
    /// PCI address of the physical device.
    pub address: Option<PciAddress>,
    /// The link under load, such as `Gen4 x16`; an idle one may save power and says nothing.
    pub link: Option<String>,
}

/// Which number of which test: the same in every file that has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LinkEnds {
    /// Our case's key where the test is one of ours, else the other tool's name of it.
    pub test: String,
    /// Where the data comes from; of both directions the first one's source. Devices by the backend's number.
    pub from: Endpoint,
    /// Where it goes.
    pub to: Endpoint,
    /// The number's name in a point, such as `bandwidth`, `forward`, `total` or `latency`.
    pub name: String,
}

impl LinkEnds {
    /// The number's name without devices: `share` of `share_0_1`.
    #[must_use]
    pub fn role(&self) -> &str {
        role(&self.name)
    }

    /// The same number seen from the other end of a pair whose both directions run at once.
    #[must_use]
    pub fn mirrored(&self) -> Option<Self> {
        let name = match self.name.as_str() {
            "forward" => "back",
            "back" => "forward",
            "total" => "total",
            "sum" => "sum",
            _ => return None,
        };
        let is_pair = matches!(
            (self.from, self.to),
            (Endpoint::Device(_), Endpoint::Device(_))
        );
        is_pair.then(|| Self {
            test: self.test.clone(),
            from: self.to,
            to: self.from,
            name: name.to_owned(),
        })
    }
}

/// The name of a number without the devices in it.
pub(super) fn role(name: &str) -> &str {
    name.split('_').next().unwrap_or(name)
}

/// The name of a number under other numbers of devices: those behind `share_`, `forward_` and `back_`.
pub(super) fn renumbered(name: &str, number: impl Fn(usize) -> usize) -> String {
    let found = ["share", "forward", "back"].into_iter().find_map(|role| {
        let devices = name.strip_prefix(role)?.strip_prefix('_')?;
        let numbers: Option<Vec<String>> = devices
            .split('_')
            .map(|device| Some(number(device.parse().ok()?).to_string()))
            .collect();
        Some(format!("{role}_{}", numbers?.join("_")))
    });
    found.unwrap_or_else(|| name.to_owned())
}

/// One number.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkValue {
    /// Which.
    pub ends: LinkEnds,
    /// The number, above zero.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// 95% interval, where the file has one or the samples for one.
    pub interval: Option<Interval>,
    /// Number of samples, where it is said.
    pub n: Option<u64>,
    /// The samples, where they are in the file.
    pub samples: Vec<f64>,
    /// Bytes of one copy, where it is said: nvbandwidth does not.
    pub bytes: Option<u64>,
    /// Whether it says something of the devices: what this machine itself took beside a simulated machine does not.
    pub is_judged: bool,
}

/// Something of a file that is no value.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkTrouble {
    /// What kind.
    pub kind: TroubleKind,
    /// The test by our key where it has one, else by its name; `None` where the file does not say.
    pub test: Option<String>,
    /// The roles of the numbers that it is about, as [`LinkEnds::role`] gives them; none where it is about all.
    pub roles: Vec<String>,
    /// Its ends, where it is about one point.
    pub ends: Option<(Endpoint, Endpoint)>,
    /// Bytes of one copy, where it is about one size.
    pub bytes: Option<u64>,
    /// What the file says of it, on which nothing is decided; may be empty.
    pub detail: String,
}

impl LinkTrouble {
    /// One that is about the whole file.
    pub(super) fn of_file(kind: TroubleKind, detail: String) -> Self {
        Self {
            kind,
            test: None,
            roles: Vec::new(),
            ends: None,
            bytes: None,
            detail,
        }
    }
}

impl fmt::Display for LinkTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.with(&self.detail, f)
    }
}

/// What kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TroubleKind {
    /// The data was wrong: the number is about nothing.
    WrongData,
    /// It was tried and failed.
    Failed,
    /// It was tried and did not end.
    Hang,
    /// It was asked for and does not apply there.
    NotApplicable,
    /// It was not tried.
    Absent,
    /// The run did not end by itself.
    Interrupted,
    /// The file itself is not whole or says what cannot be.
    File,
}

impl From<Unmeasured> for TroubleKind {
    fn from(why: Unmeasured) -> Self {
        match why {
            Unmeasured::WrongData => Self::WrongData,
            Unmeasured::NotApplicable => Self::NotApplicable,
            Unmeasured::Skipped => Self::Absent,
            Unmeasured::Failed => Self::Failed,
            Unmeasured::Hang => Self::Hang,
        }
    }
}

impl TroubleKind {
    /// Of a run's status, with what it says; `None` where the run ended by itself.
    pub(crate) fn of_status(status: &Status) -> Option<(Self, &str)> {
        Some(match status {
            Status::Complete => return None,
            Status::Refused { reason } => (Self::Absent, reason),
            Status::Interrupted { signal } => (Self::Interrupted, signal),
            Status::Broken => (Self::Interrupted, ""),
            Status::Failed { reason } => (Self::Interrupted, reason),
        })
    }

    /// Whether what was measured before does not stand by itself.
    #[must_use]
    pub fn is_fault(self) -> bool {
        !matches!(self, Self::NotApplicable | Self::Absent)
    }

    /// Writes the kind with a detail, where there is one.
    pub(crate) fn with(self, detail: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match detail {
            "" => write!(f, "{self}"),
            detail => write!(f, "{self}: {detail}"),
        }
    }
}

impl fmt::Display for TroubleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongData => "wrong data",
            Self::Failed => "failed",
            Self::Hang => "hang",
            Self::NotApplicable => "not applicable",
            Self::Absent => "not measured",
            Self::Interrupted => "run interrupted",
            Self::File => "not used",
        })
    }
}

/// Peer access of one device to the memory of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerState {
    /// It was probed.
    Probed(PeerVerdict),
    /// The probe began and has no verdict: the run ended in it, or the machine did.
    Begun,
    /// It was left off on the command line.
    Off,
}

impl PeerState {
    /// How far copies got, the more the better; `None` where nobody tried.
    fn rank(self) -> Option<u8> {
        match self {
            Self::Probed(PeerVerdict::Direct) => Some(3),
            Self::Probed(PeerVerdict::Staged) => Some(2),
            Self::Probed(PeerVerdict::Denied) => Some(1),
            Self::Probed(
                PeerVerdict::WrongData
                | PeerVerdict::Hang
                | PeerVerdict::HostLost
                | PeerVerdict::Failed,
            )
            | Self::Begun => Some(0),
            Self::Probed(PeerVerdict::NotTried) | Self::Off => None,
        }
    }

    /// Whether both were tried and this one got less far.
    #[must_use]
    pub fn is_worse_than(self, other: Self) -> bool {
        self.rank()
            .zip(other.rank())
            .is_some_and(|(this, other)| this < other)
    }

    /// Whether it was tried.
    #[must_use]
    pub fn is_tried(self) -> bool {
        self.rank().is_some()
    }
}

impl fmt::Display for PeerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probed(verdict) => verdict.fmt(f),
            Self::Begun => f.pad("begun without a verdict"),
            Self::Off => f.pad("switched off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_tried_is_neither_better_nor_worse() {
        let direct = PeerState::Probed(PeerVerdict::Direct);
        for worse in [PeerVerdict::Staged, PeerVerdict::Denied, PeerVerdict::Hang] {
            let worse = PeerState::Probed(worse);
            assert!(worse.is_worse_than(direct) && !direct.is_worse_than(worse));
        }
        for untried in [PeerState::Off, PeerState::Probed(PeerVerdict::NotTried)] {
            assert!(!untried.is_worse_than(direct) && !direct.is_worse_than(untried));
        }
        assert!(PeerState::Begun.is_worse_than(PeerState::Probed(PeerVerdict::Denied)));
    }
}
