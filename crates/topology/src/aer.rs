//! [`AerCounters`]: errors that a function counted since it started, by Advanced Error Reporting.

use serde::{Deserialize, Serialize};

use crate::pci::attribute;
use crate::{PciAddress, Sysfs};

/// Errors of a function since the machine or the function started; each `None` where the kernel does not show it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AerCounters {
    /// Mended by the link itself, as a packet sent again is; they cost time.
    pub correctable: Option<u64>,
    /// Packets lost.
    pub nonfatal: Option<u64>,
    /// Links lost.
    pub fatal: Option<u64>,
}

impl AerCounters {
    /// What the kernel shows of a function; `None` where it shows no counter (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats).
    pub(crate) fn read(sysfs: &Sysfs, address: PciAddress) -> Option<Self> {
        let total = |kind: &str| {
            attribute(sysfs, address, &format!("aer_dev_{kind}")).and_then(|text| total(&text))
        };
        let counters = Self {
            correctable: total("correctable"),
            nonfatal: total("nonfatal"),
            fatal: total("fatal"),
        };
        (counters != Self::default()).then_some(counters)
    }

    /// All of them; what is not shown counts nothing.
    #[must_use]
    pub fn sum(self) -> u64 {
        let kinds = [self.correctable, self.nonfatal, self.fatal];
        kinds.into_iter().flatten().fold(0, u64::saturating_add)
    }
}

/// The line `TOTAL_ERR_COR 3`; without one the sum of the lines `RxErr 3`.
fn total(text: &str) -> Option<u64> {
    let lines: Option<Vec<(&str, u64)>> = text
        .lines()
        .map(|line| {
            let (name, count) = line.trim().rsplit_once(' ')?;
            Some((name, count.parse().ok()?))
        })
        .collect();
    let lines = lines.filter(|lines| !lines.is_empty())?;
    let told = lines.iter().find(|(name, _)| name.starts_with("TOTAL"));
    told.map(|(_, count)| *count).or_else(|| {
        lines
            .iter()
            .try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_the_kernels_or_the_sum_of_its_lines() {
        assert_eq!(total("RxErr 2\nBadTLP 5\nTOTAL_ERR_COR 7"), Some(7));
        // 2 + 5.
        assert_eq!(total("RxErr 2\nBadTLP 5"), Some(7));
        assert_eq!(total("TOTAL_ERR_FATAL 0"), Some(0));
    }

    #[test]
    fn a_text_that_is_none_has_no_total() {
        for text in [
            "",
            "RxErr",
            "RxErr two",
            "RxErr -1",
            "a 18446744073709551615\nb 1",
        ] {
            assert_eq!(total(text), None, "{text}");
        }
    }
}
