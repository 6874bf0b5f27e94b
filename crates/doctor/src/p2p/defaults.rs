//! How far libraries go directly where nobody says otherwise, as their sources say.

use PathType::{Pxb, Sys};
use topology::{Cpus, PathType};

use super::Library;

/// Processors that the rules tell apart, by what the processor reports, as NCCL does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Processor {
    Amd,
    Intel,
    Zhaoxin,
    Arm,
    /// An x86 of another vendor, such as Hygon.
    OtherX86,
}

/// Where RCCL does not go across host bridges.
pub(super) const CLAMPED: &[Processor] = &[Processor::Arm, Processor::Intel, Processor::Zhaoxin];

/// The first NCCL that goes across host bridges on AMD's processors only, and there only with two GPUs. Older ones are not judged.
const NARROWED: &[u32] = &[2, 23];

/// How far a library goes by default; `None` where that was not read in its source.
pub(super) fn level(
    library: &Library<'_>,
    processor: Processor,
    devices: usize,
) -> Option<PathType> {
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
    pub(super) fn of(cpu: &Cpus) -> Option<Self> {
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
