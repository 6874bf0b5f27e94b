//! What stands between two GPUs: MIG and virtual GPUs, IOMMU, ACS, windows to memory, AMD's peer links.

use topology::vendor::{AMD, NVIDIA};
use topology::{Fact, IommuMode, PeerSurroundings};

use super::{of_fact, of_file, of_gpus, of_pairs};
use crate::{Facts, Finding, Gpu, Verdict};

/// A virtual GPU that shares its GPU by time may have peer access: that depends on GPU, release and host.
pub(super) fn forbidden(facts: &Facts) -> Vec<Finding> {
    let findings = of_gpus(facts, |gpu| {
        let virtual_gpu = gpu.name.as_deref().and_then(vgpu_profile);
        match (gpu.mig, virtual_gpu, &gpu.name) {
            (Some(true), ..) => Finding::of(Verdict::Bad).with("MIG instance", true),
            (_, Some((profile, true)), _) => Finding::of(Verdict::Bad)
                .with("MIG instance", true)
                .with("vGPU profile", profile),
            (_, Some((profile, false)), _) => {
                Finding::of(Verdict::Unknown).with("vGPU profile", profile)
            }
            (Some(false), None, Some(_)) => Finding::ok().with("MIG instance", false),
            _ => {
                let why = facts.given.undriven.clone();
                let unasked = "no management library says whether it is a MIG instance";
                Finding::unknown(why.unwrap_or_else(|| unasked.to_owned()))
            }
        }
    });
    let of_nvidia = |(gpu, _): &(&Gpu, Finding)| gpu.vendor == Some(NVIDIA);
    let both = facts.gpus.iter().zip(findings).filter(of_nvidia);
    both.map(|(_, finding)| finding).collect()
}

/// The profile at the end of a virtual GPU's name: `48Q` of `NVIDIA L40-48Q`, gigabytes and one of four series; and whether the number
/// of a MIG instance's slices stands before it, as in `DC-4-96Q`.
fn vgpu_profile(name: &str) -> Option<(&str, bool)> {
    let (before, profile) = name.rsplit_once('-')?;
    let size = profile.strip_suffix(['Q', 'C', 'A', 'B'])?;
    let plain = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
    let slices = before.rsplit_once('-').map(|(_, slices)| slices);
    let is_mig_backed = slices.is_some_and(|slices| slices.parse::<u8>().is_ok());
    plain.then_some((profile, is_mig_backed))
}

fn translates(around: &PeerSurroundings) -> bool {
    let mut modes = around.iommu.iter();
    modes.any(|mode| mode.known() == Some(&IommuMode::Translated))
}

pub(super) fn iommu(facts: &Facts) -> Vec<Finding> {
    of_pairs(facts, |pair| {
        of_fact(&pair.around, |around| {
            let modes: Vec<String> = around.iommu.iter().map(ToString::to_string).collect();
            match &around.iommu {
                _ if translates(around) => Finding::warn_if(true).with("IOMMU", modes),
                [Fact::Unknown(why), _] | [_, Fact::Unknown(why)] => Finding::unknown(why),
                [Fact::Known(_), Fact::Known(_)] => Finding::ok().with("IOMMU", modes),
            }
        })
    })
}

pub(super) fn acs(facts: &Facts) -> Vec<Finding> {
    of_pairs(facts, |pair| {
        of_fact(&pair.around, |around| {
            of_fact(&around.acs, |ports| {
                let redirecting = around.redirecting();
                let at: Vec<String> = redirecting.map(|port| port.address.to_string()).collect();
                let unread = ports.iter().find_map(|port| match &port.control {
                    Fact::Unknown(why) => Some((port.address, why)),
                    Fact::Known(_) => None,
                });
                match (at.is_empty(), unread) {
                    (true, Some((address, why))) => {
                        Finding::unknown(why).with("at", address.to_string())
                    }
                    (true, None) => Finding::ok().with("ports without redirect", ports.len()),
                    (false, _) => {
                        let is_bad = translates(around) || pair.below_a_switch();
                        let verdict = if is_bad { Verdict::Bad } else { Verdict::Warn };
                        Finding::of(verdict).with("redirects at", at)
                    }
                }
            })
        })
    })
}

/// AMD's driver allows no peer access without a window to all of the memory.
pub(super) fn large_bar(facts: &Facts) -> Vec<Finding> {
    of_gpus(facts, |gpu| {
        of_fact(&gpu.bar, |bar| {
            let verdict = match (bar.is_large(), gpu.vendor) {
                (true, _) => Verdict::Ok,
                (false, Some(AMD)) => Verdict::Bad,
                (false, _) => Verdict::Warn,
            };
            Finding::of(verdict).with("BAR1", bar.to_string())
        })
    })
}

pub(super) fn kfd(facts: &Facts) -> Vec<Finding> {
    if !facts.has_vendor(AMD) || facts.gpus.len() < 2 {
        return Vec::new();
    }
    vec![of_file(&facts.host.kfd_peers, |[gpus, linked]| {
        let pairs = gpus * gpus.saturating_sub(1) / 2;
        let finding = match pairs {
            0 => Finding::of(Verdict::Unknown),
            pairs => Finding::warn_if(*linked != pairs),
        };
        finding
            .with("GPUs", *gpus)
            .with("pairs", pairs)
            .with("with a link", *linked)
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_gpu_is_known_by_the_end_of_its_name() {
        for (name, profile) in [
            (
                "NVIDIA RTX Pro 6000 Blackwell DC-4-96Q",
                Some(("96Q", true)),
            ),
            ("NVIDIA L40-48Q", Some(("48Q", false))),
            ("NVIDIA H100XM-80C", Some(("80C", false))),
            ("NVIDIA A100-SXM4-40GB", None),
            ("NVIDIA L40", None),
            ("GRID V100D-C", None),
        ] {
            assert_eq!(vgpu_profile(name), profile, "{name}");
        }
    }
}
