//! Sets of CPUs as the kernel, numactl and hwloc write them.
//!
//! It knows no upper end of CPU numbers and asks no machine.

use std::collections::BTreeSet;

/// CPU numbers.
pub(crate) type Cpus = BTreeSet<u32>;

/// Reads the kernel's list, such as `0-3,8`; nothing is the empty set.
pub(crate) fn list(text: &str) -> Option<Cpus> {
    let mut cpus = Cpus::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

/// Reads numactl's words, such as `0 1 2`.
pub(crate) fn words(text: &str) -> Option<Cpus> {
    text.split_whitespace()
        .map(|word| word.parse().ok())
        .collect()
}

/// Reads hwloc's mask: words of 32 bits in hexadecimal, the highest first, such as `0x1,0x0000000f`.
pub(crate) fn mask(text: &str) -> Option<Cpus> {
    let mut cpus = Cpus::new();
    for (word, base) in text.rsplit(',').zip((0..).step_by(32)) {
        // hwloc leaves a word of zeros empty.
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let bits = match digits {
            "" => 0,
            digits => u32::from_str_radix(digits, 16).ok()?,
        };
        cpus.extend(
            (0..32)
                .filter(|bit| bits >> bit & 1 == 1)
                .map(|bit| base + bit),
        );
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_ways_to_write_a_set_are_read() {
        assert_eq!(list("0-2,8\n"), Some(Cpus::from([0, 1, 2, 8])));
        assert_eq!(list(""), Some(Cpus::new()));
        assert_eq!(list("0-x"), None);
        assert_eq!(words(" 0 1"), Some(Cpus::from([0, 1])));
        // The second word from the right begins at 32: 32 + 0; 0b1100 is 2 and 3.
        assert_eq!(mask("0x1,0x0000000c"), Some(Cpus::from([2, 3, 32])));
        assert_eq!(mask("0x1,,0x0"), Some(Cpus::from([64])));
        assert_eq!(mask("cpus"), None);
    }
}
