//! What the answer about links rests on: the lowest rates, what is wrong, and what to know before believing it.

use record::caveat::Caveat;
use record::{
    Endpoint, KernelAccess, LinkDevice, LinkReading, Links, Outcome, PeerVerdict, Point, Unmeasured,
};
use stats::Interval;
use topology::PathType;

use crate::cell::number;
use crate::document::{Item, Tone};
use crate::ends::direction;
use crate::lines::{Missing, because, first_of, missing};

use super::usual::{self, Over, Usual};

/// Cases between two devices, the one that stands in the matrix first.
pub(super) const BETWEEN: [&str; 4] = [
    "d2d_write_ce",
    "d2d_read_ce",
    "d2d_write_sm",
    "d2d_staged_ce",
];

/// Copies of so many bytes reach what a link can; smaller ones are held up by their start.
const LARGE: u64 = 16 << 20;

/// By how much a sound machine may stay below the published ones. Our choice: it is near what `accept` warns of.
const MARGIN: f64 = 0.05;

/// The lowest rate of several copies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lowest {
    pub(super) gb_per_s: f64,
    pub(super) interval: Option<Interval>,
    /// Of the link's limit.
    pub(super) fraction: Option<f64>,
    /// The size of the copies, bytes.
    bytes: u64,
    /// What such links usually reach.
    usual: Option<Usual>,
}

impl Lowest {
    /// Less than any healthy link of this kind reaches: the share, and what is usual.
    pub(super) fn below_usual(&self) -> Option<(f64, Usual)> {
        let (fraction, usual) = self.fraction.zip(self.usual)?;
        (fraction < usual.least).then_some((fraction, usual))
    }

    /// What links of this kind reach, where this one misses it by more than machines differ: `(94, 99)`, in percent.
    pub(super) fn usually(&self) -> Option<(f64, f64)> {
        let ((low, high), fraction) = (self.usual?.range, self.fraction?);
        let is_below = fraction < low - MARGIN && self.bytes >= LARGE;
        is_below.then_some((low * 100.0, high * 100.0))
    }
}

/// The point of the largest size of a case that has these ends.
pub(super) fn largest<'a>(
    links: &'a Links,
    case: &str,
    is_it: impl Fn(&Point) -> bool,
) -> Option<&'a Point> {
    let points = links.points.iter();
    let of_case = points.filter(|point| point.case == case && is_it(point));
    of_case.max_by_key(|point| point.bytes)
}

/// The rate of a point, and what is usual over the link of a device.
fn rate(links: &Links, point: &Point, over: Over, device: usize) -> Option<Lowest> {
    let Outcome::Measured { link, .. } = &point.outcome else {
        return None;
    };
    let reading = reading(&links.devices[device]).and_then(LinkReading::limiting);
    let bandwidth = number(point, "bandwidth")?;
    Some(Lowest {
        gb_per_s: bandwidth.value,
        interval: bandwidth.interval,
        fraction: link.fraction.get("bandwidth").copied(),
        bytes: point.bytes,
        usual: usual::of(over, reading),
    })
}

fn lower(one: &Lowest, other: &Lowest) -> std::cmp::Ordering {
    one.gb_per_s.total_cmp(&other.gb_per_s)
}

/// The lowest rate of pinned copies between host and a device.
pub(super) fn host(links: &Links) -> Option<Lowest> {
    let devices = (0..links.devices.len()).flat_map(|at| {
        let device = Endpoint::Device(at);
        ["h2d_pinned_ce", "d2h_pinned_ce"]
            .into_iter()
            .filter_map(move |case| {
                let point = largest(links, case, |it| it.from == device || it.to == device)?;
                rate(links, point, Over::Host, at)
            })
    });
    devices.min_by(lower)
}

/// The lowest rate between two devices of each path class.
pub(super) fn between(links: &Links) -> Vec<(String, Lowest)> {
    let mut all: Vec<(String, Vec<Lowest>)> = Vec::new();
    let count = links.devices.len();
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    for (from, to) in pairs.filter(|(from, to)| from != to) {
        let ends = (Endpoint::Device(from), Endpoint::Device(to));
        let class = links.path(from, to);
        let over = match class {
            PathType::Nv(_) => Over::NvLink,
            _ => Over::Peer,
        };
        let found = BETWEEN[..3].iter().find_map(|case| {
            let point = largest(links, case, |it| (it.from, it.to) == ends)?;
            rate(links, point, over, from)
        });
        let Some(found) = found else {
            continue;
        };
        let path = class.name().into_owned();
        match all.iter_mut().find(|(known, _)| *known == path) {
            Some((_, rates)) => rates.push(found),
            None => all.push((path, vec![found])),
        }
    }
    let least =
        |(path, rates): (String, Vec<Lowest>)| Some((path, rates.into_iter().min_by(lower)?));
    all.into_iter().filter_map(least).collect()
}

/// What stays below what healthy links carry, each with its share and what is usual.
pub(super) fn slow(links: &Links) -> Vec<(String, f64, Usual)> {
    let host = host(links).map(|host| ("Host copies reach".to_owned(), host));
    let between = between(links);
    let peers = between
        .into_iter()
        .map(|(path, lowest)| (format!("P2P over {path} reaches"), lowest));
    let all = host.into_iter().chain(peers);
    all.filter_map(|(what, lowest)| {
        let (fraction, usual) = lowest.below_usual()?;
        Some((what, fraction, usual))
    })
    .collect()
}

/// The state of a device's link, read under load or else idle.
pub(super) fn reading(device: &LinkDevice) -> Option<&LinkReading> {
    device.loaded.as_ref().or(device.idle.as_ref())
}

/// Codes of what is wrong with a link.
const OF_LINKS: [&str; 7] = [
    "link-downshifted",
    "link-below-slot",
    "nvlink-inactive",
    "nvlink-errors-rise",
    "fabric-manager",
    "above-ceiling",
    "kernels-staged",
];

/// What is wrong with links and pairs, or was not measured.
pub(super) fn findings(links: &Links) -> Vec<Item> {
    let place = |point: &Point| format!("{} {}", point.case, direction(point, "bandwidth", links));
    let points = links.points.iter();
    let without = points.filter_map(|point| {
        let (why, seen) = point.outcome.unmeasured()?;
        Some((place(point), why, seen))
    });
    let without: Vec<Missing<'_>> = without.collect();
    let mut all: Vec<Item> = missing(&without).collect();
    all.extend(probes(links));
    for (what, fraction, usual) in slow(links) {
        let [share, low, high] = [fraction, usual.range.0, usual.range.1].map(|part| part * 100.0);
        let source = usual.source;
        let text =
            format!("{what} {share:.0}% of the limit; {low:.0}-{high:.0}% are usual ({source}).");
        all.push(Item::of(Tone::Warning, text).coded("link-slow"));
    }
    let is_measured = |point: &Point| matches!(point.outcome, Outcome::Measured { .. });
    if !links.points.iter().any(is_measured) {
        let reasons = because(&without, Unmeasured::NotApplicable);
        all.extend(first_of(Tone::Warning, "not-measured", &reasons));
    }
    let points = links.points.iter().flat_map(|point| &point.caveats);
    let bad = links.caveats.iter().chain(points);
    let bad = crate::caveats(bad.filter(|caveat| OF_LINKS.contains(&caveat.code())));
    all.extend(bad.into_iter().map(|item| Item {
        tone: Tone::Bad,
        ..item
    }));
    all.sort_by_key(|item| item.tone != Tone::Bad);
    all
}

/// Pairs that are not as they should be, those of one verdict as one line.
fn probes(links: &Links) -> Vec<Item> {
    let label = |at: usize| links.devices.get(at).map_or("?", |one| one.label.as_str());
    let of = |is_it: &dyn Fn(PeerVerdict) -> bool| -> Vec<String> {
        let probes = links.probes.iter().filter(|probe| is_it(probe.verdict));
        let words = |probe: &record::PeerProbe| {
            format!(
                "P2P {}->{} is {}: {}",
                label(probe.from),
                label(probe.to),
                probe.verdict,
                probe.rests_on
            )
        };
        probes.map(words).collect()
    };
    let pair = |from: usize, to: usize| format!("P2P {}->{}", label(from), label(to));
    let pending = links.pending.iter();
    let pending: Vec<String> = pending
        .map(|(from, to)| format!("{}: begun, no verdict", pair(*from, *to)))
        .collect();
    let kernels = links.probes.iter();
    let kernels = kernels.filter_map(|probe| match &probe.kernels {
        KernelAccess::Unusable { reason } => {
            let pair = pair(probe.from, probe.to);
            Some(format!("{pair} fails for kernels: {reason}"))
        }
        _ => None,
    });
    let kernels: Vec<String> = kernels.collect();
    let broken = of(&|verdict| {
        use PeerVerdict::{Failed, Hang, HostLost, WrongData};
        matches!(verdict, Failed | Hang | HostLost | WrongData)
    });
    let indirect = of(&|it| matches!(it, PeerVerdict::Staged | PeerVerdict::Denied));
    let not_tried = of(&|it| it == PeerVerdict::NotTried);
    [
        first_of(Tone::Bad, "peer-broken", &broken),
        first_of(Tone::Bad, "peer-broken", &kernels),
        first_of(Tone::Bad, "peer-broken", &pending),
        first_of(Tone::Warning, "peer-not-direct", &indirect),
        first_of(Tone::Warning, "peer-not-tried", &not_tried),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What to know before believing the numbers. What concerns the sampling of single numbers stands in their tables.
pub(super) fn reservations(links: &Links) -> Vec<Item> {
    let is_elsewhere = |caveat: &&Caveat| {
        let code = caveat.code();
        let minor = [
            "outliers",
            "wide-interval",
            "partly-alone",
            "no-gate",
            "payload-assumed",
        ];
        OF_LINKS.contains(&code) || minor.contains(&code) || code == "load-coverage"
    };
    let points = links.points.iter().flat_map(|point| &point.caveats);
    let all = links.caveats.iter().chain(points);
    crate::caveats(all.filter(|caveat| !is_elsewhere(caveat)))
}
