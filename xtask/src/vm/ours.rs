//! What our program says of a machine, from its JSON.
//!
//! It reads the interface that users have and uses none of the program's own types.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::tools::cpus::{self, Cpus};

/// `p2p-bw topo --json`.
#[derive(Debug, Default)]
pub(super) struct Topo {
    pub(super) nodes: BTreeMap<u32, Node>,
    pub(super) functions: BTreeMap<String, Function>,
    /// As `nvidia-smi topo -m` names the classes, by two addresses.
    pub(super) smi: Classes,
    /// As NCCL computes them.
    pub(super) nccl: Classes,
}

/// A node.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) cpus: Cpus,
    pub(super) bytes: Option<u64>,
    pub(super) distances: BTreeMap<u32, u32>,
}

/// A PCI function.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) node: Option<u32>,
    /// The functions above it and itself.
    pub(super) chain: Vec<String>,
}

/// The path's class of two addresses.
pub(super) type Classes = BTreeMap<(String, String), String>;

impl Topo {
    /// Reads the whole output.
    pub(super) fn read(output: &str) -> Result<Topo> {
        let json: Value = serde_json::from_str(output).context("topo printed no json")?;
        let mut topo = Topo {
            smi: classes(&json["matrix"]).context("topo's matrix")?,
            nccl: classes(&json["nccl"]).context("topo's matrix of NCCL's classes")?,
            ..Topo::default()
        };
        for node in list(&json["machine"]["nodes"]).context("topo's nodes")? {
            let (id, node) = read_node(node).with_context(|| format!("topo's node {node}"))?;
            topo.nodes.insert(id, node);
        }
        for function in list(&json["tree"]["functions"]).context("topo's tree")? {
            let pci = &function["pci"];
            let (address, function) =
                read_function(pci).with_context(|| format!("topo's function {pci}"))?;
            topo.functions.insert(address, function);
        }
        Ok(topo)
    }
}

/// What became of one node in `p2p-bw numa prove --json`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Proof {
    /// `proven`, or the word for what else it was.
    pub(super) is: String,
    /// The call by which the kernel told.
    pub(super) by: Option<String>,
    pub(super) pages: Option<u64>,
    /// How many pages were then found on each other node that they were moved to.
    pub(super) moved_to: BTreeMap<u32, u64>,
    /// All that is told of it.
    pub(super) text: String,
}

/// Reads the outcome of every node.
pub(super) fn proofs(output: &str) -> Result<BTreeMap<u32, Proof>> {
    let json: Value = serde_json::from_str(output).context("numa prove printed no json")?;
    let mut proofs = BTreeMap::new();
    for node in list(&json["nodes"]).context("numa prove's nodes")? {
        let outcome = &node["outcome"];
        let proof = Proof {
            is: text(&outcome["is"])
                .with_context(|| format!("numa prove's node {node}"))?
                .to_owned(),
            by: outcome["by"].as_str().map(str::to_owned),
            pages: outcome["pages"].as_u64(),
            moved_to: numbers(&outcome["moved_to"]),
            text: outcome.to_string(),
        };
        proofs.insert(number(&node["node"])?, proof);
    }
    Ok(proofs)
}

/// What `numa prove` says of a node that is not there.
pub(super) fn absent(output: &str) -> Result<String> {
    let json: Value = serde_json::from_str(output).context("numa prove printed no json")?;
    Ok(json["absent_node"].to_string())
}

fn read_node(node: &Value) -> Result<(u32, Node)> {
    let distances = node["distances"]
        .as_object()
        .context("it has no distances")?;
    let distances = distances
        .iter()
        .map(|(id, distance)| Ok((id.parse()?, number(distance)?)))
        .collect::<Result<_>>()?;
    Ok((
        number(&node["id"])?,
        Node {
            cpus: cpus::list(text(&node["cpus"])?).context("its CPUs are no list")?,
            bytes: node["memory_bytes"].as_u64(),
            distances,
        },
    ))
}

fn read_function(pci: &Value) -> Result<(String, Function)> {
    let address = text(&pci["address"])?.to_owned();
    let mut chain = list(&pci["chain"])?
        .iter()
        .map(|port| text(port).map(str::to_owned))
        .collect::<Result<Vec<_>>>()?;
    chain.push(address.clone());
    let node = match &pci["node"] {
        Value::Null => None,
        node => Some(number(node)?),
    };
    Ok((address, Function { node, chain }))
}

fn classes(matrix: &Value) -> Result<Classes> {
    let ends = list(&matrix["ends"])?
        .iter()
        .map(|end| text(&end["address"]).map(str::to_owned))
        .collect::<Result<Vec<_>>>()?;
    let mut classes = Classes::new();
    for (row, a) in list(&matrix["classes"])?.iter().zip(&ends) {
        for (class, b) in list(row)?.iter().zip(&ends) {
            classes.insert((a.clone(), b.clone()), text(class)?.to_owned());
        }
    }
    Ok(classes)
}

/// Counts by node; empty where there are none.
fn numbers(value: &Value) -> BTreeMap<u32, u64> {
    let counts = value.as_object().into_iter().flatten();
    counts
        .filter_map(|(id, count)| Some((id.parse().ok()?, count.as_u64()?)))
        .collect()
}

fn list(value: &Value) -> Result<&Vec<Value>> {
    value
        .as_array()
        .with_context(|| format!("no list: {value}"))
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().with_context(|| format!("no text: {value}"))
}

fn number(value: &Value) -> Result<u32> {
    let number = value.as_u64().and_then(|number| number.try_into().ok());
    number.with_context(|| format!("no number: {value}"))
}
