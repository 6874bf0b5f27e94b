//! `tplens numa prove`: puts memory on each node and asks the kernel where its pages are. It measures nothing.

use std::collections::BTreeMap;

use ::numa::{HostPages, NumaError, PagePlacement, Placement};
use anyhow::Context;
use clap::Args;
use program::show::Show;
use program::{Stop, outputs};
use record::exit;
use record::unit::ByteCount;
use serde::Serialize;
use topology::{CpuSet, Machine, Sysfs};
use view::{Block, Document, Item, Section, Table, Tone};

use super::refuse::Refuse;

/// Version of the JSON.
const SCHEMA: u32 = 3;

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

    #[command(flatten)]
    refuse: Refuse,
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
    /// Its CPUs; `None` where the kernel does not know the node.
    cpus: Option<CpuSet>,
    memory_bytes: Option<u64>,
    outcome: Outcome,
}

/// Where memory is that was bound to a node.
#[derive(Debug, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
enum Outcome {
    /// All pages are on the node, by the call that says so.
    Proven { by: &'static str, pages: u64 },
    /// Some are elsewhere, or have no answer.
    Elsewhere { on: BTreeMap<u32, u64> },
    /// The binding was refused.
    Refused(Refusal),
    /// The kernel does not say where the pages are.
    NotProven(Refusal),
}

/// A call that was refused.
#[derive(Debug, Serialize)]
struct Refusal {
    call: Option<&'static str>,
    errno: Option<String>,
    reason: String,
}

impl From<NumaError> for Refusal {
    fn from(error: NumaError) -> Self {
        let name = |errno: ::numa::Errno| {
            let name = errno.name();
            name.map_or_else(|| errno.0.to_string(), str::to_owned)
        };
        Self {
            call: error.call(),
            errno: error.errno().map(name),
            reason: error.to_string(),
        }
    }
}

/// Proves and prints; gives the exit code: 0 where all of it is proven, 3 where something is not.
pub(crate) fn run(args: &ProveArgs, show: Show) -> Result<u8, Stop> {
    args.refuse.apply()?;
    let machine = Machine::read(&Sysfs::real()).context("reading sysfs")?;
    if machine.nodes.is_empty() && args.node.is_none() {
        return Err(Stop::Refused(
            "the kernel shows no NUMA node below /sys/devices/system/node; name one with --node to try it all the same"
                .into(),
        ));
    }
    let page_bytes = rustix::param::page_size();
    let bytes = PAGES * page_bytes;
    let has_memory = machine
        .nodes
        .iter()
        .filter(|node| node.memory_bytes != Some(0));
    let asked = match args.node {
        Some(node) => vec![node],
        None => has_memory.map(|node| node.id).collect(),
    };
    let proof = |node| {
        let known = machine.node(node);
        NodeProof {
            node,
            cpus: known.map(|known| known.cpus.clone()),
            memory_bytes: known.and_then(|known| known.memory_bytes),
            outcome: outcome(node, bytes),
        }
    };
    let proof = Proof {
        schema: SCHEMA,
        page_bytes,
        bytes,
        nodes: asked.into_iter().map(proof).collect(),
    };
    let printed = match args.json {
        true => outputs::json(&proof)?,
        false => show.print(&document(&proof)),
    };
    let proven = match is_whole(&proof) {
        true => exit::DONE,
        false => exit::INCONCLUSIVE,
    };
    Ok(exit::fold([printed, proven]))
}

fn outcome(node: u32, bytes: usize) -> Outcome {
    let placement = Placement {
        node: Some(node),
        ..Placement::default()
    };
    let pages = match HostPages::allocate(bytes, &placement) {
        Ok(pages) => pages,
        Err(error) => return Outcome::Refused(error.into()),
    };
    match pages.placement_of_all() {
        Err(error) => Outcome::NotProven(error.into()),
        Ok(PagePlacement { by, asked, .. }) if pages.proven_node() == Some(node) => {
            Outcome::Proven { by, pages: asked }
        }
        Ok(placed) => Outcome::Elsewhere {
            on: placed.per_node,
        },
    }
}

fn is_whole(proof: &Proof) -> bool {
    let is_proven = |node: &NodeProof| matches!(node.outcome, Outcome::Proven { .. });
    !proof.nodes.is_empty() && proof.nodes.iter().all(is_proven)
}

fn document(proof: &Proof) -> Document {
    let mut table = Table::under(["node", "memory", "bound", "asked by"]);
    let mut findings = Vec::new();
    for node in &proof.nodes {
        let (word, by, why) = match &node.outcome {
            Outcome::Proven { by, .. } => ("proven", *by, None),
            Outcome::Elsewhere { .. } => ("elsewhere", "—", Some("pages are elsewhere")),
            Outcome::Refused(refusal) => ("refused", "—", Some(refusal.reason.as_str())),
            Outcome::NotProven(refusal) => ("unproven", "—", Some(refusal.reason.as_str())),
        };
        let memory = node.memory_bytes.map(|bytes| ByteCount(bytes).to_string());
        table.row([
            node.node.to_string(),
            memory.unwrap_or_else(|| "—".to_owned()),
            word.to_owned(),
            by.to_owned(),
        ]);
        let finding = |why: &str| {
            let text = format!("Node {}: {why}.", node.node);
            Item::of(Tone::Warning, text).coded("node-unproven")
        };
        findings.extend(why.map(finding));
    }
    let is_whole = is_whole(proof);
    let page = ByteCount(proof.page_bytes as u64);
    let heading = format!("{PAGES} pages of {page} on each node");
    let answer = match is_whole {
        true => "Memory is where it is asked for.",
        false => "Not all memory is proven to be where it was asked for.",
    };
    Document {
        title: "Memory by node".to_owned(),
        tone: if is_whole { Tone::Good } else { Tone::Warning },
        answer: vec![answer.to_owned()],
        findings,
        sections: vec![Section::new(heading, vec![Block::Table(table)])],
        ..Document::default()
    }
}
