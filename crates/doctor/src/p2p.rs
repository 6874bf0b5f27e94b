//! How far a collective library goes directly from GPU to GPU by PCI Express, as its rules say; whether that works is measured elsewhere.
//!
//! Read in the sources: src/graph/paths.cc `ncclTopoCheckP2p` of NCCL 2.18.5 to 2.30.7, and of RCCL 2.21.5 and 2.30.4 (ROCm/rccl,
//! ROCm/rocm-systems). MetaX publishes nothing of its library's.

use topology::PathType::{Pxb, Sys};
use topology::{Cpus, PathType};

use crate::variables::number;

/// A library of whose rule is asked.
#[derive(Debug, Clone, Copy)]
pub struct Library<'a> {
    /// Its name in small letters.
    pub name: &'a str,
    /// Its version as numbers, such as 2, 28, 9; `None` where it is not known, which stands for the newest.
    pub version: Option<&'a [u32]>,
}

/// How far direct access goes, and what says so; `None` where the rule is not known.
///
/// `devices` are those of one communicator on one host, and `set` gives the value of a variable of this process by its name.
pub fn level_of<'a>(
    library: Library<'_>,
    cpu: &Cpus,
    devices: usize,
    set: impl Fn(&str) -> Option<&'a str>,
) -> Option<(PathType, String)> {
    let processor = Processor::of(cpu);
    let default = processor.and_then(|processor| {
        let level = default_level(&library, processor, devices)?;
        Some((level, format!("default for {devices} GPUs on {processor}")))
    });
    let name = variable(library.name, "P2P_LEVEL");
    let Some(value) = set(&name) else {
        return default;
    };
    match overrules(library, processor) {
        Some(false) => match user_level(library.name, value) {
            Some(level) => Some((level, format!("{name}={value}"))),
            // A word that none of them knows leaves the default as it is.
            None => default,
        },
        Some(true) => default,
        None => None,
    }
}

/// The word that a number stands for, as NCCL's `levelsOldToNew` has it; `None` where the value is no number.
#[must_use]
pub fn word_of_number(value: &str) -> Option<&'static str> {
    const WORDS: [&str; 6] = ["LOC", "PIX", "PXB", "PHB", "SYS", "SYS"];
    let number: usize = value.parse().ok()?;
    Some(WORDS[number.min(WORDS.len() - 1)])
}

/// Whether the user's level and switch count; `None` where that is not known of this version on this processor.
#[must_use]
pub fn obeys(library: Library<'_>, cpu: &Cpus) -> Option<bool> {
    overrules(library, Processor::of(cpu)).map(|overrules| !overrules)
}

/// The last RCCL that was read in which the user's level counts on every processor ends before this.
const RCCL_OBEYS_BELOW: &[u32] = &[2, 22];
/// The first RCCL that was read in which its own level outranks the user's on [`CLAMPED`] processors.
const RCCL_OVERRULES_FROM: &[u32] = &[2, 30];

/// Whether the library's own level outranks the user's; `None` where that is not known of this version or processor.
fn overrules(library: Library<'_>, processor: Option<Processor>) -> Option<bool> {
    if library.name != "rccl" {
        return Some(false);
    }
    if !CLAMPED.contains(&processor?) {
        return Some(false);
    }
    let version = library.version?;
    if version < RCCL_OBEYS_BELOW {
        Some(false)
    } else if version >= RCCL_OVERRULES_FROM {
        Some(true)
    } else {
        None
    }
}

/// The variable that switches direct access off, where it is set so; it outranks every [`level`].
pub fn disabled<'a>(library: &str, set: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let name = variable(library, "P2P_DISABLE");
    (set(&name).and_then(number) == Some(1)).then_some(name)
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

/// How far a value of `NCCL_P2P_LEVEL` lets direct access go; `None` where the library has no such word.
fn user_level(library: &str, value: &str) -> Option<PathType> {
    if let Some(number) = number(value) {
        return Some(match number {
            0 => PathType::Same,
            1 => PathType::Pix,
            2 => PathType::Pxb,
            3 => PathType::Phb,
            _ => PathType::Sys,
        });
    }
    match value {
        // RCCL has a word of its own for what NCCL calls NVL.
        "XGMI" => (library == "rccl").then_some(PathType::Same),
        "NVL" => (library != "rccl").then_some(PathType::Same),
        // Links beside PCI Express only: by PCI Express nothing is near enough.
        "LOC" | "C2C" | "NVB" => Some(PathType::Same),
        "PIX" => Some(PathType::Pix),
        "PXB" | "P2C" | "PXN" => Some(PathType::Pxb),
        "PHB" => Some(PathType::Phb),
        "SYS" => Some(PathType::Sys),
        _ => None,
    }
}

/// Processors that the rules tell apart, by what the processor reports, as NCCL does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Processor {
    Amd,
    Intel,
    Zhaoxin,
    Arm,
    /// An x86 of another vendor, such as Hygon.
    OtherX86,
}

/// Where RCCL does not go across host bridges.
const CLAMPED: &[Processor] = &[Processor::Arm, Processor::Intel, Processor::Zhaoxin];

/// The first NCCL that goes across host bridges on AMD's processors only, and there only with two GPUs. Older ones are not judged.
const NARROWED: &[u32] = &[2, 23];

/// How far a library goes by default; `None` where that was not read in its source.
fn default_level(library: &Library<'_>, processor: Processor, devices: usize) -> Option<PathType> {
    let is_old = library.version.is_some_and(|version| version < NARROWED);
    match library.name {
        "nccl" if is_old => None,
        "nccl" if processor == Processor::Amd && devices <= 2 => Some(Sys),
        "nccl" => Some(Pxb),
        "rccl" if CLAMPED.contains(&processor) => Some(Pxb),
        "rccl" => Some(Sys),
        _ => None,
    }
}

impl Processor {
    /// Of the processor's vendor, else of its name; `None` where neither tells.
    fn of(cpu: &Cpus) -> Option<Self> {
        match cpu.vendor.as_deref().map(str::trim) {
            Some("AuthenticAMD") => return Some(Self::Amd),
            Some("GenuineIntel") => return Some(Self::Intel),
            Some("CentaurHauls" | "Shanghai") => return Some(Self::Zhaoxin),
            Some(_) => return Some(Self::OtherX86),
            None => {}
        }
        // A kernel that gives no vendor's word, as on Arm.
        let model = cpu.model.as_deref()?.to_ascii_lowercase();
        let by_name = [
            ("amd", Self::Amd),
            ("intel", Self::Intel),
            ("arm implementer", Self::Arm),
        ];
        let known = by_name.iter().find(|(part, _)| model.contains(part));
        known.map(|(_, processor)| *processor)
    }
}

impl std::fmt::Display for Processor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Amd => "AMD's x86 CPUs",
            Self::Intel => "Intel's CPUs",
            Self::Zhaoxin => "Zhaoxin's CPUs",
            Self::Arm => "Arm CPUs",
            Self::OtherX86 => "x86 CPUs of this vendor",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level<'a>(
        name: &str,
        cpu: &Cpus,
        devices: usize,
        set: impl Fn(&str) -> Option<&'a str>,
    ) -> Option<(PathType, String)> {
        let version = None;
        level_of(Library { name, version }, cpu, devices, set)
    }

    const NONE: fn(&str) -> Option<&'static str> = |_| None;

    fn cpu(vendor: Option<&str>, model: &str) -> Cpus {
        Cpus {
            vendor: vendor.map(str::to_owned),
            model: Some(model.to_owned()),
            ..Cpus::default()
        }
    }

    /// The default of a version on a processor of this vendor.
    fn default_of(name: &str, version: &[u32], vendor: &str, devices: usize) -> Option<PathType> {
        let library = Library {
            name,
            version: (!version.is_empty()).then_some(version),
        };
        let found = level_of(library, &cpu(Some(vendor), "a processor"), devices, NONE);
        found.map(|(level, _)| level)
    }

    #[test]
    fn the_default_depends_on_the_cpus_vendor_and_the_number_of_gpus() {
        let of = |vendor, model, devices| {
            level("nccl", &cpu(vendor, model), devices, NONE).map(|(level, _)| level)
        };
        assert_eq!(of(None, "AMD EPYC 9334", 2), Some(Sys));
        assert_eq!(of(None, "AMD EPYC 9334", 3), Some(Pxb));
        assert_eq!(of(None, "Intel(R) Xeon(R) Gold", 2), Some(Pxb));
        assert_eq!(of(None, "Arm implementer 0x41 part 0xd4f", 2), Some(Pxb));
        // A virtual machine whose CPU is named by its hypervisor: the vendor's word counts.
        assert_eq!(of(Some("AuthenticAMD"), "QEMU Virtual CPU", 2), Some(Sys));
        assert_eq!(of(None, "POWER9", 2), None);
        assert_eq!(level("nccl", &Cpus::default(), 2, NONE), None);
        assert_eq!(level("mccl", &cpu(None, "AMD EPYC 9334"), 2, NONE), None);
    }

    // As each version's source says: NCCL's commit of 2.23.4 narrowed AMD's default, RCCL never did.
    #[test]
    fn the_default_depends_on_the_version_and_on_whose_library_it_is() {
        assert_eq!(default_of("nccl", &[2, 22, 3], "AuthenticAMD", 8), None);
        assert_eq!(
            default_of("nccl", &[2, 23, 4], "AuthenticAMD", 8),
            Some(Pxb)
        );
        assert_eq!(
            default_of("nccl", &[2, 30, 7], "HygonGenuine", 2),
            Some(Pxb)
        );
        assert_eq!(
            default_of("rccl", &[2, 27, 7], "AuthenticAMD", 8),
            Some(Sys)
        );
        assert_eq!(default_of("rccl", &[], "GenuineIntel", 2), Some(Pxb));
        assert_eq!(
            default_of("rccl", &[2, 27, 7], "  Shanghai  ", 2),
            Some(Pxb)
        );
    }

    #[test]
    fn what_the_user_set_outranks_the_default() {
        let intel = cpu(None, "Intel(R) Xeon(R)");
        let set = |name: &str| (name == "NCCL_P2P_LEVEL").then_some("SYS");
        let told = level("nccl", &intel, 8, set);
        assert_eq!(told, Some((Sys, "NCCL_P2P_LEVEL=SYS".to_owned())));
        // MetaX's library does not read NCCL's name.
        assert_eq!(level("mccl", &intel, 8, set), None);
        let near = level("nccl", &intel, 8, |_: &str| Some("near"));
        assert_eq!(near.map(|(level, _)| level), Some(Pxb));
    }

    #[test]
    fn newer_rccl_does_not_let_the_user_widen_its_level_on_intels_processors() {
        let set = |name: &str| (name == "NCCL_P2P_LEVEL").then_some("SYS");
        let of = |version: Option<&[u32]>, vendor| {
            let library = Library {
                name: "rccl",
                version,
            };
            level_of(library, &cpu(Some(vendor), "a processor"), 2, set).map(|(level, _)| level)
        };
        assert_eq!(of(Some(&[2, 21, 5]), "GenuineIntel"), Some(Sys));
        assert_eq!(of(Some(&[2, 30, 4]), "GenuineIntel"), Some(Pxb));
        // In between nothing was read.
        assert_eq!(of(Some(&[2, 27, 7]), "GenuineIntel"), None);
        assert_eq!(of(None, "GenuineIntel"), None);
        assert_eq!(of(None, "AuthenticAMD"), Some(Sys));
    }

    // NCCL's src/graph/paths.cc: LOC, PIX, PXB, PHB, SYS, SYS, and the last for what is larger.
    #[test]
    fn numbers_of_levels_are_said_in_words() {
        assert_eq!(word_of_number("0"), Some("LOC"));
        assert_eq!(word_of_number("3"), Some("PHB"));
        assert_eq!(word_of_number("9"), Some("SYS"));
        assert_eq!(word_of_number("SYS"), None);
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
        assert!(is_beyond(PathType::Node, Pxb));
        assert!(is_beyond(PathType::Pix, PathType::Same));
        assert!(!is_beyond(PathType::Nv(4), PathType::Same));
        assert!(!is_beyond(PathType::Unknown, PathType::Same));
    }
}
