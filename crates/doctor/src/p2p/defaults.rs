//! How far libraries go directly where nobody says otherwise: a row for each default that was read in their sources.

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

/// A default: the first row that fits is the library's.
pub(super) struct Default {
    pub(super) library: &'static str,
    /// The first version that has it, and the first that has it no more.
    from: &'static [u32],
    below: Option<&'static [u32]>,
    /// None of them stands for all.
    processors: &'static [Processor],
    /// The most devices of the communicator on this host.
    devices: Option<usize>,
    pub(super) level: PathType,
}

/// The first NCCL that goes across host bridges on AMD's processors only, and there only with two GPUs.
const NARROWED: &[u32] = &[2, 23];
/// Versions before this one were not read.
pub(super) const FIRST_READ: &[u32] = &[2, 18];
/// Where RCCL does not go across host bridges.
pub(super) const CLAMPED: &[Processor] = &[Processor::Arm, Processor::Intel, Processor::Zhaoxin];
const fn row(
    library: &'static str,
    (from, below): (&'static [u32], Option<&'static [u32]>),
    processors: &'static [Processor],
    devices: Option<usize>,
    level: PathType,
) -> Default {
    Default {
        library,
        from,
        below,
        processors,
        devices,
        level,
    }
}

/// Every default, the more particular first.
pub(super) const DEFAULTS: &[Default] = &[
    row("nccl", (NARROWED, None), &[Processor::Amd], Some(2), Sys),
    row("nccl", (NARROWED, None), &[], None, Pxb),
    row("nccl", (FIRST_READ, Some(NARROWED)), CLAMPED, None, Pxb),
    row("nccl", (FIRST_READ, Some(NARROWED)), &[], None, Sys),
    row("rccl", (FIRST_READ, None), CLAMPED, None, Pxb),
    row("rccl", (FIRST_READ, None), &[], None, Sys),
];

impl Default {
    /// Whether it is the default of this library here.
    pub(super) fn holds(
        &self,
        library: &Library<'_>,
        processor: Processor,
        devices: usize,
    ) -> bool {
        let in_time = library.version.map_or(self.below.is_none(), |version| {
            version >= self.from && self.below.is_none_or(|below| version < below)
        });
        let fits = self.processors.is_empty() || self.processors.contains(&processor);
        self.library == library.name
            && in_time
            && fits
            && self.devices.is_none_or(|most| devices <= most)
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
