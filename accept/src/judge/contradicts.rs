//! Copies that carried more than the link that was read beside them can: then the reading is not that of the copy.
//!
//! Only what was read is held against copies here; what the profile expects of a link contradicts nothing.

use topology::PcieLink;

use super::copies::host_figure;
use super::judging::Judging;
use super::pool::Device;
use super::three_way::Figure;
use crate::plural::plural;

/// By how much a copy may lie above what its link carries before the two contradict each other (our choice: more than what a payload
/// size that was assumed can make, which is 4.5% from 256 to 512 B).
const ABOVE: f64 = 1.05;

/// Kinds of copies between host memory and a device, which all go over its link.
const HOST_COPIES: [&str; 4] = ["h2d_pinned", "d2h_pinned", "h2d_pageable", "d2h_pageable"];

/// A figure and a reading that cannot both be right.
pub(super) struct Contradiction {
    /// Which, in words.
    pub(super) text: String,
    /// Label of the device whose link was read.
    pub(super) label: String,
    /// The link as it was read.
    pub(super) link: PcieLink,
    /// What copies carried, in GB/s.
    pub(super) carried: f64,
}

/// How a figure contradicts the links that were read of these devices; `None` where it does not.
///
/// A copy between two devices is one only where copies with the host contradict the same link already: it may go over a link beside
/// PCI Express that the path class does not name.
pub(super) fn of_figure(
    judging: &Judging<'_>,
    labels: &[String],
    figure: &Figure,
) -> Option<Contradiction> {
    let devices = labels.iter().filter_map(|label| judging.pool.device(label));
    devices
        .filter(|device| labels.len() == 1 || of_device(judging, device).is_some())
        .filter_map(|device| Some((device, ceiling(device)?)))
        .find(|(_, (_, most))| is_above(figure, *most))
        .map(|(device, of)| contradiction(figure, device, of))
}

/// The same for all copies between host memory and one device, the fastest of those that contradict its link.
pub(super) fn of_device(judging: &Judging<'_>, device: &Device) -> Option<Contradiction> {
    let (link, most) = ceiling(device)?;
    let label = &device.it.label;
    let host = HOST_COPIES
        .iter()
        .filter_map(|kind| host_figure(judging, kind, label));
    host.map(|(figure, _)| figure)
        .filter(|figure| is_above(figure, most))
        .max_by(|a, b| a.value.total_cmp(&b.value))
        .map(|figure| contradiction(&figure, device, (link, most)))
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

fn contradiction(figure: &Figure, device: &Device, (link, most): (PcieLink, f64)) -> Contradiction {
    let text = format!(
        "copies carried {:.1} GB/s ({}), and {link} carries {most:.1} at most: the reading is not that of this copy (stale, or a guest's)",
        figure.value,
        plural(figure.n, "sample")
    );
    Contradiction {
        text,
        label: device.it.label.clone(),
        link,
        carried: figure.value,
    }
}

/// What to do where the link that was read of a device and its copies cannot both be right.
pub(super) fn advice(judging: &Judging<'_>, device: &Device, found: &Contradiction) -> String {
    let address = device.it.address.map(|address| address.to_string());
    let port = match &address {
        Some(address) => format!("the port above {address} (`p2p-bw topo` names it)"),
        None => "the port above the card (`p2p-bw topo` names it)".to_owned(),
    };
    let own = match (judging.pool.backend.as_deref(), address) {
        (Some("cuda"), Some(address)) => format!(
            "`nvidia-smi --query-gpu=pstate,pcie.link.gen.current,pcie.link.width.current --format=csv -i {address}`"
        ),
        (Some("cuda"), None) => "`nvidia-smi -q -d PERFORMANCE`".to_owned(),
        (Some("hip"), _) => "`amd-smi metric --pcie`".to_owned(),
        (Some("maca"), _) => "`mx-smi`".to_owned(),
        _ => "the vendor's tool".to_owned(),
    };
    format!(
        "the link of {} was read as {} and its copies carried {:.1} GB/s, of which one is wrong: while copies run, read LnkSta of {port} \
         with `lspci -vv -s ADDRESS` as root, and {own}; then run again, on the host itself where this is a guest",
        found.label, found.link, found.carried
    )
}
