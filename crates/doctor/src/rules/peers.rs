//! What stands between two GPUs: MIG and virtual GPUs, IOMMU, ACS, windows to memory, AMD's peer links.

use topology::vendor::{AMD, NVIDIA};
use topology::{Fact, IommuMode};

use super::{MACHINE, is_guest, root_sees_more};
use crate::{Facts, Finding, Gpu, Pair};

pub(super) fn forbidden(facts: &Facts) -> Vec<Finding> {
    let of_nvidia = facts.gpus.iter().filter(|gpu| gpu.vendor == Some(NVIDIA));
    of_nvidia.map(|gpu| {
        let name = gpu.name.as_deref().unwrap_or("a device without a name");
        let todo = "plan for copies through host memory, or use the GPU whole: MIG off, or passed through";
        if gpu.mig == Some(true) {
            return Finding::bad(&gpu.label, format!("{name} is a MIG instance"), todo);
        }
        let virtual_gpu = gpu.name.as_deref().and_then(vgpu_profile);
        if let Some((profile, is_mig_backed)) = virtual_gpu {
            return if is_mig_backed {
                Finding::bad(&gpu.label, format!("{name} is a virtual GPU on a MIG instance, profile {profile}"), todo)
            } else {
                Finding::cannot_tell(
                    &gpu.label,
                    format!("{name} is a virtual GPU, profile {profile}: whether it has peer access depends on GPU, release and host"),
                )
                .with_todo("nvidia-smi topo -p2p r says what the driver allows; then check with p2p-bw")
            };
        }
        match (gpu.mig, &gpu.name) {
            (Some(_), Some(_)) => Finding::ok(&gpu.label, format!("{name} is neither a MIG instance nor a virtual GPU")),
            _ => {
                let why = facts.given.undriven.clone();
                Finding::cannot_tell(
                    &gpu.label,
                    why.unwrap_or_else(|| "the management library does not say whether it is a MIG instance".to_owned()),
                )
                .with_todo("install NVIDIA's driver with its management library, then look again")
            }
        }
    })
    .collect()
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

pub(super) fn iommu(facts: &Facts) -> Vec<Finding> {
    let todo = "start the kernel with iommu=pt, or switch the IOMMU off in the firmware; then check peer copies with p2p-bw";
    let on_host = is_guest(facts).then_some("look at /sys/kernel/iommu_groups on the host");
    let of = |pair: &Pair| {
        let around = match &pair.around {
            Fact::Known(around) => around,
            Fact::Unknown(why) => return Finding::cannot_tell(&pair.label, why),
        };
        let [a, b] = &around.iommu;
        let translates = |mode: &Fact<IommuMode>| mode.known() == Some(&IommuMode::Translated);
        if translates(a) || translates(b) {
            return Finding::warn(&pair.label, format!("IOMMU: {a} and {b}"), todo);
        }
        match (a, b) {
            (Fact::Known(a), Fact::Known(b)) => {
                Finding::ok(&pair.label, format!("IOMMU: {a} and {b}"))
            }
            (Fact::Unknown(why), _) | (_, Fact::Unknown(why)) => {
                Finding::cannot_tell(&pair.label, format!("IOMMU: {why}")).with_advice(on_host)
            }
        }
    };
    facts.pairs.iter().map(of).collect()
}

pub(super) fn acs(facts: &Facts) -> Vec<Finding> {
    let advice = if root_sees_more(facts) {
        Some("run this as root, or lspci -vvv as root and look for ACSCtl")
    } else {
        is_guest(facts).then_some("on the host, lspci -vvv as root: look for ACSCtl")
    };
    let pairs = facts.pairs.iter();
    pairs.map(|pair| acs_of(pair, advice)).collect()
}

fn acs_of(pair: &Pair, advice: Option<&str>) -> Finding {
    let around = match &pair.around {
        Fact::Known(around) => around,
        Fact::Unknown(why) => return Finding::cannot_tell(&pair.label, why),
    };
    let ports = match &around.acs {
        Fact::Known(ports) => ports,
        Fact::Unknown(why) => return Finding::cannot_tell(&pair.label, format!("ACS: {why}")),
    };
    let redirecting: Vec<String> = around
        .redirecting()
        .map(|port| port.address.to_string())
        .collect();
    if let Some(first) = redirecting.first() {
        let seen = format!("ACS redirects at {}", redirecting.join(", "));
        let todo = format!(
            "on bare metal: setpci -s {first} ECAP_ACS+0x6.w=0000 as root, for each of these ports, after each start of the machine; \
             it lets devices reach each other past the IOMMU"
        );
        let translates = around
            .iommu
            .iter()
            .any(|mode| mode.known() == Some(&IommuMode::Translated));
        return if translates || pair.below_a_switch() == Some(true) {
            Finding::bad(&pair.label, seen, todo)
        } else {
            Finding::warn(&pair.label, seen, todo)
        };
    }
    let unread = ports.iter().find_map(|port| match &port.control {
        Fact::Unknown(why) => Some(format!("ACS of {}: {why}", port.address)),
        Fact::Known(_) => None,
    });
    match unread {
        Some(why) => Finding::cannot_tell(&pair.label, why).with_advice(advice),
        None => Finding::ok(
            &pair.label,
            format!("ACS redirects nothing at {} ports on the way", ports.len()),
        ),
    }
}

pub(super) fn large_bar(facts: &Facts) -> Vec<Finding> {
    let of = |gpu: &Gpu| match &gpu.bar {
        Fact::Unknown(why) => Finding::cannot_tell(&gpu.label, format!("its window: {why}")),
        Fact::Known(bar) if bar.is_large() => {
            Finding::ok(&gpu.label, format!("its window is {bar}"))
        }
        Fact::Known(bar) => {
            let seen = format!("its window is {bar}");
            let todo = "switch on Above 4G Decoding and Resizable BAR in the firmware";
            if gpu.vendor == Some(AMD) {
                Finding::bad(&gpu.label, seen, todo)
            } else {
                Finding::warn(&gpu.label, seen, todo)
            }
        }
    };
    facts.gpus.iter().map(of).collect()
}

pub(super) fn kfd(facts: &Facts) -> Vec<Finding> {
    if !facts.has_vendor(AMD) || facts.gpus.len() < 2 {
        return Vec::new();
    }
    let read = &facts.host.kfd_peers;
    vec![match read.told() {
        Err(why) => Finding::cannot_tell(MACHINE, why),
        Ok([gpus, _]) if *gpus < 2 => Finding::cannot_tell(
            MACHINE,
            format!("{}: the KFD has {gpus} GPUs, and so no pair", read.source),
        ),
        Ok([gpus, joined]) => {
            let pairs = gpus * (gpus - 1) / 2;
            let seen = format!(
                "{}: {joined} of {pairs} pairs of {gpus} GPUs have a link",
                read.source
            );
            if *joined == pairs {
                Finding::ok(MACHINE, seen)
            } else {
                Finding::warn(
                    MACHINE,
                    seen,
                    "use a kernel with CONFIG_HSA_AMD_P2P and CONFIG_PCI_P2PDMA and switch on Resizable BAR; then check with p2p-bw",
                )
            }
        }
    }]
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
