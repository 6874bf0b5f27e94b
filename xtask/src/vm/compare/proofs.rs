//! `p2p-bw numa prove` against the nodes that numactl shows and the pages that the kernel counts, with and without permission.
//!
//! What a machine looks like is compared elsewhere.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use super::difference::{output, same, section};
use crate::vm::machines::Machine;
use crate::vm::ours::{self, Proof};
use crate::vm::qemu::Sections;
use crate::vm::tools::{hits, numactl};

/// Pages that `numa prove` is asked for where the kernel counts them: 16 MiB of 4096 bytes.
const COUNTED_PAGES: u64 = 16 * 1024 * 1024 / 4096;
/// How often it takes them from the node: bound to it, and preferring it.
const TRIALS: u64 = 2;
/// The node that no machine has, by which the guest asks.
const ABSENT: u32 = 40;
/// Exit code of a program of ours that could not tell all that was asked.
const INCONCLUSIVE: i32 = 3;

pub(super) fn proven(_: &Machine, sections: &Sections) -> Result<()> {
    let section = section(sections, "prove")?;
    same("the exit code", &section.code, &0)?;
    let proofs = ours::proofs(&section.output)?;
    let nodes = numactl::read(output(sections, "numactl")?)?;
    let ids = |map: &BTreeMap<u32, Proof>| map.keys().copied().collect::<Vec<_>>();
    let expected: Vec<u32> = nodes.keys().copied().collect();
    same("nodes", &ids(&proofs), &expected)?;
    for (id, proof) in &proofs {
        let pages = proof.pages.filter(|pages| *pages > 0);
        ensure!(
            proof.is == "proven" && pages.is_some(),
            "node {id} is not proven: {}",
            proof.text
        );
        let others = expected.iter().filter(|other| *other != id);
        let moved = others.map(|other| (*other, pages.unwrap_or(0))).collect();
        same(
            &format!("pages of node {id} that were moved"),
            &proof.moved_to,
            &moved,
        )?;
    }
    Ok(())
}

/// The kernel counts a page for the node that it came from, whatever we say of it.
pub(super) fn counted(_: &Machine, sections: &Sections) -> Result<()> {
    let section = section(sections, "counted")?;
    same("the exit code", &section.code, &0)?;
    let before = hits::read(output(sections, "before")?)?;
    let after = hits::read(output(sections, "after")?)?;
    let (last, before) = before.last_key_value().context("there is no node")?;
    let more = after.get(last).map(|after| after.saturating_sub(*before));
    ensure!(
        more >= Some(TRIALS * COUNTED_PAGES),
        "node {last}: {more:?} pages were counted, {TRIALS} times {COUNTED_PAGES} were asked for"
    );
    let proofs = ours::proofs(&section.output)?;
    let proof = proofs.get(last).context("it is not in the proof")?;
    same("pages", &proof.pages, &Some(COUNTED_PAGES))
}

pub(super) fn absent(_: &Machine, sections: &Sections) -> Result<()> {
    let refusal = ours::absent(output(sections, "prove")?)?;
    ensure!(refusal.contains("EINVAL"), "it is told as {refusal}");
    let asked = section(sections, "absent")?;
    let proofs =
        ours::proofs(&asked.output).with_context(|| format!("messages: {}", asked.messages))?;
    let proof = proofs.get(&ABSENT).context("it is not in the proof")?;
    ensure!(
        proof.is != "proven" && proof.text.contains("EINVAL"),
        "node {ABSENT} is told as {}",
        proof.text
    );
    same("the exit code", &asked.code, &INCONCLUSIVE)
}

pub(super) fn forbidden(_: &Machine, sections: &Sections) -> Result<()> {
    let section = section(sections, "cpuset")?;
    let proofs =
        ours::proofs(&section.output).with_context(|| format!("messages: {}", section.messages))?;
    let is = |(id, proof): (&u32, &Proof)| (*id, proof.is == "proven");
    let ours: BTreeMap<u32, bool> = proofs.iter().map(is).collect();
    let nodes = numactl::read(output(sections, "numactl")?)?;
    let expected = nodes.keys().map(|id| (*id, *id == 0)).collect();
    same("nodes that are proven", &ours, &expected)?;
    same("the exit code", &section.code, &INCONCLUSIVE)
}

pub(super) fn refused(_: &Machine, sections: &Sections) -> Result<()> {
    let section = section(sections, "filtered")?;
    let proofs =
        ours::proofs(&section.output).with_context(|| format!("messages: {}", section.messages))?;
    ensure!(!proofs.is_empty(), "no node is told");
    for (id, proof) in &proofs {
        ensure!(
            proof.is != "proven" && proof.text.contains("EPERM"),
            "node {id} is told as {}",
            proof.text
        );
    }
    same("the exit code", &section.code, &INCONCLUSIVE)
}

/// With move_pages alone refused every page is proven by the other call, and none is moved.
pub(super) fn proven_otherwise(_: &Machine, sections: &Sections) -> Result<()> {
    let section = section(sections, "sys-nice")?;
    let proofs =
        ours::proofs(&section.output).with_context(|| format!("messages: {}", section.messages))?;
    let nodes = numactl::read(output(sections, "numactl")?)?;
    let told = |(id, proof): (&u32, &Proof)| (*id, (proof.is.clone(), proof.by.clone()));
    let ours: BTreeMap<u32, (String, Option<String>)> = proofs.iter().map(told).collect();
    let by = || ("proven".to_owned(), Some("get_mempolicy".to_owned()));
    let expected = nodes.keys().map(|id| (*id, by())).collect();
    same("nodes and the call that proves", &ours, &expected)?;
    for (id, proof) in &proofs {
        ensure!(
            proof.moved_to.is_empty() && proof.pages > Some(0),
            "node {id} is told as {}",
            proof.text
        );
    }
    Ok(())
}

/// With both questions refused there is memory, and no node has a proof or a count of pages.
pub(super) fn unproven(_: &Machine, sections: &Sections) -> Result<()> {
    let section = section(sections, "questions")?;
    let proofs =
        ours::proofs(&section.output).with_context(|| format!("messages: {}", section.messages))?;
    ensure!(!proofs.is_empty(), "no node is told");
    for (id, proof) in &proofs {
        ensure!(
            proof.is == "not_proven" && proof.pages.is_none() && proof.text.contains("EPERM"),
            "node {id} is told as {}",
            proof.text
        );
    }
    same("the exit code", &section.code, &INCONCLUSIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::compare::difference::samples::{NUMACTL, difference, guest};

    #[test]
    fn memory_that_is_called_proven_where_it_was_forbidden_is_a_difference() {
        let prove = |is: &str| {
            format!(
                r#"{{"nodes":[{{"node":0,"outcome":{{"is":"proven","pages":64}}}},
                    {{"node":1,"outcome":{{"is":"{is}","errno":"EPERM"}}}}]}}"#
            )
        };
        let run = |is: &str, code, name: &str, check| {
            let mut guest = guest(&[(name, &prove(is)), ("numactl", NUMACTL)]);
            if let Some(section) = guest.get_mut(name) {
                section.code = code;
            }
            difference(check, &guest)
        };
        assert_eq!(run("refused", 3, "cpuset", forbidden), None);
        assert!(run("proven", 3, "cpuset", forbidden).is_some());
        // What was refused is not told by the exit code.
        assert!(run("refused", 0, "cpuset", forbidden).is_some());
        // Where nothing is allowed, node 0 may not be proven either.
        let told = run("refused", 3, "filtered", refused).unwrap();
        assert!(told.starts_with("node 0 is told as"), "{told}");
    }

    #[test]
    fn a_proof_by_a_call_that_was_refused_is_a_difference() {
        let prove = |by: &str| {
            let node = |id| {
                format!(
                    r#"{{"node":{id},"outcome":{{"is":"proven","by":"{by}","pages":64,"moved_to":{{}}}}}}"#
                )
            };
            format!(r#"{{"nodes":[{},{}]}}"#, node(0), node(1))
        };
        let run = |by: &str, name: &str, check| {
            let mut guest = guest(&[(name, &prove(by)), ("numactl", NUMACTL)]);
            if let Some(section) = guest.get_mut(name) {
                section.code = 3;
            }
            difference(check, &guest)
        };
        assert_eq!(run("get_mempolicy", "sys-nice", proven_otherwise), None);
        assert!(run("move_pages", "sys-nice", proven_otherwise).is_some());
        let told = run("get_mempolicy", "questions", unproven).unwrap();
        assert!(told.starts_with("node 0 is told as"), "{told}");
    }
}
