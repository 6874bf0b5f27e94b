//! What is normal: the share of its ceiling that a copy over a kind of link usually reaches, a row of `usual.csv` with its source.

use topology::PcieLink;

const TABLE: &str = include_str!("usual.csv");

/// What a copy goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// PCI Express between host and device.
    Host,
    /// PCI Express between two devices.
    Peer,
    /// NVLink.
    NvLink,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Usual {
    /// Shares of the ceiling that healthy links reach, from and to.
    pub(super) range: (f64, f64),
    /// A healthy link stays above it.
    pub(super) least: f64,
    /// Where that was published.
    pub(super) source: &'static str,
}

/// The first row that fits; rows for one width stand before those for any.
pub(super) fn of(over: Over, link: Option<PcieLink>) -> Option<Usual> {
    rows().find_map(|(name, generation, width, usual)| {
        let is_it = name == name_of(over);
        let fits = |cell: &str, known: Option<u8>| {
            cell == "*" || known.is_some_and(|known| cell == known.to_string())
        };
        let generation = fits(generation, link.map(|link| link.generation()));
        let width = fits(width, link.map(|link| link.width()));
        (is_it && generation && width).then_some(usual)
    })
}

fn name_of(over: Over) -> &'static str {
    match over {
        Over::Host => "host",
        Over::Peer => "peer",
        Over::NvLink => "nvlink",
    }
}

fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str, Usual)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.filter_map(|line| {
        let mut cells = line.splitn(7, ',');
        let mut next = || cells.next();
        let keys = (next()?, next()?, next()?);
        let mut number = || next()?.parse::<f64>().ok();
        let (range, least) = ((number()?, number()?), number()?);
        let source = next()?.trim_matches('"');
        let usual = Usual {
            range,
            least,
            source,
        };
        Some((keys.0, keys.1, keys.2, usual))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_is_in_order_and_has_a_source() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(rows().count(), lines.count() - 1);
        for (.., usual) in rows() {
            let (low, high) = usual.range;
            assert!(usual.least < low && low < high && high < 1.0, "{usual:?}");
            assert!(usual.source.len() > 10, "{usual:?}");
        }
    }

    #[test]
    fn a_link_has_the_row_of_its_generation_and_width_or_that_of_any() {
        let link = |generation, width| PcieLink::new(generation, width).ok();
        let low = |over, link| of(over, link).map(|usual| usual.range.0);
        // 25.9 / 28.81 = 0.90; a link of eight lanes has no row of its own.
        assert_eq!(low(Over::Host, link(4, 16)), Some(0.90));
        assert_eq!(low(Over::Host, link(4, 8)), Some(0.83));
        assert_eq!(low(Over::Peer, None), Some(0.75));
        // 376 / 478 = 0.79, 230 / 309 = 0.74.
        assert_eq!(low(Over::NvLink, link(5, 16)), Some(0.74));
    }
}
