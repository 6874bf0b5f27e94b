//! What a shell in the guest read of `/sys/bus/pci/devices`, without any program of ours.
//!
//! One line for a function: address, class, node, CPUs in brackets, where its link leads.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use super::cpus::{self, Cpus};

/// A function as the kernel shows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// `numa_node`, which is -1 where the firmware names none.
    pub(crate) node: Option<u32>,
    pub(crate) cpus: Cpus,
    /// The functions above it and itself, from the root bus on.
    pub(crate) chain: Vec<String>,
}

/// Reads all lines, by address.
pub(crate) fn read(text: &str) -> Result<BTreeMap<String, Function>> {
    let mut functions = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (address, function) =
            function(line).with_context(|| format!("the guest's sysfs says `{line}`"))?;
        functions.insert(address, function);
    }
    if functions.is_empty() {
        bail!("the guest's sysfs has no PCI function");
    }
    Ok(functions)
}

fn function(line: &str) -> Result<(String, Function)> {
    let mut address = None;
    let (mut node, mut cpus, mut chain) = (None, None, Vec::new());
    for word in line.split_whitespace() {
        match word.split_once('=') {
            // A value in brackets may have blanks in it, so only the first word is the address.
            None => {
                address.get_or_insert(word);
            }
            Some(("numa_node", number)) => node = Some(number.parse::<i64>()?),
            Some(("cpulist", list)) => cpus = cpus::list(list.trim_matches(['[', ']'])),
            // /sys/devices, the root bus, then functions.
            Some(("real", path)) => {
                chain = path
                    .split('/')
                    .skip_while(|part| !part.starts_with("pci"))
                    .skip(1)
                    .map(str::to_owned)
                    .collect();
            }
            Some(_) => {}
        }
    }
    let function = Function {
        node: u32::try_from(node.context("it has no numa_node")?).ok(),
        cpus: cpus.context("it has no cpulist")?,
        chain,
    };
    let address = address.context("it has no address")?;
    Ok((address.to_owned(), function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_behind_two_switches_and_one_without_a_node_are_read() {
        let functions = read(include_str!("../samples/c-pci.txt")).unwrap();
        assert_eq!(functions.len(), 15);
        assert_eq!(
            functions["0000:00:1f.2"],
            Function {
                node: None,
                cpus: Cpus::from([0, 1, 2, 3]),
                chain: vec!["0000:00:1f.2".to_owned()],
            }
        );
        let nic = &functions["0000:47:00.0"];
        assert_eq!((nic.node, nic.chain.len()), (Some(1), 6));
    }

    #[test]
    fn a_line_without_what_is_needed_is_an_error() {
        for text in [
            "",
            "0000:00:00.0 class=0x060000\n",
            "numa_node=0 cpulist=[0]\n",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
