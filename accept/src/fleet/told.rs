//! An outlier in words: what it is, what it is worse than, and by how much.
//!
//! What to do about it stands with the whole outcome.

use super::outcome::{Against, Group, Named, Outlier, Scope, Spread};
use super::outliers::LEAST_SPREAD;
use crate::plural::plural;

/// An outlier in a sentence.
pub(super) fn outlier(outlier: &Outlier) -> String {
    let Outlier {
        node,
        report,
        check,
        what,
        unit,
        value,
        worse_percent,
        median,
        ..
    } = outlier;
    let meant = match outlier.scope {
        Scope::Node => ", the whole box".to_owned(),
        Scope::Device => format!(" {}", meant(outlier)),
    };
    let than = match outlier.against {
        Against::OwnBox => format!(
            "the rest of its box, which is slow itself ({median:.2} {unit} is the median of {})",
            like(outlier)
        ),
        Against::Boxes | Against::Like => {
            format!("{median:.2} {unit}, the median of {}", like(outlier))
        }
    };
    let score = match outlier.spread {
        Spread::Measured => format!("; modified z {:.1}", outlier.z),
        Spread::Floor => String::new(),
    };
    let follows = match outlier.follows_box {
        true => format!("; {FOLLOWS}"),
        false => String::new(),
    };
    format!(
        "SLOW {node}{meant}: {check}, {what}: {value:.2} {unit} ({}), {worse_percent:.1}% worse than {than}{score}{follows} ({report})",
        basis(outlier)
    )
}

/// What is said of a pair that is no worse than its box as a whole.
pub(super) const FOLLOWS: &str = "follows from the whole box";

/// What an outlier's figure is of: its samples, and for a box its devices or pairs.
pub(super) fn basis(outlier: &Outlier) -> String {
    let places = match outlier.of_pairs {
        true => "pair",
        false => "device",
    };
    match outlier.scope {
        Scope::Node => format!(
            "median of {}, n={}",
            plural(outlier.places, places),
            outlier.n
        ),
        Scope::Device => format!("n={}", outlier.n),
    }
}

/// How many its like are.
pub(super) fn like(outlier: &Outlier) -> String {
    match outlier.against {
        Against::Boxes => plural(outlier.alike, "box"),
        Against::Like | Against::OwnBox => format!("{} alike", outlier.alike),
    }
}

/// Why some outliers have no modified z score.
pub(super) fn no_score(group: &Group) -> Option<String> {
    let is_floor = |one: &Outlier| one.spread == Spread::Floor;
    group.outliers.iter().any(is_floor).then(|| {
        format!(
            "no modified z where what is alike differs by less than the least spread that is taken, {:.0}% of the median",
            LEAST_SPREAD * 100.0
        )
    })
}

/// Devices with slot and identity.
pub(super) fn meant(outlier: &Outlier) -> String {
    if outlier.scope == Scope::Node {
        return "whole box".to_owned();
    }
    let words = |device: &Named| {
        let more: Vec<String> = [
            device.slot.as_ref().map(|slot| format!("slot {slot}")),
            device.identity.clone(),
        ]
        .into_iter()
        .flatten()
        .collect();
        if more.is_empty() {
            device.label.clone()
        } else {
            format!("{} {}", device.label, more.join(", "))
        }
    };
    let named: Vec<String> = outlier.devices.iter().map(words).collect();
    let about = outlier.about.join(" ");
    if named.is_empty() {
        about
    } else {
        format!("{about} [{}]", named.join("; "))
    }
}
