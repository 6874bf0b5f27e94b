//! Lines of the kernel's log that tell of a fault of a device or a link, of lost memory, or of a killed process.
//!
//! Numbers of Xid events are those of NVIDIA's catalogue; what a number that is not here means is not known, and it warns. Nothing is
//! read here.

use crate::Verdict;

/// Xid numbers that tell of the device or its link, or of an application's fault, and what they mean (NVIDIA, XID Errors).
const XIDS: &[(u32, Verdict, &str)] = &[
    (13, Verdict::Warn, "a kernel of an application faulted"),
    (
        31,
        Verdict::Warn,
        "an application touched memory that is not its own",
    ),
    (43, Verdict::Warn, "an application's channel was stopped"),
    (
        45,
        Verdict::Warn,
        "channels were cleaned up after a process ended",
    ),
    (
        48,
        Verdict::Bad,
        "memory had an error that could not be corrected",
    ),
    (61, Verdict::Bad, "the device's own controller halted"),
    (62, Verdict::Bad, "the device's own controller halted"),
    (63, Verdict::Warn, "a row of memory was put out of service"),
    (
        64,
        Verdict::Bad,
        "a row of memory could not be put out of service",
    ),
    (74, Verdict::Bad, "an NVLink had an error"),
    (79, Verdict::Bad, "the device fell off the bus"),
    (
        92,
        Verdict::Bad,
        "memory corrects single bits at a high rate",
    ),
    (
        94,
        Verdict::Bad,
        "memory had an error that one application lost its data to",
    ),
    (
        95,
        Verdict::Bad,
        "memory had an error that was not contained",
    ),
    (
        119,
        Verdict::Bad,
        "the device's system processor does not answer",
    ),
    (
        120,
        Verdict::Bad,
        "the device's system processor had an error",
    ),
    (
        140,
        Verdict::Bad,
        "memory had errors that could not be corrected",
    ),
    (143, Verdict::Bad, "the device could not be initialised"),
    (
        154,
        Verdict::Bad,
        "the device asks to be reset or for the machine to be started anew",
    ),
];

/// What a line has to hold, all of it; the first row that fits.
const LINES: &[(&[&str], Verdict, &str)] = &[
    (
        &["amdgpu", "GPU reset"],
        Verdict::Bad,
        "an AMD GPU was reset",
    ),
    (
        &["amdgpu", "ring", "timeout"],
        Verdict::Bad,
        "a queue of an AMD GPU hung",
    ),
    (
        &["amdgpu", "uncorrectable hardware errors"],
        Verdict::Bad,
        "an AMD GPU had errors that could not be corrected",
    ),
    (
        &["amdgpu", "device lost from bus"],
        Verdict::Bad,
        "an AMD GPU fell off the bus",
    ),
    (
        &["amdgpu", "correctable hardware errors"],
        Verdict::Warn,
        "an AMD GPU corrected errors",
    ),
    (
        &["severity=Uncorrect"],
        Verdict::Bad,
        "a link lost packets or itself",
    ),
    (
        &["AER:", "Uncorrect"],
        Verdict::Bad,
        "a link lost packets or itself",
    ),
    (&["AER:", "Fatal"], Verdict::Bad, "a link was lost"),
    (
        &["severity=Correct"],
        Verdict::Warn,
        "a link corrected errors",
    ),
    (&["AER:", "error"], Verdict::Warn, "a link had errors"),
    (&["pciehp", "Link Down"], Verdict::Bad, "a link went down"),
    (
        &["AMD-Vi:", "IO_PAGE_FAULT"],
        Verdict::Bad,
        "the IOMMU refused a device's request",
    ),
    (
        &["DMAR:", "fault"],
        Verdict::Bad,
        "the IOMMU refused a device's request",
    ),
    (
        &["EDAC", " UE "],
        Verdict::Bad,
        "host memory had an error that could not be corrected",
    ),
    (
        &["EDAC", " CE "],
        Verdict::Warn,
        "host memory corrected errors",
    ),
    (
        &["[Hardware Error]", "Uncorrected"],
        Verdict::Bad,
        "the processor reported an error that could not be corrected",
    ),
    (
        &["[Hardware Error]"],
        Verdict::Warn,
        "the processor reported an error",
    ),
    (
        &["available PCIe bandwidth, limited by"],
        Verdict::Warn,
        "a link is narrower than its device",
    ),
    (
        &["Out of memory: Killed process"],
        Verdict::Warn,
        "a process was killed for want of memory",
    ),
    (
        &["oom-kill:constraint=CONSTRAINT_MEMCG"],
        Verdict::Warn,
        "a process was killed at the limit of its control group",
    ),
];

/// What a line tells and how much that counts, [`Verdict::Bad`] or [`Verdict::Warn`]; `None` for one that tells of no fault.
#[must_use]
pub fn event(line: &str) -> Option<(Verdict, String)> {
    if let Some(number) = xid(line) {
        let known = XIDS.iter().find(|(known, ..)| *known == number);
        return Some(known.map_or_else(
            || {
                (
                    Verdict::Warn,
                    format!("Xid {number}, which is not known here"),
                )
            },
            |(_, verdict, means)| (*verdict, format!("Xid {number}: {means}")),
        ));
    }
    let fits =
        |(parts, ..): &&(&[&str], Verdict, &str)| parts.iter().all(|part| line.contains(part));
    LINES
        .iter()
        .find(fits)
        .map(|(_, verdict, means)| (*verdict, (*means).to_owned()))
}

/// The number in `NVRM: Xid (PCI:0000:21:00): 79, pid=1, ...`.
fn xid(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once("NVRM: Xid")?;
    let (_, rest) = rest.split_once("): ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_kernels_write_them_are_told_apart() {
        for (line, expected) in [
            (
                "NVRM: Xid (PCI:0000:21:00): 79, pid=1, GPU has fallen off the bus.",
                Some(Verdict::Bad),
            ),
            (
                "NVRM: Xid (PCI:0000:21:00): 31, pid=7, name=python3, Ch 00000008",
                Some(Verdict::Warn),
            ),
            (
                "NVRM: Xid (PCI:0000:21:00): 999, pid=7",
                Some(Verdict::Warn),
            ),
            (
                "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!",
                Some(Verdict::Bad),
            ),
            (
                "amdgpu 0000:03:00.0: amdgpu: 2 uncorrectable hardware errors detected",
                Some(Verdict::Bad),
            ),
            (
                "amdgpu 0000:03:00.0: amdgpu: 3 correctable hardware errors detected",
                Some(Verdict::Warn),
            ),
            (
                "pcieport 0000:20:01.1: AER: Corrected error received: 0000:21:00.0",
                Some(Verdict::Warn),
            ),
            (
                "pcieport 0000:20:01.1: AER: Uncorrected (Non-Fatal) error received: 0000:21:00.0",
                Some(Verdict::Bad),
            ),
            (
                "nvidia 0000:21:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer",
                Some(Verdict::Warn),
            ),
            (
                "nvidia 0000:21:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
                Some(Verdict::Bad),
            ),
            ("EXT4-fs (sda1): mounted filesystem", None),
        ] {
            assert_eq!(event(line).map(|(verdict, _)| verdict), expected, "{line}");
        }
    }
}
