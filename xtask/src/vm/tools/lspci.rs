//! `lspci -t` and `lspci -D -PP`: which function is below which bridge.
//!
//! Names, which `-v` adds to the tree, are passed over.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

/// For each function the bridges above it from the host bridge's bus on, and itself last.
pub(crate) type Chains = BTreeMap<String, Vec<String>>;

/// Where the drawing is: a bus and the bridges that lead to it.
#[derive(Clone, Default)]
struct Bus {
    domain: String,
    /// Absent before a domain was named.
    number: Option<String>,
    above: Vec<String>,
}

/// Reads the tree of `lspci -t`, which shows a function as `00.0`, a bridge as `00.0-[41-47]` and a root as `[0000:40]`.
///
/// A `+` or `\` begins a branch of what was open in its column when the column was first seen.
pub(crate) fn tree(text: &str) -> Result<Chains> {
    let mut chains = Chains::new();
    let mut open: BTreeMap<usize, Bus> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        branch(line, &mut open, &mut chains).with_context(|| format!("lspci -t says `{line}`"))?;
    }
    if chains.is_empty() {
        bail!("lspci -t shows no function");
    }
    Ok(chains)
}

fn branch(line: &str, open: &mut BTreeMap<usize, Bus>, chains: &mut Chains) -> Result<()> {
    let start = line.find(['+', '\\', '-']).context("a line has a branch")?;
    let mut here = open.get(&start).cloned().unwrap_or_default();
    let mut at = start;
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let symbol = rest.as_bytes()[0];
        at += match symbol {
            b'-' | b'\\' => 1,
            b'+' => {
                open.insert(at, here.clone());
                1
            }
            b'[' => {
                let end = rest.find(']').context("a bus has no end")?;
                here = bus(&rest[1..end], here);
                end + 1
            }
            // Two blanks stand before a name.
            b' ' => break,
            _ => {
                let end = rest.find(['-', ' ']).unwrap_or(rest.len());
                let number = here.number.as_deref().context("a function without a bus")?;
                let address = format!("{}:{number}:{}", here.domain, &rest[..end]);
                here.above.push(address.clone());
                chains.insert(address, here.above.clone());
                // What follows on this line is below it; what follows in its column is beside it.
                end
            }
        };
    }
    Ok(())
}

/// The bus of `0000:40`, which has no bridge above, or of `41-47`, which is behind the bridge that was last.
fn bus(text: &str, here: Bus) -> Bus {
    match text.split_once(':') {
        Some((domain, number)) => Bus {
            domain: domain.to_owned(),
            number: Some(number.to_owned()),
            above: Vec::new(),
        },
        None => Bus {
            number: text.split('-').next().map(str::to_owned),
            ..here
        },
    }
}

/// Reads `lspci -D -PP`, which begins a line with `0000:40:00.0/41:00.0`, the domain said once.
pub(crate) fn paths(text: &str) -> Result<Chains> {
    let mut chains = Chains::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let path = line.split(' ').next().unwrap_or_default();
        let (domain, path) = path
            .split_once(':')
            .with_context(|| format!("lspci -PP says `{line}`"))?;
        let chain: Vec<String> = path
            .split('/')
            .map(|function| format!("{domain}:{function}"))
            .collect();
        if let Some(address) = chain.last() {
            chains.insert(address.clone(), chain.clone());
        }
    }
    if chains.is_empty() {
        bail!("lspci -PP shows no function");
    }
    Ok(chains)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cascaded_switches_are_read_from_the_drawing() {
        let chains = tree(include_str!("../samples/c-lspci-tv.txt")).unwrap();
        // 5 functions on bus 00; 40:00.0, 41, 42:00 and 01, 43, 44, 45:00 and 01, 46, 47: 10.
        assert_eq!(chains.len(), 15);
        assert_eq!(
            chains["0000:47:00.0"],
            [
                "0000:40:00.0",
                "0000:41:00.0",
                "0000:42:01.0",
                "0000:44:00.0",
                "0000:45:01.0",
                "0000:47:00.0",
            ]
        );
        assert_eq!(
            chains["0000:43:00.0"],
            [
                "0000:40:00.0",
                "0000:41:00.0",
                "0000:42:00.0",
                "0000:43:00.0"
            ]
        );
        assert_eq!(chains["0000:00:1f.3"], ["0000:00:1f.3"]);
    }

    #[test]
    fn branches_below_a_root_are_beside_each_other() {
        let chains = tree(include_str!("../samples/a-lspci-tv.txt")).unwrap();
        assert_eq!(chains.len(), 14);
        assert_eq!(chains["0000:41:00.0"], ["0000:40:00.0", "0000:41:00.0"]);
        assert_eq!(chains["0000:82:00.0"], ["0000:80:01.0", "0000:82:00.0"]);
        assert_eq!(chains["0000:80:01.0"], ["0000:80:01.0"]);
    }

    #[test]
    fn paths_say_the_domain_once() {
        let chains = paths(
            "0000:00:1f.2 0106: 8086:2922 (rev 02)\n0000:40:00.0/41:00.0/42:01.0 0604: 104c:8233 (rev 01)\n",
        )
        .unwrap();
        assert_eq!(chains["0000:00:1f.2"], ["0000:00:1f.2"]);
        assert_eq!(
            chains["0000:42:01.0"],
            ["0000:40:00.0", "0000:41:00.0", "0000:42:01.0"]
        );
    }

    #[test]
    fn what_is_not_lspcis_is_an_error() {
        for text in ["", "pcilib: Cannot open /proc/bus/pci\n", "-[0000:00\n"] {
            assert!(tree(text).is_err(), "{text}");
        }
        assert!(paths("nothing\n").is_err());
    }
}
