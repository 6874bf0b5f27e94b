//! `numactl --hardware`: nodes, their CPUs, memory and distances.
//!
//! A line that it does not know is an error: numactl says more on other machines than these, and nothing is passed over.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use super::cpus::{self, Cpus};

/// A node as numactl shows it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) cpus: Cpus,
    /// Memory in MiB, rounded down, which numactl calls MB.
    pub(crate) mib: u64,
    /// Distance to each node.
    pub(crate) distances: BTreeMap<u32, u32>,
}

/// Reads the whole text.
pub(crate) fn read(text: &str) -> Result<BTreeMap<u32, Node>> {
    let mut nodes: BTreeMap<u32, Node> = BTreeMap::new();
    let mut columns: Option<Vec<u32>> = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        entry(line, &mut nodes, &mut columns).with_context(|| format!("numactl says `{line}`"))?;
    }
    if nodes.is_empty() {
        bail!("numactl names no node");
    }
    Ok(nodes)
}

fn entry(
    line: &str,
    nodes: &mut BTreeMap<u32, Node>,
    columns: &mut Option<Vec<u32>>,
) -> Result<()> {
    if line.starts_with("available:") || line == "node distances:" {
        return Ok(());
    }
    if let Some(columns) = columns {
        let (id, distances) = line.split_once(':').context("a row has a colon")?;
        let distances = distances.split_whitespace().map(str::parse);
        let node = nodes
            .get_mut(&id.trim().parse()?)
            .context("a row of a node that was not named")?;
        for (&column, distance) in columns.iter().zip(distances) {
            node.distances.insert(column, distance?);
        }
        return Ok(());
    }
    let rest = line.strip_prefix("node ").context("it is not known")?;
    let Some((head, value)) = rest.split_once(':') else {
        *columns = Some(
            rest.split_whitespace()
                .map(str::parse)
                .collect::<Result<_, _>>()?,
        );
        return Ok(());
    };
    let (id, what) = head.split_once(' ').context("it is not known")?;
    let node = nodes.entry(id.parse()?).or_default();
    match what {
        "cpus" => node.cpus = cpus::words(value).context("CPUs are numbers")?,
        "size" => {
            let size = value.trim().strip_suffix(" MB").context("it is in MB")?;
            node.mib = size.parse()?;
        }
        "free" => {}
        _ => bail!("it is not known"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR_NODES: &str = include_str!("../samples/b-numactl.txt");

    #[test]
    fn nodes_with_and_without_cpus_are_read_with_their_distances() {
        let nodes = read(FOUR_NODES).unwrap();
        assert_eq!(nodes.len(), 4);
        assert_eq!(nodes[&0].cpus, Cpus::from([0, 1]));
        assert_eq!(nodes[&2].cpus, Cpus::from([3]));
        assert_eq!(
            nodes[&3],
            Node {
                cpus: Cpus::new(),
                mib: 220,
                distances: BTreeMap::from([(0, 17), (1, 28), (2, 28), (3, 10)]),
            }
        );
    }

    #[test]
    fn what_is_not_numactls_is_an_error_that_shows_the_line() {
        for text in ["", "No NUMA available on this system\n", "node 0 cpus: a\n"] {
            assert!(read(text).is_err(), "{text}");
        }
        let error = read("node 0 colour: red\n").unwrap_err();
        assert!(format!("{error:#}").contains("`node 0 colour: red`"));
    }
}
