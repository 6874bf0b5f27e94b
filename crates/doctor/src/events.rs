//! Lines of the kernel's log that tell of a fault of a device or a link, of lost memory, or of a killed process: the rows of
//! `events.csv`, each the parts that a line has, how bad it is and what it means.
//!
//! Numbers of Xid events are those of NVIDIA's catalogue; one that is not there warns. Nothing is read here.

use crate::Verdict;

/// How bad a line is and what it means; `None` where it is of nothing that is looked for. The first row that fits counts.
#[must_use]
pub fn event(line: &str) -> Option<(Verdict, String)> {
    let xid = xid(line);
    let fits = |pattern: &str| match (xid, pattern.strip_prefix("xid ")) {
        (Some(xid), Some(number)) => number.parse() == Ok(xid),
        (None, None) => pattern.split('&').all(|part| line.contains(part)),
        _ => false,
    };
    let row = include_str!("events.csv").lines().find_map(|row| {
        let (_, rest) = row.split_once(';').filter(|(pattern, _)| fits(pattern))?;
        let (verdict, means) = rest.split_once(';')?;
        Some((verdict.parse().ok()?, means))
    });
    match (row, xid) {
        (Some((verdict, means)), Some(xid)) => Some((verdict, format!("Xid {xid}: {means}"))),
        (Some((verdict, means)), None) => Some((verdict, means.to_owned())),
        (None, Some(xid)) => Some((Verdict::Warn, format!("Xid {xid}, which is not known here"))),
        (None, None) => None,
    }
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
