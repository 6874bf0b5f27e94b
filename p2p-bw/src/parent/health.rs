//! What failed so often that it is not tried again.

use std::collections::BTreeMap;
use std::fmt::Display;

use record::{Failure, FailureKind};

use crate::messages::Blame;

/// Failures after which something is left alone.
const LIMIT: u32 = 2;

/// What a hang, a crash or a loss speaks against. Which end of a pair is to blame is not known, nor which device of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Suspect {
    Device(usize),
    /// An ordered pair.
    Pair(usize, usize),
    /// A case over several devices, by its key.
    Group(&'static str),
}

/// Failures so far, and the last reason.
#[derive(Debug, Default)]
pub(crate) struct Health(BTreeMap<Suspect, (u32, String)>);

impl Health {
    /// The first that is left alone, and why it failed last.
    pub(crate) fn left_alone(&self, suspects: &[Suspect]) -> Option<(Suspect, &str)> {
        suspects.iter().find_map(|suspect| {
            let (count, why) = self.0.get(suspect)?;
            (*count >= LIMIT).then_some((*suspect, why.as_str()))
        })
    }

    /// Why something that failed so often is not tried.
    pub(crate) fn refusal(name: impl Display, why: &str) -> Failure {
        FailureKind::Dependency.of(format!(
            "{name} failed {LIMIT} times and is not tried again; last: {why}"
        ))
    }

    /// Counts a failure against the last suspect; what cannot be ended counts against all at once.
    pub(crate) fn failed(&mut self, suspects: &[Suspect], blame: &Blame) {
        let count = suspects.len();
        let others = if blame.at_once {
            0
        } else {
            count.saturating_sub(1)
        };
        for suspect in &suspects[others..] {
            let entry = self.0.entry(*suspect).or_default();
            let failures = if blame.at_once { LIMIT } else { entry.0 + 1 };
            *entry = (failures, blame.why.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;
    use crate::parent::plan::plan;
    use record::unit::ByteCount;

    fn suspects(key: &str, at: usize) -> Vec<Suspect> {
        plan(&cases::matching(key).unwrap(), 2, &[ByteCount(1)])[at].suspects()
    }

    fn refused(health: &Health, key: &str, at: usize) -> bool {
        health.left_alone(&suspects(key, at)).is_some()
    }

    fn fail(health: &mut Health, key: &str, at: usize, at_once: bool) {
        let why = "lost".to_owned();
        health.failed(&suspects(key, at), &Blame { why, at_once });
    }

    #[test]
    fn a_device_is_left_alone_after_two_failures() {
        let mut health = Health::default();
        fail(&mut health, "local_ce", 1, false);
        assert!(!refused(&health, "local_ce", 1));
        fail(&mut health, "local_ce", 1, false);
        assert!(refused(&health, "local_ce", 1));
        // The pair 0 to 1 uses the device, too; device 0 alone does not.
        assert!(refused(&health, "d2d_write_ce", 0));
        assert!(!refused(&health, "local_ce", 0));
    }

    #[test]
    fn a_pair_or_a_group_that_hangs_does_not_take_its_devices_along() {
        for key in ["d2d_write_ce", "ring_ce"] {
            let mut health = Health::default();
            fail(&mut health, key, 0, false);
            fail(&mut health, key, 0, false);
            assert!(refused(&health, key, 0), "{key}");
            for other in ["all_pairs_ce", "local_ce"] {
                assert!(!refused(&health, other, 0), "{key} {other}");
            }
        }
        let mut health = Health::default();
        fail(&mut health, "d2d_write_ce", 0, true);
        assert!(refused(&health, "local_ce", 0) && refused(&health, "local_ce", 1));
    }
}
