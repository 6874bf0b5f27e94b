//! `tplens numa prove`: puts memory on each node and asks the kernel where its pages are. It measures nothing.

use std::collections::BTreeMap;

use ::numa::{HostPages, Placement};
use anyhow::Context;
use clap::Args;
use program::show::Show;
use program::{Stop, outputs};
use record::exit;
use record::unit::ByteCount;
use serde::Serialize;
use topology::{Machine, Sysfs};
use view::{Block, Document, Item, Section, Table, Tone};

/// Version of the JSON.
const SCHEMA: u32 = 4;

/// Pages on each node.
const PAGES: usize = 64;

/// What to prove.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProveArgs {
    /// Only this node, also one that does not exist. Default: every node that has memory.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    node: Option<u32>,

    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// What was found of all nodes.
#[derive(Debug, Serialize)]
struct Proof {
    schema: u32,
    page_bytes: usize,
    bytes: usize,
    nodes: Vec<NodeProof>,
}

/// What was found of one node.
#[derive(Debug, Serialize)]
struct NodeProof {
    node: u32,
    memory_bytes: Option<u64>,
    /// Whether all pages are there.
    is_proven: bool,
    /// The call that says so; `None` where none answers.
    by: Option<&'static str>,
    /// Pages by node.
    on: BTreeMap<u32, u64>,
    /// What was refused.
    refused: Option<String>,
}

/// Proves and prints; gives the exit code: 0 where all of it is proven, 3 where something is not.
pub(crate) fn run(args: &ProveArgs, show: Show) -> Result<u8, Stop> {
    let machine = Machine::read(&Sysfs::real()).context("reading sysfs")?;
    if machine.nodes.is_empty() && args.node.is_none() {
        return Err(Stop::Refused(
            "the kernel shows no NUMA node below /sys/devices/system/node; name one with --node to try it all the same"
                .into(),
        ));
    }
    let page_bytes = rustix::param::page_size();
    let bytes = PAGES * page_bytes;
    let nodes = machine.nodes.iter();
    let has_memory = nodes.filter(|node| node.memory_bytes != Some(0));
    let asked = match args.node {
        Some(node) => vec![node],
        None => has_memory.map(|node| node.id).collect(),
    };
    let nodes = asked.into_iter();
    let proof = Proof {
        schema: SCHEMA,
        page_bytes,
        bytes,
        nodes: nodes.map(|node| of_node(node, bytes, &machine)).collect(),
    };
    let is_whole = !proof.nodes.is_empty() && proof.nodes.iter().all(|node| node.is_proven);
    let printed = match args.json {
        true => outputs::json(&proof)?,
        false => show.print(&document(&proof, is_whole)),
    };
    let unproven = (!is_whole).then_some(exit::INCONCLUSIVE);
    Ok(exit::fold([printed].into_iter().chain(unproven)))
}

fn of_node(node: u32, bytes: usize, machine: &Machine) -> NodeProof {
    let placement = Placement {
        node: Some(node),
        ..Placement::default()
    };
    let pages = HostPages::allocate(bytes, &placement);
    let asked = pages.and_then(|pages| pages.placement_of_all());
    let placed = asked.as_ref().ok();
    NodeProof {
        node,
        memory_bytes: machine.node(node).and_then(|known| known.memory_bytes),
        is_proven: placed.and_then(|placed| placed.single_node()) == Some(node),
        by: placed.map(|placed| placed.by),
        on: placed
            .map(|placed| placed.per_node.clone())
            .unwrap_or_default(),
        refused: asked.err().map(|error| error.to_string()),
    }
}

fn document(proof: &Proof, is_whole: bool) -> Document {
    let mut table = Table::under(["node", "memory", "bound", "asked by"]);
    let mut findings = Vec::new();
    for node in &proof.nodes {
        let memory = node.memory_bytes.map(|bytes| ByteCount(bytes).to_string());
        table.row([
            node.node.to_string(),
            memory.unwrap_or_else(|| "—".to_owned()),
            if node.is_proven { "proven" } else { "unproven" }.to_owned(),
            node.by.unwrap_or("—").to_owned(),
        ]);
        if !node.is_proven {
            let why = node.refused.as_deref().unwrap_or("pages are elsewhere");
            let item = Item::of(Tone::Warning, format!("Node {}: {why}.", node.node));
            findings.push(item.coded("node-unproven"));
        }
    }
    let page = ByteCount(proof.page_bytes as u64);
    let heading = format!("{PAGES} pages of {page} on each node");
    let (tone, answer) = match is_whole {
        true => (Tone::Good, "Memory is where it is asked for."),
        false => (
            Tone::Warning,
            "Not all memory is proven to be where it was asked for.",
        ),
    };
    Document {
        title: "Memory by node".to_owned(),
        tone,
        answer: vec![answer.to_owned()],
        findings,
        sections: vec![Section::new(heading, vec![Block::Table(table)])],
        ..Document::default()
    }
}
