//! Links by name with their rate: PCI Express by generation and lanes, NVLink by generation.

use topology::PcieLink;

/// Something that cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WhatIfError(pub(super) String);

/// A GPU's link with the rate of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkRate {
    /// PCI Express.
    Pcie(PcieLink),
    /// All NVLinks of a GPU together, by their name in the table of this file.
    Nvlink(&'static str, f64),
}

/// Names with GB/s of one direction, half of what NVIDIA states for both: <https://www.nvidia.com/en-us/data-center/nvlink/>
/// for generations 2 to 5, and the data sheets of the A40, RTX A6000 and GeForce RTX 3090 for the bridge (112.5 GB/s in all).
const NVLINKS: [(&str, f64); 5] = [
    ("nvlink2", 150.0),
    ("nvlink3-bridge", 56.25),
    ("nvlink3", 300.0),
    ("nvlink4", 450.0),
    ("nvlink5", 900.0),
];

impl LinkRate {
    /// GB/s of one direction, which no transfer reaches.
    #[must_use]
    pub fn gb_per_s(self) -> f64 {
        match self {
            Self::Pcie(link) => link.raw_gb_per_s(),
            Self::Nvlink(_, rate) => rate,
        }
    }

    /// Whether both are PCI Express or both NVLink, so that a library goes about them alike.
    pub(super) fn is_like(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Pcie(_), Self::Pcie(_)) | (Self::Nvlink(..), Self::Nvlink(..))
        )
    }
}

impl std::str::FromStr for LinkRate {
    type Err = WhatIfError;

    /// `gen4x8`, or `nvlink4`.
    fn from_str(text: &str) -> Result<Self, WhatIfError> {
        if let Some((name, rate)) = NVLINKS.iter().find(|(name, _)| *name == text) {
            return Ok(Self::Nvlink(name, *rate));
        }
        let numbers = || {
            let (generation, width) = text.strip_prefix("gen")?.split_once('x')?;
            let link = PcieLink::new(generation.parse().ok()?, width.parse().ok()?);
            link.ok()
        };
        let names: Vec<&str> = NVLINKS.iter().map(|(name, _)| *name).collect();
        numbers().map(Self::Pcie).ok_or_else(|| {
            WhatIfError(format!(
                "no link is called {text}; give genGxW, such as gen4x8, or one of {}",
                names.join(", ")
            ))
        })
    }
}

impl std::fmt::Display for LinkRate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pcie(link) => write!(f, "{link}"),
            Self::Nvlink(name, _) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_rates_of_their_specifications() {
        // 16 GT/s * 128/130 * 8 lanes / 8 bits = 15.75 GB/s.
        let half = "gen4x8".parse::<LinkRate>().unwrap();
        assert!((half.gb_per_s() - 15.754).abs() < 0.001);
        let whole = "gen4x16".parse::<LinkRate>().unwrap();
        assert!((whole.gb_per_s() / half.gb_per_s() - 2.0).abs() < 1e-9);
        assert_eq!("nvlink4".parse::<LinkRate>().unwrap().gb_per_s(), 450.0);
        for bad in ["gen9x16", "gen4x3", "gen4", "x8", "nvlink", ""] {
            assert!(bad.parse::<LinkRate>().is_err(), "{bad}");
        }
    }
}
