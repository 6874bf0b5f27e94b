//! More samples for the checks whose interval lies across a limit: the same cases on the same devices, as long as the profile allows.

use std::collections::BTreeMap;

use program::Stop;

use super::session::Session;
use super::steps::{Again, Step, more_of};
use crate::checks::{self, Group};
use crate::judge::undecided;

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
            for (group, one) in steps {
                let name = format!("{}{round}", more_of(group));
                let Some(step) = self.more(group, name, &one) else {
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
    fn more(&self, group: Group, name: String, again: &Again) -> Option<Step> {
        let mut step = self.bench.step(group, name, Some(again))?;
        let own = format!("groups/{}-", group.word());
        let mut records = self.findings.links.iter();
        let record = records.find(|found| found.source.starts_with(&own));
        let bytes = record.and_then(|found| Some(found.links()?.points.first()?.bytes));
        let has_sizes = step.arguments.iter().any(|word| word == "--sizes");
        if let (Some(bytes), "p2p", false) = (bytes, step.command, has_sizes) {
            let words = ["--sizes".to_owned(), bytes.to_string()];
            step.arguments.extend(words);
        }
        Some(step)
    }
}

/// What measures these checks again, a step a group; a check of a group that is not here gets no other verdict by more samples.
fn again(open: &[(String, Vec<String>)]) -> BTreeMap<Group, Again> {
    use Group::{Collectives, Concurrent, HostLinks, Numa, PeerLinks};
    let mut groups: BTreeMap<Group, Again> = BTreeMap::new();
    let mut of_all = Vec::new();
    for (kind, about) in open {
        let group = match checks::kind(kind).map(|kind| kind.group) {
            Some(_) if kind == "spread" && about[0] != "p2p" => HostLinks,
            Some(group @ (HostLinks | PeerLinks | Concurrent | Numa | Collectives)) => group,
            _ => continue,
        };
        // A class is compared with itself, and an all-reduce is of all devices.
        if kind == "spread" || matches!(group, Concurrent | Collectives) {
            of_all.push(group);
        }
        let ends = about.iter().flat_map(|about| about.split("->"));
        let again = groups.entry(group).or_default();
        again.devices.extend(ends.map(str::to_owned));
        again.cases.extend(cases(kind, group));
    }
    for (group, again) in &mut groups {
        again.cases.sort_unstable();
        again.cases.dedup();
        if of_all.contains(group) {
            again.devices.clear();
        }
    }
    groups
}

/// The cases that a check rests on; none where it rests on all of its group.
fn cases(kind: &str, group: Group) -> &'static [&'static str] {
    match (kind, group) {
        ("h2d_pageable", _) => &["h2d_pageable_ce"],
        ("d2h_pageable", _) => &["d2h_pageable_ce"],
        ("bidirectional", _) => &["h2d_pinned_ce", "d2h_pinned_ce", "host_bidir_pinned_ce"],
        ("p2p_staged", _) => &["d2d_staged_ce"],
        (_, Group::HostLinks) => &["h2d_pinned_ce", "d2h_pinned_ce"],
        (_, Group::PeerLinks) => &["d2d_write_ce"],
        _ => &[],
    }
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
        assert_eq!(joined[&Group::HostLinks].devices, ["GPU1", "GPU0"]);
        assert_eq!(joined[&Group::PeerLinks].devices, ["GPU2", "GPU0"]);
        assert_eq!(joined[&Group::Collectives].devices.len(), 0);
    }
}
