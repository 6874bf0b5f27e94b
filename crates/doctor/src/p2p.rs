//! How far NCCL goes directly from GPU to GPU by PCI Express, as its rules say; whether that works is measured elsewhere.
//!
//! NCCL 2.30, src/graph/paths.cc `ncclTopoCheckP2p`. RCCL and MetaX's library descend from it, with defaults of their own.

use topology::{Cpus, PathType};

/// How far direct access goes, and what says so; `None` where the rule is not known.
///
/// `library` is the library's name in small letters, `devices` those of one communicator on one host, and `set` gives the
/// value of a variable of this process by its name.
pub fn level<'a>(
    library: &str,
    cpu: &Cpus,
    devices: usize,
    set: impl Fn(&str) -> Option<&'a str>,
) -> Option<(PathType, String)> {
    let name = variable(library, "P2P_LEVEL");
    if let Some(value) = set(&name) {
        return user_level(value).map(|level| (level, format!("{name}={value}")));
    }
    // RCCL's and MetaX's defaults are not NCCL's.
    if library != "nccl" {
        return None;
    }
    let model = cpu.model.as_deref().unwrap_or("unknown");
    let is_amd = match cpu.vendor.as_deref() {
        Some(vendor) => vendor == "AuthenticAMD",
        // A kernel that gives no vendor's word, as on Arm.
        None => cpu.model.as_deref()?.contains("AMD"),
    };
    Some(if is_amd && devices <= 2 {
        (
            PathType::Sys,
            format!("its default for {devices} GPUs on AMD's x86 CPUs"),
        )
    } else if is_amd {
        (
            PathType::Pxb,
            format!("its default for more than two GPUs, here {devices}"),
        )
    } else {
        (PathType::Pxb, format!("its default on this CPU, {model}"))
    })
}

/// The variable that switches direct access off, where it is set so; it outranks every [`level`].
pub fn disabled<'a>(library: &str, set: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let name = variable(library, "P2P_DISABLE");
    (set(&name) == Some("1")).then_some(name)
}

/// A library's variable by its ending: RCCL has NCCL's names.
#[must_use]
pub fn variable(library: &str, ending: &str) -> String {
    let prefix = if library == "mccl" { "MCCL" } else { "NCCL" };
    format!("{prefix}_{ending}")
}

/// Whether a path is farther than a level. NCCL counts host bridges of one node as one: `NODE` here is `PHB` there.
#[must_use]
pub fn is_beyond(path: PathType, level: PathType) -> bool {
    let rank = |path: PathType| match path {
        PathType::Same | PathType::Nv(_) | PathType::Mx | PathType::Xgmi => Some(0),
        PathType::Pix => Some(1),
        PathType::Pxb => Some(2),
        PathType::Phb | PathType::Node => Some(3),
        PathType::Sys => Some(4),
        PathType::Unknown => None,
    };
    match (rank(path), rank(level)) {
        (Some(path), Some(level)) => path > level,
        _ => false,
    }
}

/// How far a value of `NCCL_P2P_LEVEL` lets direct access go.
fn user_level(value: &str) -> Option<PathType> {
    match value {
        // Links beside PCI Express only: by PCI Express nothing is near enough.
        "LOC" | "NVL" | "C2C" | "NVB" | "0" => Some(PathType::Same),
        "PIX" | "1" => Some(PathType::Pix),
        "PXB" | "PXN" | "2" => Some(PathType::Pxb),
        "PHB" | "3" => Some(PathType::Phb),
        "SYS" | "4" | "5" | "6" | "7" | "8" | "9" => Some(PathType::Sys),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(vendor: Option<&str>, model: &str) -> Cpus {
        Cpus {
            vendor: vendor.map(str::to_owned),
            model: Some(model.to_owned()),
            ..Cpus::default()
        }
    }

    #[test]
    fn the_default_depends_on_the_cpus_vendor_and_the_number_of_gpus() {
        let none = |_: &str| None;
        let of = |vendor, model, devices| {
            level("nccl", &cpu(vendor, model), devices, none).map(|(level, _)| level)
        };
        assert_eq!(of(None, "AMD EPYC 9334", 2), Some(PathType::Sys));
        assert_eq!(of(None, "AMD EPYC 9334", 3), Some(PathType::Pxb));
        assert_eq!(of(None, "Intel(R) Xeon(R) Gold", 2), Some(PathType::Pxb));
        // A virtual machine whose CPU is named by its hypervisor: the vendor's word counts.
        assert_eq!(
            of(Some("AuthenticAMD"), "QEMU Virtual CPU", 2),
            Some(PathType::Sys)
        );
        assert_eq!(level("rccl", &cpu(None, "AMD EPYC 9334"), 2, none), None);
        assert_eq!(level("nccl", &Cpus::default(), 2, none), None);
    }

    #[test]
    fn what_the_user_set_outranks_the_default() {
        let intel = cpu(None, "Intel(R) Xeon(R)");
        let set = |name: &str| (name == "NCCL_P2P_LEVEL").then_some("SYS");
        let told = level("rccl", &intel, 8, set);
        assert_eq!(told, Some((PathType::Sys, "NCCL_P2P_LEVEL=SYS".to_owned())));
        // MetaX's library does not read NCCL's name.
        assert_eq!(level("mccl", &intel, 8, set), None);
        assert_eq!(level("nccl", &intel, 8, |_: &str| Some("near")), None);
    }

    #[test]
    fn direct_access_is_switched_off_by_one_only() {
        let by = |library, value| disabled(library, move |_: &str| Some(value));
        assert_eq!(by("nccl", "1").as_deref(), Some("NCCL_P2P_DISABLE"));
        assert_eq!(by("mccl", "1").as_deref(), Some("MCCL_P2P_DISABLE"));
        assert_eq!(by("nccl", "0"), None);
    }

    #[test]
    fn host_bridges_of_one_node_are_one_and_nvlink_is_never_too_far() {
        assert!(!is_beyond(PathType::Node, PathType::Phb));
        assert!(is_beyond(PathType::Node, PathType::Pxb));
        assert!(is_beyond(PathType::Pix, PathType::Same));
        assert!(!is_beyond(PathType::Nv(4), PathType::Same));
        assert!(!is_beyond(PathType::Unknown, PathType::Same));
    }
}
