//! `lstopo --of xml`: the nodes that hwloc found, and the CPUs that it puts each PCI function beside.
//!
//! It reads the tags and attributes of hwloc's own export and is no reader of XML in general.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use super::cpus::{self, Cpus};

/// What hwloc says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Topology {
    /// Memory of each node in bytes, by its number.
    pub(crate) nodes: BTreeMap<u32, u64>,
    /// By address the CPUs of the nearest object above that has any: the whole machine where hwloc knows no place.
    pub(crate) functions: BTreeMap<String, Cpus>,
    /// All CPUs.
    pub(crate) cpus: Cpus,
}

/// Reads the whole export.
pub(crate) fn read(text: &str) -> Result<Topology> {
    let mut topology = Topology::default();
    // The CPUs of each object that is open; an I/O object has none of its own.
    let mut open: Vec<Option<Cpus>> = Vec::new();
    for tag in text.split('<').skip(1) {
        if tag.starts_with("/object>") {
            open.pop()
                .context("lstopo closes an object that is not open")?;
        } else if tag.starts_with("object ") {
            object(tag, &mut open, &mut topology)
                .with_context(|| format!("lstopo says `<{}`", tag.trim_end()))?;
        }
    }
    if topology.nodes.is_empty() || topology.functions.is_empty() || !open.is_empty() {
        bail!("lstopo shows no NUMA node or no PCI function, or its output ends early");
    }
    Ok(topology)
}

fn object(tag: &str, open: &mut Vec<Option<Cpus>>, topology: &mut Topology) -> Result<()> {
    let cpus = match attribute(tag, "cpuset") {
        Some(mask) => Some(cpus::mask(mask).context("its cpuset is not a mask")?),
        None => None,
    };
    match attribute(tag, "type") {
        Some("Machine") => topology.cpus = cpus.clone().unwrap_or_default(),
        Some("NUMANode") => {
            let id = attribute(tag, "os_index").context("it has no number")?;
            let bytes = attribute(tag, "local_memory").unwrap_or("0");
            topology.nodes.insert(id.parse()?, bytes.parse()?);
        }
        _ => {}
    }
    if let Some(address) = attribute(tag, "pci_busid") {
        let beside = open.iter().rev().flatten().next();
        let beside = beside.context("nothing above it has CPUs")?.clone();
        topology.functions.insert(address.to_owned(), beside);
    }
    if !tag.trim_end().ends_with("/>") {
        open.push(cpus);
    }
    Ok(())
}

/// An attribute's value; hwloc writes double quotes and none inside.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY_ONLY: &str = include_str!("../samples/b-lstopo.xml");

    #[test]
    fn a_function_is_beside_the_cpus_of_the_nearest_object_that_has_some() {
        let topology = read(MEMORY_ONLY).unwrap();
        assert_eq!(topology.cpus, Cpus::from([0, 1, 2, 3]));
        assert_eq!(topology.functions["0000:41:00.0"], Cpus::from([0, 1]));
        assert_eq!(topology.functions["0000:81:00.0"], Cpus::from([3]));
        // On a node without CPUs: hwloc puts it beside the whole machine.
        assert_eq!(topology.functions["0000:c1:00.0"], topology.cpus);
        assert_eq!(topology.nodes.len(), 4);
    }

    #[test]
    fn a_truncated_or_empty_export_is_an_error() {
        let half = &MEMORY_ONLY[..MEMORY_ONLY.len() / 2];
        for text in [
            "",
            half,
            "<object type=\"PCIDev\" pci_busid=\"0000:41:00.0\"/>",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
