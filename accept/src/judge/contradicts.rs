//! Copies that carried more than the link that was read beside them can: then the reading is not that of the copy.
//!
//! Only what was read is held against copies here; what the profile expects of a link contradicts nothing.

use topology::{PathType, PcieLink};

use super::copies::{host_figure, pair_figure};
use super::judging::Judging;
use super::pool::Device;
use super::three_way::Figure;
use crate::plural::plural;

/// By how much a copy may lie above what its link carries before the two contradict each other (our choice: more than what a payload
/// size that was assumed can make, which is 4.5% from 256 to 512 B).
const ABOVE: f64 = 1.05;

/// Kinds of copies between host memory and a device, which all go over its link.
const HOST_COPIES: [&str; 4] = ["h2d_pinned", "d2h_pinned", "h2d_pageable", "d2h_pageable"];

/// In words, how a figure contradicts the links that were read of these devices; `None` where it does not.
pub(super) fn of_figure(
    judging: &Judging<'_>,
    labels: &[String],
    figure: &Figure,
) -> Option<String> {
    let devices = labels.iter().filter_map(|label| judging.pool.device(label));
    devices
        .filter_map(ceiling)
        .find(|(_, most)| is_above(figure, *most))
        .map(|(link, most)| words(figure, link, most))
}

/// The same for all copies over the link of one device, the fastest of those that contradict it.
pub(super) fn of_device(judging: &Judging<'_>, device: &Device) -> Option<String> {
    let (link, most) = ceiling(device)?;
    let label = &device.it.label;
    let host = HOST_COPIES
        .iter()
        .filter_map(|kind| host_figure(judging, kind, label));
    let pairs = judging.pool.pairs().into_iter();
    let own = pairs.filter(|pair| [&pair.0, &pair.1].contains(&label));
    let peers = own.filter(|pair| is_over_pcie(judging, pair));
    let peers = peers.filter_map(|pair| pair_figure(judging, &pair));
    let above = host.chain(peers).map(|(figure, _)| figure);
    above
        .filter(|figure| is_above(figure, most))
        .max_by(|a, b| a.value.total_cmp(&b.value))
        .map(|figure| words(&figure, link, most))
}

/// Whether what goes between two devices goes over the links of both: it does not over a link beside PCI Express, inside one device,
/// or where the path is not known.
pub(super) fn is_over_pcie(judging: &Judging<'_>, (a, b): &(String, String)) -> bool {
    use PathType as P;
    matches!(
        judging.pool.path(a, b),
        P::Pix | P::Pxb | P::Phb | P::Node | P::Sys
    )
}

/// The fastest link that was read of a device under load, and what it carries in GB/s.
fn ceiling(device: &Device) -> Option<(PcieLink, f64)> {
    let read = device
        .loaded
        .iter()
        .filter_map(|(reading, _)| reading.limiting());
    let link = read.reduce(|a, b| if a.cmp_rate(b).is_lt() { b } else { a })?;
    let payload = device
        .it
        .max_payload_bytes
        .unwrap_or(super::held::ASSUMED_PAYLOAD_BYTES);
    Some((link, link.payload_ceiling_gb_per_s(payload)))
}

/// Whether a figure lies wholly above what a link carries: with its interval, or, without one, with every sample.
fn is_above(figure: &Figure, most: f64) -> bool {
    let least = figure.samples.iter().copied().reduce(f64::min);
    let low = figure.ends.map(|(low, _)| low).or(least);
    low.is_some_and(|low| low > most * ABOVE)
}

fn words(figure: &Figure, link: PcieLink, most: f64) -> String {
    format!(
        "copies carried {:.1} GB/s ({}), and {link} carries {most:.1} at most: the reading is not that of this copy (stale, or a guest's)",
        figure.value,
        plural(figure.n, "sample")
    )
}
