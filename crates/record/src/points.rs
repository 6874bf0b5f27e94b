//! The points of a `tplens p2p` record: a case between its ends at one size, what came out, and the link that it went over.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use topology::PathType;

use crate::caveat::Caveat;
use crate::failure::Failure;
use crate::quantity::{Quantity, TimeSource};

/// An end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// Host memory.
    Host,
    /// Index of a device.
    Device(usize),
    /// All devices of the record at once; all others where the other end is one device.
    All,
}

/// Case of the points of `tplens p2p load` that tell of memory: quantities `write` and, where kernels compared it, `check`.
pub const LOAD_MEMORY: &str = "load_memory";

/// Case of those that tell of arithmetic: quantity `multiply_add`.
pub const LOAD_ARITHMETIC: &str = "load_arithmetic";

/// One case on one pair of ends at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The case's key, such as `h2d_pinned_ce`.
    pub case: String,
    /// Where the data comes from; for a bidirectional case the first direction's source.
    pub from: Endpoint,
    /// Where it goes.
    pub to: Endpoint,
    /// Bytes of one copy.
    pub bytes: u64,
    /// What came out.
    pub outcome: Outcome,
    /// Caveats about it.
    pub caveats: Vec<Caveat>,
}

/// What came out of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Outcome {
    /// It was measured.
    Measured {
        /// The numbers; what names there are stands at [`NamedQuantity::name`].
        quantities: Vec<NamedQuantity>,
        /// Whether the data was checked.
        verification: Verification,
        /// The link it went over.
        link: LinkUse,
        /// Where the host memory was, for cases that use some.
        placement: Option<Placement>,
    },
    /// It does not apply here.
    NotApplicable {
        /// Why.
        reason: Failure,
    },
    /// It was not tried.
    Skipped {
        /// Why.
        reason: Failure,
    },
    /// It was tried and failed.
    Failed {
        /// Why, with the driver's words.
        reason: Failure,
    },
    /// It did not end within its deadline; its process was ended.
    Hang {
        /// What was under way.
        doing: String,
    },
}

/// A quantity with its role in a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedQuantity {
    /// `bandwidth`; `forward`, `back` and `total`; for several devices at once `total` and a share for each stream, of which
    /// [`stream`] says what it means; `latency`; `issue` and `pace`; of a load `write`, `check` and `multiply_add`.
    pub name: String,
    /// The number.
    pub quantity: Quantity,
}

/// The quantities of a point that say something of its devices: beside a simulated one, what this machine itself took does not.
pub fn judged(quantities: &[NamedQuantity]) -> impl Iterator<Item = &NamedQuantity> {
    let source = |named: &NamedQuantity| named.quantity.timing.source;
    let mut all = quantities.iter();
    let is_simulated = all.any(|named| source(named) == TimeSource::Simulated);
    quantities
        .iter()
        .filter(move |named| !(is_simulated && source(named) == TimeSource::HostMonotonic))
}

/// The ends of the stream that one of several numbers of a point stands for; `None` for other names.
///
/// `share_J` is the stream of the one device that differs from stream to stream: the destination where data goes to all, the
/// source where it comes from all; where both ends are all, device J copies to the next one round. `share_I_J` goes from
/// device I to device J. `forward_J` and `back_J` are the two directions between host memory and device J. `from` and `to` are
/// the point's ends, `devices` is how many the record has.
#[must_use]
pub fn stream(
    name: &str,
    from: Endpoint,
    to: Endpoint,
    devices: usize,
) -> Option<(Endpoint, Endpoint)> {
    let position = |text: &str| text.parse().ok().filter(|position| *position < devices);
    if let Some(one) = name.strip_prefix("forward_") {
        return Some((Endpoint::Host, Endpoint::Device(position(one)?)));
    }
    if let Some(one) = name.strip_prefix("back_") {
        return Some((Endpoint::Device(position(one)?), Endpoint::Host));
    }
    let numbers = name.strip_prefix("share_")?;
    if let Some((one, other)) = numbers.split_once('_') {
        return Some((
            Endpoint::Device(position(one)?),
            Endpoint::Device(position(other)?),
        ));
    }
    let one = position(numbers)?;
    match (from, to) {
        (Endpoint::All, Endpoint::All) => {
            Some((Endpoint::Device(one), Endpoint::Device((one + 1) % devices)))
        }
        (from, Endpoint::All) => Some((from, Endpoint::Device(one))),
        (Endpoint::All, to) => Some((Endpoint::Device(one), to)),
        _ => None,
    }
}

/// Whether delivered data was compared with what was sent, outside the timed region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Verification {
    /// Every byte was compared and equal.
    Passed,
    /// The bytes differ: the number stands for nothing.
    WrongData {
        /// First difference.
        seen: String,
    },
    /// Switched off on the command line.
    NotAsked,
}

/// The link a point went over and what it can carry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// Path class between the ends, for device pairs.
    pub path: Option<PathType>,
    /// Payload ceiling in GB/s, one direction.
    pub ceiling_gb_per_s: Option<f64>,
    /// Payload ceilings in GB/s by the quantity's name, where several devices are at it and each number has its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ceilings_gb_per_s: BTreeMap<String, f64>,
    /// Value over ceiling, by the quantity's name.
    pub fraction: BTreeMap<String, f64>,
    /// What the ceiling is, or why there is none.
    pub basis: String,
}

impl LinkUse {
    /// The ceiling of a number in GB/s; two directions at once may carry one each.
    #[must_use]
    pub fn ceiling(&self, name: &str) -> Option<f64> {
        let directions = if name == "total" { 2.0 } else { 1.0 };
        let own = self.ceilings_gb_per_s.get(name).copied();
        own.or(self.ceiling_gb_per_s.map(|each| each * directions))
    }
}

/// Where host memory was wanted and where it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Node that was asked for; `None` where none was.
    pub wanted: Option<u32>,
    /// Node that holds every page asked about; `None` where not proven.
    pub proven: Option<u32>,
    /// How it was proven, or why not.
    pub basis: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use Endpoint::{All, Device, Host};

    #[test]
    fn a_name_and_the_ends_of_its_point_say_which_stream_it_is() {
        for (name, from, to, expected) in [
            ("share_2", Host, All, Some((Host, Device(2)))),
            ("share_0", All, Host, Some((Device(0), Host))),
            ("share_2", Device(1), All, Some((Device(1), Device(2)))),
            ("share_0", All, Device(1), Some((Device(0), Device(1)))),
            // The last of three copies to the first.
            ("share_2", All, All, Some((Device(2), Device(0)))),
            ("share_2_0", All, All, Some((Device(2), Device(0)))),
            ("forward_1", Host, All, Some((Host, Device(1)))),
            ("back_1", Host, All, Some((Device(1), Host))),
            ("share_3", Host, All, None),
            ("share_x", All, All, None),
            ("share_1", Host, Device(1), None),
            ("total", Host, All, None),
            ("back", Host, Device(0), None),
        ] {
            assert_eq!(
                stream(name, from, to, 3),
                expected,
                "{name} {from:?} {to:?}"
            );
        }
    }
}
