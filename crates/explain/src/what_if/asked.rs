//! What is asked: what to put in place of the collectives, as the command line says it, and links by name with their rate.

use import::CurvePoint;
use topology::PcieLink;

/// Something to put in place of the collectives.
#[derive(Debug, Clone, PartialEq)]
pub struct Substitution {
    /// As it was asked for, such as `link=gen4x8`.
    pub asked: String,
    /// What it is.
    pub by: By,
}

/// What stands in place of the collectives.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// A curve that was measured.
    Curve {
        /// Its times.
        points: Vec<CurvePoint>,
    },
    /// Another link; what it takes the place of is read from the box where it is not said.
    Link {
        /// The link that the runs had.
        old: Option<LinkRate>,
        /// The link instead.
        new: LinkRate,
    },
    /// Peer access between the GPUs, by what was published for them.
    PeerAccess,
}

/// What may be asked, for messages.
const FORMS: &str = "curve=FILE, link=NEW, link=OLD:NEW, p2p=on";

impl std::str::FromStr for By {
    type Err = WhatIfError;

    /// `link=gen4x8`, `link=gen4x16:gen4x8` or `p2p=on`; what names files is the caller's.
    fn from_str(text: &str) -> Result<Self, WhatIfError> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let (old, new) = match value.split_once(':') {
            Some((old, new)) => (Some(old), new),
            None => (None, value),
        };
        match (key, value) {
            ("link", _) => Ok(Self::Link {
                old: old.map(str::parse).transpose()?,
                new: new.parse()?,
            }),
            ("p2p", "on") => Ok(Self::PeerAccess),
            _ => Err(WhatIfError(format!(
                "{text} is nothing that can be put in; give {FORMS}"
            ))),
        }
    }
}

/// Something that cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WhatIfError(String);

/// A GPU's link with the rate of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkRate {
    /// PCI Express.
    Pcie(PcieLink),
    /// All NVLinks of a GPU together, GB/s.
    Nvlink(f64),
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
            Self::Nvlink(rate) => rate,
        }
    }

    /// Whether both are PCI Express or both NVLink, so that a library goes about them alike.
    pub(super) fn is_like(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Pcie(_), Self::Pcie(_)) | (Self::Nvlink(_), Self::Nvlink(_))
        )
    }
}

impl std::str::FromStr for LinkRate {
    type Err = WhatIfError;

    /// `gen4x8`, or `nvlink4`.
    fn from_str(text: &str) -> Result<Self, WhatIfError> {
        if let Some((_, rate)) = NVLINKS.iter().find(|(name, _)| *name == text) {
            return Ok(Self::Nvlink(*rate));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_read_and_what_has_no_sense_is_refused() {
        let by = |text: &str| text.parse::<By>();
        assert_eq!(by("p2p=on"), Ok(By::PeerAccess));
        let Ok(By::Link {
            old: Some(old),
            new,
        }) = by("link=gen4x16:gen4x8")
        else {
            panic!("no link");
        };
        assert!((old.gb_per_s() / new.gb_per_s() - 2.0).abs() < 1e-9);
        for bad in ["", "p2p", "p2p=off", "link=", "link=gen4x16:", "nvlink4"] {
            assert!(by(bad).is_err(), "{bad}");
        }
    }

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
