//! Which devices and pairs failed so often that they are not tried again.

use std::collections::BTreeMap;

use super::plan::Planned;

/// Failures after which a device or pair is left alone.
const LIMIT: u32 = 2;

/// Hangs, crashes and losses by device, by ordered pair, and by case of a group.
#[derive(Debug, Default)]
pub(super) struct Health {
    devices: BTreeMap<usize, (u32, String)>,
    pairs: BTreeMap<(usize, usize), (u32, String)>,
    /// Cases over several devices, by key: which of the devices is to blame is not known.
    groups: BTreeMap<&'static str, (u32, String)>,
}

impl Health {
    /// Why a point is not tried; `None` where it is.
    pub(super) fn refusal(
        &self,
        point: &Planned,
        label: impl Fn(usize) -> String,
    ) -> Option<String> {
        let given_up = |entry: Option<&(u32, String)>| {
            entry
                .filter(|(count, _)| *count >= LIMIT)
                .map(|(_, why)| why.clone())
        };
        for device in point.devices() {
            if let Some(why) = given_up(self.devices.get(&device)) {
                return Some(format!(
                    "{} failed {LIMIT} times and is not tried again; last: {why}",
                    label(device)
                ));
            }
        }
        if point.is_group() {
            let key = point.case.key;
            let why = given_up(self.groups.get(key))?;
            return Some(format!(
                "{key} failed {LIMIT} times and is not tried again; last: {why}"
            ));
        }
        let (from, to) = point.pair()?;
        let why = given_up(self.pairs.get(&(from, to)))?;
        Some(format!(
            "{} to {} failed {LIMIT} times and is not tried again; last: {why}",
            label(from),
            label(to)
        ))
    }

    /// A point hung, crashed or lost its device. A pair's failure is the pair's: which end is to blame is not known.
    pub(super) fn failed(&mut self, point: &Planned, why: &str) {
        let entry = match (point.pair(), point.devices().first()) {
            _ if point.is_group() => self.groups.entry(point.case.key).or_default(),
            (Some(pair), _) => self.pairs.entry(pair).or_default(),
            (None, Some(device)) => self.devices.entry(*device).or_default(),
            (None, None) => return,
        };
        *entry = (entry.0 + 1, why.to_owned());
    }

    /// A process could not be ended: its devices are given up at once.
    pub(super) fn give_up(&mut self, point: &Planned, why: &str) {
        for device in point.devices() {
            self.devices.insert(device, (LIMIT, why.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;
    use crate::parent::plan::plan;
    use measure::unit::ByteCount;

    fn points(key: &str) -> Vec<Planned> {
        plan(&cases::matching(key).unwrap(), 2, &[ByteCount(1)])
    }

    fn label(device: usize) -> String {
        format!("GPU{device}")
    }

    #[test]
    fn a_device_is_left_alone_after_two_failures() {
        let (mut health, point) = (Health::default(), points("local_ce")[1]);
        health.failed(&point, "lost");
        assert_eq!(health.refusal(&point, label), None);
        health.failed(&point, "lost");
        assert!(health.refusal(&point, label).unwrap().contains("GPU1"));
        // The pair 0 to 1 uses the device, too; device 0 alone does not.
        assert!(health.refusal(&points("d2d_write_ce")[0], label).is_some());
        assert_eq!(health.refusal(&points("local_ce")[0], label), None);
    }

    #[test]
    fn a_pair_that_hangs_does_not_take_its_devices_along() {
        let (mut health, pair) = (Health::default(), points("d2d_write_ce")[0]);
        health.failed(&pair, "hang");
        health.failed(&pair, "hang");
        assert!(health.refusal(&pair, label).is_some());
        assert_eq!(health.refusal(&points("d2d_write_ce")[1], label), None);
        assert_eq!(health.refusal(&points("local_ce")[0], label), None);
    }

    #[test]
    fn a_group_that_fails_takes_neither_devices_nor_other_groups_along() {
        let (mut health, ring) = (Health::default(), points("ring_ce")[0]);
        health.failed(&ring, "hang");
        health.failed(&ring, "hang");
        assert!(health.refusal(&ring, label).unwrap().contains("ring_ce"));
        for key in ["all_pairs_ce", "d2d_write_ce", "local_ce"] {
            assert_eq!(health.refusal(&points(key)[0], label), None, "{key}");
        }
    }
}
