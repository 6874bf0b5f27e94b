//! Checks of the tables of collectives.

use super::{Check, Keys};
use crate::{BoxFile, Collective};
use std::collections::HashSet;

impl BoxFile {
    pub(super) fn check_collectives(&self, keys: &Keys<'_>) -> Check {
        let mut tables = HashSet::new();
        for (index, table) in self.collective.iter().enumerate() {
            let at = format!("collective[{index}]");
            let own = (
                table.library,
                table.kind,
                table.ranks,
                table.protocol,
                table.transport,
            );
            keys.require(
                tables.insert(own),
                &at,
                format!("{own:?}"),
                "a library, kind, number of ranks, protocol and transport has one [[collective]] table",
            )?;
            self.check_collective(keys, &at, table)?;
        }
        Ok(())
    }

    fn check_collective(&self, keys: &Keys<'_>, at: &str, table: &Collective) -> Check {
        let key = |name: &str| format!("{at}.{name}");
        let seen = self.seen_devices();
        keys.require(
            table.ranks >= 2 && table.ranks as usize <= seen,
            &key("ranks"),
            table.ranks,
            &format!("a collective has 2 ranks or more, and the box has {seen} devices"),
        )?;
        keys.require(
            !table.points.is_empty(),
            &key("points"),
            "[]",
            "a curve has at least one point",
        )?;
        let mut below = 0;
        for (number, (bytes, us)) in table.points.iter().enumerate() {
            let key = key(&format!("points[{number}]"));
            keys.require(*bytes > below, &key, bytes, "bytes ascend from 1 on")?;
            keys.require(
                us.is_finite() && *us >= 0.0,
                &key,
                us,
                "a time is a finite number of microseconds, 0 or more",
            )?;
            below = *bytes;
        }
        Ok(())
    }

    /// Devices as a driver counts them: MIG instances instead of the device that has them.
    pub(super) fn seen_devices(&self) -> usize {
        self.device
            .iter()
            .map(|device| device.mig.len().max(1))
            .sum()
    }
}
