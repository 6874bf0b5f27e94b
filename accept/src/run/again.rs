//! More samples for the checks whose interval lies across a limit: the same cases on the same devices, as long as the profile allows.

use std::collections::BTreeMap;

use program::Stop;
use record::Payload;

use super::session::Session;
use super::steps::{Again, Step, more_of};
use crate::checks::Group;
use crate::judge::undecided;

/// The group and the cases that a check of a kind rests on; none where it rests on all of its group.
const CASES: &[(&str, Group, &[&str])] = &[
    ("h2d_pinned", Group::HostLinks, &["h2d_pinned_ce"]),
    ("d2h_pinned", Group::HostLinks, &["d2h_pinned_ce"]),
    ("h2d_pageable", Group::HostLinks, &["h2d_pageable_ce"]),
    ("d2h_pageable", Group::HostLinks, &["d2h_pageable_ce"]),
    (
        "bidirectional",
        Group::HostLinks,
        &["h2d_pinned_ce", "d2h_pinned_ce", "host_bidir_pinned_ce"],
    ),
    ("p2p", Group::PeerLinks, &["d2d_write_ce"]),
    ("symmetry", Group::PeerLinks, &["d2d_write_ce"]),
    ("p2p_latency", Group::PeerLinks, &["d2d_write_ce"]),
    (
        "p2p_staged",
        Group::PeerLinks,
        &["d2d_staged_ce", "d2d_driver_staged_ce"],
    ),
    (
        "spread",
        Group::HostLinks,
        &["h2d_pinned_ce", "d2h_pinned_ce"],
    ),
    ("spread p2p", Group::PeerLinks, &["d2d_write_ce"]),
    ("concurrent", Group::Concurrent, &[]),
    ("numa_penalty", Group::Numa, &[]),
    ("allreduce", Group::Collectives, &[]),
];

impl Session<'_> {
    /// Measures open checks again until none is open, or the profile's most samples are taken, or no time is left.
    pub(super) fn again(&mut self) -> Result<(), Stop> {
        let sampling = self.bench.profile.sampling;
        let mut samples = 2 * sampling.repeats;
        for round in 1.. {
            let open = undecided(&self.report.checks);
            let steps = again(&open);
            if steps.is_empty() || samples > sampling.max_repeats {
                break;
            }
            for one in steps {
                let name = format!("{}{round}", more_of(one.group));
                let Some(step) = self.more(name, &one) else {
                    continue;
                };
                if !self.step(&step, None)? {
                    return Ok(());
                }
            }
            samples += sampling.repeats;
        }
        Ok(())
    }

    /// The step, at the size that was measured before.
    fn more(&self, name: String, again: &Again) -> Option<Step> {
        let mut step = self.bench.step(again.group, name, Some(again))?;
        let is_of = |case: &str| again.cases.is_empty() || again.cases.contains(&case);
        let mut records = self.findings.links.iter();
        let bytes = records.find_map(|found| match &found.it.payload {
            Payload::Links(links) => {
                let point = links.points.iter().find(|point| is_of(&point.case))?;
                Some(point.bytes)
            }
            _ => None,
        });
        let takes_sizes = step.command == "p2p";
        let has_sizes = step.arguments.iter().any(|word| word == "--sizes");
        if let (Some(bytes), true) = (bytes, takes_sizes && !has_sizes) {
            let words = ["--sizes".to_owned(), bytes.to_string()];
            step.arguments.extend(words);
        }
        Some(step)
    }
}

/// What measures these checks again, a step a group; a check that is not here gets no other verdict by more samples.
fn again(open: &[(String, Vec<String>)]) -> Vec<Again> {
    let mut groups: BTreeMap<Group, (Again, bool)> = BTreeMap::new();
    for (kind, about) in open {
        let is_of_pairs = kind == "spread" && about.iter().any(|about| about == "p2p");
        let key = if is_of_pairs { "spread p2p" } else { kind };
        let Some((_, group, cases)) = CASES.iter().find(|(known, ..)| *known == key) else {
            continue;
        };
        let group_again = || Again {
            group: *group,
            cases: Vec::new(),
            devices: Vec::new(),
        };
        let (again, is_of_all) = groups
            .entry(*group)
            .or_insert_with(|| (group_again(), false));
        again.cases.extend(*cases);
        // A class is compared with itself, and an all-reduce is of all devices.
        *is_of_all |= matches!(kind.as_str(), "spread" | "concurrent" | "allreduce");
        let ends = about.iter().flat_map(|about| about.split("->"));
        again.devices.extend(ends.map(str::to_owned));
    }
    let step = |(mut again, is_of_all): (Again, bool)| {
        again.cases.sort_unstable();
        again.cases.dedup();
        if is_of_all {
            again.devices.clear();
        }
        again
    };
    groups.into_values().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_a_group_takes_what_is_open_and_no_more() {
        let open = [
            ("h2d_pinned", "GPU1"),
            ("allreduce", "small"),
            ("d2h_pinned", "GPU0"),
            ("p2p", "GPU2->GPU0"),
            ("inventory", "devices"),
        ];
        let open = open.map(|(kind, about)| (kind.to_owned(), vec![about.to_owned()]));
        let joined = again(&open);
        assert_eq!(joined.len(), 3);
        assert_eq!(joined[0].cases, ["d2h_pinned_ce", "h2d_pinned_ce"]);
        assert_eq!(joined[0].devices, ["GPU1", "GPU0"]);
        assert_eq!(joined[1].devices, ["GPU2", "GPU0"]);
        assert_eq!(
            (joined[2].group, joined[2].devices.len()),
            (Group::Collectives, 0)
        );
    }
}
