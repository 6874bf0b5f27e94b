//! [`CpuSet`]: a set of CPU numbers, in the list form that sysfs uses (`0-3,8`).
//!
//! It does not pin anything; crate `numa` does.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The highest CPU number taken; the kernel's largest configuration ends far below (`CONFIG_NR_CPUS` up to 8192).
const HIGHEST_CPU: usize = 65_535;

/// A set of CPU numbers; serialised as the sysfs list, such as `0-3,8`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet {
    /// Sorted, each number once.
    cpus: Vec<usize>,
}

/// A text is not a CPU list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a CPU list; write it as 0-3,8")]
pub struct CpuSetError(pub String);

impl CpuSet {
    /// The numbers, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.cpus.iter().copied()
    }

    /// The numbers, smallest first, as crate `numa` takes them.
    pub fn as_slice(&self) -> &[usize] {
        &self.cpus
    }

    /// Whether the CPU is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        self.cpus.binary_search(&cpu).is_ok()
    }

    /// How many CPUs are in the set.
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Whether the set has no CPU, as a memory-only NUMA node has.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// The smallest CPU number.
    pub fn first(&self) -> Option<usize> {
        self.cpus.first().copied()
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut cpus: Vec<usize> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        Self { cpus }
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        let parts: Vec<String> = ranges
            .into_iter()
            .map(|(first, last)| match first == last {
                true => first.to_string(),
                false => format!("{first}-{last}"),
            })
            .collect();
        f.pad(&parts.join(","))
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    /// Parses a sysfs list; an empty text, as a memory-only node has, is the empty set.
    fn from_str(text: &str) -> Result<Self, CpuSetError> {
        let refuse = || CpuSetError(text.to_owned());
        let list = text.trim();
        if list.is_empty() {
            return Ok(Self::default());
        }
        let mut cpus = Vec::new();
        for part in list.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first = number(first).ok_or_else(refuse)?;
            let last = number(last).ok_or_else(refuse)?;
            // A list that names the same CPUs again and again would fill the memory.
            if first > last || cpus.len() > HIGHEST_CPU {
                return Err(refuse());
            }
            cpus.extend(first..=last);
        }
        Ok(cpus.into_iter().collect())
    }
}

impl TryFrom<String> for CpuSet {
    type Error = CpuSetError;

    fn try_from(text: String) -> Result<Self, CpuSetError> {
        text.parse()
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> Self {
        set.to_string()
    }
}

fn number(text: &str) -> Option<usize> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|&cpu| cpu <= HIGHEST_CPU)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sysfs_list_is_read_and_written_back() {
        let set: CpuSet = "0-127,256-383\n".parse().unwrap();
        // 128 CPUs from 0 and 128 from 256.
        assert_eq!(set.len(), 256);
        assert_eq!(set.first(), Some(0));
        assert!(set.contains(127) && set.contains(256) && !set.contains(128) && !set.contains(384));
        assert_eq!(set.to_string(), "0-127,256-383");
    }

    #[test]
    fn order_and_repeats_do_not_matter() {
        let set: CpuSet = "8,3,0-2,2".parse().unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
        assert_eq!(set.to_string(), "0-3,8");
        assert_eq!(set, [8, 0, 1, 2, 3].into_iter().collect());
    }

    #[test]
    fn an_empty_list_is_an_empty_set() {
        let set: CpuSet = "\n".parse().unwrap();
        assert!(set.is_empty());
        assert_eq!(set.first(), None);
        assert_eq!(set.to_string(), "");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["a", "3-1", "1,", "-", "0-4000000000", "1-2-3", "+1"] {
            assert_eq!(
                text.parse::<CpuSet>().unwrap_err(),
                CpuSetError(text.to_owned())
            );
        }
    }

    #[test]
    fn json_holds_the_list() {
        let set: CpuSet = "4-7".parse().unwrap();
        assert_eq!(serde_json::to_string(&set).unwrap(), "\"4-7\"");
        assert_eq!(serde_json::from_str::<CpuSet>("\"4-7\"").unwrap(), set);
    }
}
