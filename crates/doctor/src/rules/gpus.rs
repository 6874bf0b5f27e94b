//! A GPU and what stands between two: MIG and virtual GPUs, IOMMU, ACS, windows to memory, AMD's peer links; and repairs of its memory.

use topology::vendor::{AMD, NVIDIA};
use topology::{Fact, IommuMode, PathType, PeerSurroundings};

use super::{Silent, Told};
use crate::{Facts, Finding, Gpu, Pair, Verdict};

/// A virtual GPU that shares its GPU by time may have peer access: that depends on GPU, release and host.
pub(super) fn forbidden(facts: &Facts, gpu: &Gpu) -> Told {
    if gpu.vendor() != Some(NVIDIA) {
        return Err(Silent::Elsewhere);
    }
    let (mig, name) = (gpu.device.mig, gpu.device.name.as_deref());
    let profile = name.and_then(vgpu_profile);
    let is_instance = mig == Some(true) || profile.is_some_and(|(_, is_mig)| is_mig);
    let finding = match (is_instance, profile, mig.zip(name)) {
        (true, ..) => Finding::of(Verdict::Bad).with("MIG instance", true),
        (false, Some(_), _) => Finding::of(Verdict::Unknown),
        (false, None, Some(_)) => Finding::ok().with("MIG instance", false),
        (false, None, None) => {
            let unasked = "no management library says whether it is a MIG instance";
            return Err(facts.given.undriven.as_deref().unwrap_or(unasked).into());
        }
    };
    Ok(finding.with_some("vGPU profile", profile.map(|(profile, _)| profile)))
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

pub(super) fn iommu(_: &Facts, pair: &Pair) -> Told {
    let around = pair.around.told()?;
    let modes: Vec<String> = around.iommu.iter().map(ToString::to_string).collect();
    let finding = match &around.iommu {
        _ if translates(around) => Finding::warn_if(true),
        [Fact::Unknown(why), _] | [_, Fact::Unknown(why)] => return Err(why.as_str().into()),
        [Fact::Known(_), Fact::Known(_)] => Finding::ok(),
    };
    Ok(finding.with("IOMMU", modes))
}

pub(super) fn acs(_: &Facts, pair: &Pair) -> Told {
    let around = pair.around.told()?;
    let ports = around.acs.told()?;
    let at = around.redirecting().map(|port| port.address.to_string());
    let at: Vec<String> = at.collect();
    if !at.is_empty() {
        let is_below_a_switch = matches!(pair.path, PathType::Pix | PathType::Pxb);
        let is_bad = translates(around) || is_below_a_switch;
        let verdict = if is_bad { Verdict::Bad } else { Verdict::Warn };
        return Ok(Finding::of(verdict).with("redirects at", at));
    }
    for port in ports {
        if let Fact::Unknown(why) = &port.control {
            return Ok(Finding::unknown(why).with("at", port.address.to_string()));
        }
    }
    Ok(Finding::ok().with("ports without redirect", ports.len()))
}

/// AMD's driver allows no peer access without a window to all of the memory.
pub(super) fn large_bar(_: &Facts, gpu: &Gpu) -> Told {
    let bar = gpu.bar.told()?;
    let verdict = match (bar.is_large(), gpu.vendor()) {
        (true, _) => Verdict::Ok,
        (false, Some(AMD)) => Verdict::Bad,
        (false, _) => Verdict::Warn,
    };
    Ok(Finding::of(verdict).with("BAR1", bar.to_string()))
}

pub(super) fn kfd(facts: &Facts) -> Told {
    if !facts.has_vendor(AMD) || facts.gpus.len() < 2 {
        return Err(Silent::Elsewhere);
    }
    let [gpus, linked] = *facts.host.kfd_peers.told()?;
    let pairs = gpus * gpus.saturating_sub(1) / 2;
    let finding = match pairs {
        0 => Finding::of(Verdict::Unknown),
        pairs => Finding::warn_if(linked != pairs),
    };
    let finding = finding
        .with("GPUs", gpus)
        .with("pairs", pairs)
        .with("with a link", linked);
    Ok(finding.within(&facts.host.kfd_peers))
}

pub(super) fn repairs(_: &Facts, gpu: &Gpu) -> Told {
    let repairs = gpu.device.repairs.told()?;
    let (rows, pages) = (repairs.rows.known(), repairs.pages.known());
    if let (Fact::Unknown(rows), Fact::Unknown(pages)) = (&repairs.rows, &repairs.pages) {
        let other = (rows != pages).then_some(pages.as_str());
        return Ok(Finding::unknown(rows).with_some("detail", other));
    }
    let failed = rows.is_some_and(|rows| rows.failed)
        || pages.is_some_and(|pages| pages.failed.is_some_and(|failed| failed > 0));
    let waits = rows.is_some_and(|rows| rows.pending) || pages.is_some_and(|pages| pages.pending);
    let is_repaired = rows.is_some_and(|rows| rows.uncorrected > 0)
        || pages.is_some_and(|pages| pages.retired > 0);
    let by_itself = pages.is_some_and(|pages| pages.pending && pages.by_itself);
    let pending = match by_itself {
        true => "pending, driver retires it",
        false => "pending until reset",
    };
    let finding = match failed {
        true => Finding::of(Verdict::Bad),
        false => Finding::warn_if(waits || is_repaired),
    };
    Ok(finding
        .with_some(
            "rows remapped, uncorrectable",
            rows.map(|rows| rows.uncorrected),
        )
        .with_some(
            "rows remapped, correctable",
            rows.map(|rows| rows.corrected),
        )
        .with_some("pages retired", pages.map(|pages| pages.retired))
        .with_some(
            "after double bit errors",
            pages.and_then(|pages| pages.after_lost_data),
        )
        .with_some("repair failed", failed.then_some(true))
        .with_some(pending, waits.then_some(true)))
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
