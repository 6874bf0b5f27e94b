//! [`PcieLink`]: generation and width of one PCI Express link, and the rates that follow from them.
//!
//! Arithmetic and text only; reading links from sysfs is in `slot.rs`.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Bytes around each payload on the wire: 4 of framing and sequence number, 16 of header with a 64-bit address, 4 of
/// link CRC (PCI Express Base Specification 3.0, sections 2.2 and 3.5).
const OVERHEAD_BYTES: f64 = 24.0;

/// Generation, transfer rate in GT/s per lane as sysfs writes it, and the share of bits left after encoding.
///
/// 8b/10b up to generation 2, 128b/130b up to 5. From 6 on bytes go in flits of 256 of which 242 are left after CRC and
/// forward error correction (PCI Express Base Specification 6.0, flit mode).
const GENERATIONS: [(u8, &str, f64, f64); 6] = [
    (1, "2.5", 2.5, 8.0 / 10.0),
    (2, "5", 5.0, 8.0 / 10.0),
    (3, "8", 8.0, 128.0 / 130.0),
    (4, "16", 16.0, 128.0 / 130.0),
    (5, "32", 32.0, 128.0 / 130.0),
    (6, "64", 64.0, 242.0 / 256.0),
];

/// The widths that a link can have; what sysfs says beside these (0, 63, 255) means unknown.
const WIDTHS: [u8; 7] = [1, 2, 4, 8, 12, 16, 32];

/// A PCI Express link as it is trained, or as it could be; shown as `Gen4 x16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "LinkFields", into = "LinkFields")]
pub struct PcieLink {
    /// One of [`GENERATIONS`], so that there always is a rate.
    generation: u8,
    /// One of [`WIDTHS`].
    width: u8,
}

/// A generation or a width that PCI Express does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no PCI Express link of generation {generation} and width {width}")]
pub struct LinkError {
    /// The generation that was given.
    pub generation: u8,
    /// The number of lanes that was given.
    pub width: u8,
}

impl PcieLink {
    /// A link of generation 1 to 6 and 1, 2, 4, 8, 12, 16 or 32 lanes; anything else is an error.
    pub fn new(generation: u8, width: u8) -> Result<Self, LinkError> {
        let known = GENERATIONS.iter().any(|row| row.0 == generation);
        if known && WIDTHS.contains(&width) {
            Ok(Self { generation, width })
        } else {
            Err(LinkError { generation, width })
        }
    }

    /// Reads the two texts of sysfs, such as `16.0 GT/s PCIe` and `8`.
    ///
    /// Older kernels write `16 GT/s`. `Unknown`, `Unknown speed` and the widths 0, 63 and 255 give `None`.
    pub fn parse(speed: &str, width: &str) -> Option<Self> {
        let rate = speed.trim().split_once("GT/s")?.0.trim_end();
        let rate = rate.strip_suffix(".0").unwrap_or(rate);
        let generation = GENERATIONS.iter().find(|row| row.1 == rate)?.0;
        Self::new(generation, width.trim().parse().ok()?).ok()
    }

    /// The generation, 1 to 6.
    pub fn generation(self) -> u8 {
        self.generation
    }

    /// The number of lanes.
    pub fn width(self) -> u8 {
        self.width
    }

    /// The rate of one direction after line encoding, in GB/s of 1e9 bytes; no transfer reaches it.
    pub fn raw_gb_per_s(self) -> f64 {
        GENERATIONS
            .iter()
            .filter(|row| row.0 == self.generation)
            .map(|&(_, _, rate, encoding)| rate * encoding * f64::from(self.width) / 8.0)
            .sum()
    }

    /// The highest payload rate of one direction, in GB/s of 1e9 bytes, where each packet carries `max_payload_bytes`.
    ///
    /// `raw * MPS / (MPS + 24)`. Acknowledgements, flow control and skip sets take some more and are not in it. For
    /// generation 6, whose flits frame packets in another way, this is an approximation.
    pub fn payload_ceiling_gb_per_s(self, max_payload_bytes: u32) -> f64 {
        let payload = f64::from(max_payload_bytes);
        self.raw_gb_per_s() * payload / (payload + OVERHEAD_BYTES)
    }

    /// Compares by raw rate: Gen4 x8 and Gen3 x16 are equal.
    pub fn cmp_rate(self, other: Self) -> Ordering {
        self.raw_gb_per_s().total_cmp(&other.raw_gb_per_s())
    }

    /// The one of lower raw rate, the first where they are equal.
    pub fn slower(self, other: Self) -> Self {
        match other.cmp_rate(self) {
            Ordering::Less => other,
            Ordering::Equal | Ordering::Greater => self,
        }
    }
}

impl fmt::Display for PcieLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("Gen{} x{}", self.generation, self.width))
    }
}

/// [`PcieLink`] as it stands in a record, before it is checked.
#[derive(Serialize, Deserialize)]
struct LinkFields {
    generation: u8,
    width: u8,
}

impl TryFrom<LinkFields> for PcieLink {
    type Error = LinkError;

    fn try_from(fields: LinkFields) -> Result<Self, LinkError> {
        Self::new(fields.generation, fields.width)
    }
}

impl From<PcieLink> for LinkFields {
    fn from(link: PcieLink) -> Self {
        Self {
            generation: link.generation,
            width: link.width,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(generation: u8, width: u8) -> PcieLink {
        PcieLink::new(generation, width).unwrap()
    }

    #[test]
    fn rates_are_those_of_the_specification() {
        // GB/s = GT/s * lanes * encoding / 8; the columns are raw and the ceiling at 128, 256 and 512 bytes, two digits.
        // Gen4 x16: 16 * 16 * 128/130 / 8 = 31.508; * 256/280 = 28.807.
        for (generation, width, raw, at_128, at_256, at_512) in [
            (3, 4, 3.94, 3.32, 3.60, 3.76),
            (3, 8, 7.88, 6.63, 7.20, 7.52),
            (4, 4, 7.88, 6.63, 7.20, 7.52),
            (3, 16, 15.75, 13.27, 14.40, 15.05),
            (4, 8, 15.75, 13.27, 14.40, 15.05),
            (4, 16, 31.51, 26.53, 28.81, 30.10),
            (5, 8, 31.51, 26.53, 28.81, 30.10),
            (5, 16, 63.02, 53.07, 57.61, 60.19),
        ] {
            let link = link(generation, width);
            for (got, expected) in [
                (link.raw_gb_per_s(), raw),
                (link.payload_ceiling_gb_per_s(128), at_128),
                (link.payload_ceiling_gb_per_s(256), at_256),
                (link.payload_ceiling_gb_per_s(512), at_512),
            ] {
                assert!((got - expected).abs() < 0.0051, "{link}: {got} {expected}");
            }
        }
    }

    #[test]
    fn each_generation_has_its_rate_per_lane() {
        // 2.5 * 0.8 / 8, 5 * 0.8 / 8, 8 * 128/130 / 8, ..., 64 * 242/256 / 8.
        let expected = [0.25, 0.5, 0.984_615, 1.969_231, 3.938_462, 7.5625];
        for (generation, expected) in (1..).zip(expected) {
            let got = link(generation, 1).raw_gb_per_s();
            assert!((got - expected).abs() < 1e-6, "{generation}: {got}");
        }
    }

    #[test]
    fn texts_of_old_and_new_kernels_are_read() {
        assert_eq!(
            PcieLink::parse("16.0 GT/s PCIe\n", "16\n"),
            Some(link(4, 16))
        );
        assert_eq!(PcieLink::parse("16 GT/s", "8"), Some(link(4, 8)));
        assert_eq!(PcieLink::parse("2.5 GT/s PCIe", "1"), Some(link(1, 1)));
        assert_eq!(PcieLink::parse("5.0 GT/s PCIe", "4"), Some(link(2, 4)));
        assert_eq!(PcieLink::parse("64.0 GT/s PCIe", "16"), Some(link(6, 16)));
    }

    #[test]
    fn an_unknown_speed_or_width_is_no_link() {
        for (speed, width) in [
            ("Unknown", "16"),
            ("Unknown speed", "16"),
            ("", "16"),
            ("17 GT/s", "16"),
            ("16.0 GT/s PCIe", "0"),
            ("16.0 GT/s PCIe", "63"),
            ("16.0 GT/s PCIe", "255"),
            ("16.0 GT/s PCIe", ""),
        ] {
            assert_eq!(PcieLink::parse(speed, width), None, "{speed} {width}");
        }
    }

    #[test]
    fn the_slower_link_has_the_lower_raw_rate() {
        // 4 lanes at 31.5 GT/s of payload carry less than 16 at 7.9.
        assert_eq!(link(5, 4).slower(link(5, 16)), link(5, 4));
        assert_eq!(link(1, 16).slower(link(4, 8)), link(1, 16));
        assert_eq!(link(4, 8).cmp_rate(link(3, 16)), Ordering::Equal);
    }

    #[test]
    fn a_link_is_shown_and_stored_by_generation_and_width() {
        assert_eq!(link(4, 16).to_string(), "Gen4 x16");
        let json = serde_json::to_string(&link(4, 16)).unwrap();
        assert_eq!(json, r#"{"generation":4,"width":16}"#);
        assert_eq!(
            serde_json::from_str::<PcieLink>(&json).unwrap(),
            link(4, 16)
        );
        assert!(serde_json::from_str::<PcieLink>(r#"{"generation":4,"width":63}"#).is_err());
    }
}
