//! A PCIe link as generation and width. Payload ceilings and parsing of sysfs text are in `topology`.

use serde::{Deserialize, Serialize};

/// A PCIe link: generation 1 to 6 and width in lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// PCIe generation, 1 to 6.
    pub generation: u8,
    /// Lanes: 1, 2, 4, 8, 12, 16 or 32.
    pub width: u8,
}

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("Gen{} x{}", self.generation, self.width))
    }
}

impl Link {
    /// Transfers per second and lane in GT/s; `None` for a generation that does not exist (PCIe base specification 6.0).
    #[must_use]
    pub fn gigatransfers(self) -> Option<f64> {
        Some(match self.generation {
            1 => 2.5,
            2 => 5.0,
            3 => 8.0,
            4 => 16.0,
            5 => 32.0,
            6 => 64.0,
            _ => return None,
        })
    }

    /// Raw rate of one direction in decimal GB/s after line coding (8b/10b, 128b/130b, 242/256 FLIT), before packet headers.
    ///
    /// `None` for a generation that does not exist.
    #[must_use]
    pub fn raw_gbps(self) -> Option<f64> {
        let coding = match self.generation {
            1 | 2 => 8.0 / 10.0,
            6 => 242.0 / 256.0,
            _ => 128.0 / 130.0,
        };
        Some(self.gigatransfers()? * coding / 8.0 * f64::from(self.width))
    }

    /// The text that Linux shows in `current_link_speed`, such as `16.0 GT/s PCIe`.
    #[must_use]
    pub fn sysfs_speed(self) -> String {
        match self.gigatransfers() {
            Some(rate) => format!("{rate:.1} GT/s PCIe"),
            None => "Unknown".to_owned(),
        }
    }

    /// Reads back what [`Link::sysfs_speed`] and a width file hold; `None` where either is unknown.
    #[must_use]
    pub fn from_sysfs(speed: &str, width: &str) -> Option<Self> {
        let rate: f64 = speed.split_whitespace().next()?.parse().ok()?;
        let width: u8 = width.trim().parse().ok()?;
        (1..=6)
            .map(|generation| Self { generation, width })
            .find(|link| link.gigatransfers() == Some(rate))
    }
}
