//! How many pages the kernel gave on each node since it started: `numa_hit` of each node's `numastat`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// Reads lines such as `node1 numa_hit 5120`.
pub(crate) fn read(text: &str) -> Result<BTreeMap<u32, u64>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [node, "numa_hit", count] = words[..] else {
                return None;
            };
            Some((
                node.strip_prefix("node")?.parse().ok()?,
                count.parse().ok()?,
            ))
        })
        .collect::<Option<_>>()
        .with_context(|| format!("the guest's numastat says `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_by_node() {
        let read = |text| read(text).ok();
        assert_eq!(
            read("node0 numa_hit 9\nnode1 numa_hit 5120\n"),
            Some(BTreeMap::from([(0, 9), (1, 5120)]))
        );
        assert_eq!(read("node0 numa_miss 9\n"), None);
    }
}
