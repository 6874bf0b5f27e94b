//! How far the substitution of a link is off: from the published curve of one GPU to that of another, of which nothing is used but
//! the rates of both links.

use crate::attribute::scaled;
use crate::curve::Curve;
use crate::priors::{Priors, PublishedPath};
use crate::what_if::{By, LinkRate};

/// GPUs by a part of their name with their link: RTX PRO 6000 and L40S on PCI Express, H200 on NVLink.
const GPUS: [(&str, &str); 3] = [
    ("rtx pro 6000", "gen5x16"),
    ("l40", "gen4x16"),
    ("h200", "nvlink4"),
];

/// Sizes from 64 KiB to 8 MiB: below them nothing depends on a link.
const SIZES: std::ops::RangeInclusive<u32> = 16..=23;

/// How a set of predictions came out.
#[derive(Debug, Default)]
struct Score {
    within: usize,
    /// Of the middle of each range against what was published, 0.1 being a tenth.
    errors: Vec<f64>,
}

impl Score {
    fn largest(&self) -> f64 {
        self.errors.iter().copied().fold(0.0, f64::max)
    }

    fn median(&self) -> f64 {
        let mut errors = self.errors.clone();
        errors.sort_by(f64::total_cmp);
        errors[errors.len() / 2]
    }
}

fn score(ranks: u32, same_kind: bool) -> Score {
    let priors = Priors::builtin().unwrap();
    let curve = |gpu: &str, path: PublishedPath| {
        let all = priors.curves(Some(gpu), ranks);
        let of = all.into_iter().find(|curve| curve.path == path);
        of.map(Curve::of_published)
    };
    let mut score = Score::default();
    for (from, old) in GPUS {
        for (to, new) in GPUS {
            let (old, new): (LinkRate, LinkRate) = (old.parse().unwrap(), new.parse().unwrap());
            if from == to || old.is_like(new) != same_kind {
                continue;
            }
            let name = if same_kind {
                "link_scaling"
            } else {
                "link_scaling_other_kind"
            };
            let prior = priors.get(name, None, "fp8", "").unwrap();
            let times = |factor: f64| factor * old.gb_per_s() / new.gb_per_s();
            for path in [PublishedPath::Peer, PublishedPath::Custom] {
                let Some((before, after)) = curve(from, path).zip(curve(to, path)) else {
                    continue;
                };
                for bytes in SIZES.map(|power| 1u64 << power) {
                    let us = before.at(bytes).us;
                    let (least, most) = before.on_the_wire(bytes).unwrap();
                    let ends = [least, most].map(|part| {
                        [prior.low, prior.high].map(|factor| us * scaled(part, times(factor)))
                    });
                    let ends = ends.as_flattened();
                    let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
                    let high = ends.iter().copied().fold(0.0, f64::max);
                    let middle = us * scaled(f64::midpoint(least, most), times(prior.at(0.5)));
                    let published = after.at(bytes).us;
                    score.within += usize::from((low..=high).contains(&published));
                    score.errors.push((middle / published - 1.0).abs());
                }
            }
        }
    }
    score
}

#[test]
fn from_one_pci_express_link_to_another_two_gpus_are_told_to_a_tenth() {
    // L40S and RTX PRO 6000 both ways, library and engine's kernel, 8 sizes each. Worked out apart from this code: 29 of 32
    // within the range, errors of the middle at most 29%, in the median of each eight 6 to 11%.
    let got = score(2, true);
    assert_eq!((got.errors.len(), got.within), (32, 29), "{got:?}");
    assert!((got.largest() - 0.29).abs() < 0.01, "{got:?}");
    assert!(got.median() < 0.11, "{got:?}");
}

#[test]
fn between_pci_express_and_nvlink_two_gpus_are_told_to_a_quarter_and_at_worst_to_a_factor_of_two() {
    // Likewise: 60 of 64 within a range that was widened after these curves had been looked at; at most 97%.
    let got = score(2, false);
    assert_eq!((got.errors.len(), got.within), (64, 60), "{got:?}");
    assert!((got.largest() - 0.97).abs() < 0.01, "{got:?}");
    assert!(got.median() < 0.26, "{got:?}");
}

#[test]
fn four_gpus_on_pci_express_share_more_than_their_links() {
    // FIXME: RTX PRO 6000 to H200, four GPUs, the library: 3 of 8 within, at most 160% too slow, since four GPUs share their
    // host's links and not their NVLinks. A count of the links that are crossed at once would fix it.
    let from = |gpu: &str| {
        let priors = Priors::builtin().unwrap();
        let all = priors.curves(Some(gpu), 4);
        let of = all
            .into_iter()
            .find(|curve| curve.path == PublishedPath::Peer);
        Curve::of_published(of.unwrap())
    };
    let (before, after) = (from("rtx pro 6000"), from("h200"));
    let error = |bytes: u64| {
        let (least, most) = before.on_the_wire(bytes).unwrap();
        // 63.0 to 450 GB/s, and the middle of 0.6 to 2.0 in the logarithm.
        let times = (0.6f64 * 2.0).sqrt() * 63.0 / 450.0;
        before.at(bytes).us * scaled(f64::midpoint(least, most), times) / after.at(bytes).us
    };
    assert!(
        (error(512 << 10) - 2.6).abs() < 0.05,
        "{}",
        error(512 << 10)
    );
}

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
