//! What is no table of pairs: `nvidia-smi -L`, `mx-smi -L`, the nodes of `rocm-smi --showtopo`, and `numactl -H`.

use std::collections::BTreeMap;

use super::model::{Captured, CapturedError, MigDevice, NamedGpu, malformed};
use super::text::{Lines, MOST_ENDS, first, shown, words};
use crate::{CpuSet, NumaNode};

/// The commands.
pub(super) const NVIDIA: &str = "nvidia-smi -L";
pub(super) const METAX: &str = "mx-smi -L";
pub(super) const ROCM: &str = "rocm-smi --showtopo";
pub(super) const NUMACTL: &str = "numactl -H";

/// The most MIG devices of a GPU that are read; a GPU has at most 7 slices, each with compute instances.
const MOST_MIG: usize = 64;

type Found = Result<Option<&'static str>, CapturedError>;

/// What is refused where a line is not as the tool prints it.
fn not_whole(tool: &'static str, lines: &Lines, what: &str) -> CapturedError {
    let what = format!("{} is no whole {what}", shown(lines.ahead(0)));
    malformed(tool, lines.number(), what)
}

/// The GPU of a list, of which nothing may be told yet but its node or its address.
fn new_gpu<'a>(
    captured: &'a mut Captured,
    number: u32,
    (tool, lines): (&'static str, &Lines),
) -> Result<&'a mut NamedGpu, CapturedError> {
    let most = captured.gpus.len() >= MOST_ENDS;
    let gpu = captured.gpu(number);
    if most || gpu.name.is_some() {
        let what = format!("GPU {number} stands in the text twice, or is one of too many");
        return Err(malformed(tool, lines.number(), what));
    }
    Ok(gpu)
}

/// Lines of `nvidia-smi -L`; a MIG device belongs to the GPU above it.
pub(super) fn nvidia(lines: &mut Lines, captured: &mut Captured) -> Found {
    let mut above = None;
    let begun = lines.number();
    loop {
        let line = lines.ahead(0);
        if let Some((number, rest)) = nvidia_gpu(line) {
            let named = uuid(rest, "GPU-").map(|(name, uuid)| (name.to_owned(), uuid.to_owned()));
            let (name, uuid) = named.ok_or_else(|| not_whole(NVIDIA, lines, "line of a GPU"))?;
            let gpu = new_gpu(captured, number, (NVIDIA, lines))?;
            (gpu.name, gpu.uuid) = (Some(name), Some(uuid));
            above = Some(number);
        } else if line.starts_with("MIG ") && line.contains(" Device ") {
            let of = above.map(|number| &mut captured.gpu(number).mig);
            let of = of.filter(|of| of.len() < MOST_MIG).zip(mig(line));
            let (of, mig) = of.ok_or_else(|| {
                not_whole(NVIDIA, lines, "line of a MIG device below that of its GPU")
            })?;
            of.push(mig);
        } else {
            return Ok((lines.number() > begun).then_some(NVIDIA));
        }
        lines.advance();
    }
}

/// Number and rest of `GPU 0: ...`.
fn nvidia_gpu(line: &str) -> Option<(u32, &str)> {
    let (number, rest) = line.strip_prefix("GPU ")?.split_once(':')?;
    // `rocm-smi` of old and tables of bandwidths write their lines like this, too.
    let is_figure = |c: char| c == '-' || c.is_ascii_digit();
    let other = rest.contains("(Topology)") || rest.trim_start().starts_with(is_figure);
    let number = number.parse().ok().filter(|_| !other)?;
    Some((number, rest))
}

/// Reads `MIG 1g.10gb     Device  0: (UUID: MIG-...)`.
fn mig(line: &str) -> Option<MigDevice> {
    let (profile, rest) = line.strip_prefix("MIG ")?.split_once(" Device ")?;
    let (number, rest) = rest.split_once(':')?;
    let (between, uuid) = uuid(rest, "MIG-")?;
    let profile = profile.trim();
    (between.is_empty() && !profile.is_empty()).then_some(())?;
    Some(MigDevice {
        number: number.trim().parse().ok()?,
        profile: profile.to_owned(),
        uuid: uuid.to_owned(),
    })
}

/// What stands before `(UUID: ...)`, and the UUID, which ends the line and begins with this.
fn uuid<'a>(text: &'a str, begins: &str) -> Option<(&'a str, &'a str)> {
    let (before, uuid) = text.rsplit_once("(UUID:")?;
    let uuid = uuid.trim().strip_suffix(')')?;
    let known = uuid.starts_with(begins) && !uuid.contains(char::is_whitespace);
    known.then_some((before.trim(), uuid))
}

/// A line of `mx-smi -L`.
pub(super) fn metax(lines: &mut Lines, captured: &mut Captured) -> Found {
    if !lines.ahead(0).starts_with("GPU#") {
        return Ok(None);
    }
    let listed = metax_gpu(lines.ahead(0));
    let listed = listed.ok_or_else(|| not_whole(METAX, lines, "line of a GPU"))?;
    let known = new_gpu(captured, listed.number, (METAX, lines))?;
    *known = NamedGpu {
        node: known.node,
        ..listed
    };
    lines.advance();
    Ok(Some(METAX))
}

/// Reads `GPU#0    MXC500    0000:06:00.0    Available (UUID: GPU-...)`.
fn metax_gpu(line: &str) -> Option<NamedGpu> {
    let words = words(line);
    // A name can have several words; an address has colons and is short.
    let address = |word: &String| word.parse().ok().filter(|_| word.contains(':'));
    let at = words.iter().position(|word| address(word).is_some())?;
    Some(NamedGpu {
        number: words[0].strip_prefix("GPU#")?.parse().ok()?,
        name: (at > 1).then(|| words[1..at].join(" ")).map(Some)?,
        address: address(&words[at]),
        uuid: Some(uuid(line, "GPU-")?.1.to_owned()),
        ..NamedGpu::default()
    })
}

/// A line of a GPU's node of `rocm-smi --showtopo`: `GPU[0] : (Topology) Numa Node: 0`, or as older versions print it, `GPU 0 : ...`.
pub(super) fn rocm_node(lines: &mut Lines, captured: &mut Captured) -> Found {
    let line = lines.ahead(0);
    if !line.contains("(Topology)") {
        return Ok(None);
    }
    // Another line says the same of the memory that the driver would take.
    if !line.contains("Numa Affinity:") {
        let split = line.split_once("(Topology) Numa Node:");
        let told = split.and_then(|(gpu, node)| {
            let gpu = gpu.strip_prefix("GPU")?;
            let gpu = gpu
                .trim_matches(|c: char| "[]: \t".contains(c))
                .parse()
                .ok()?;
            Some((gpu, node.trim().parse::<i64>().ok()?))
        });
        let told = told.filter(|_| captured.gpus.len() < MOST_ENDS);
        let (number, node): (u32, i64) =
            told.ok_or_else(|| not_whole(ROCM, lines, "line of a GPU's node"))?;
        // The kernel says -1 where it knows no node.
        captured.gpu(number).node = u32::try_from(node).ok();
    }
    lines.advance();
    Ok(Some(ROCM))
}

/// The list of nodes of `numactl -H` and the table of distances below it.
pub(super) fn numactl(lines: &mut Lines, captured: &mut Captured) -> Found {
    let head = lines.ahead(0);
    if !head.starts_with("available: ") || !head.contains(" node") {
        return Ok(None);
    }
    let ids = ids(head).filter(|_| captured.nodes.is_empty());
    let ids = ids.ok_or_else(|| not_whole(NUMACTL, lines, "list of nodes, or a second one"))?;
    lines.advance();
    for id in &ids {
        let cpus = value(lines, *id, "cpus", |text| {
            words(text).join(",").parse().ok()
        })?;
        let memory_bytes = value(lines, *id, "size", size)?;
        value(lines, *id, "free", size)?;
        captured.nodes.push(NumaNode {
            id: *id,
            cpus,
            distances: BTreeMap::new(),
            memory_bytes,
        });
    }
    distances(lines, &ids, &mut captured.nodes)?;
    Ok(Some(NUMACTL))
}

/// The numbers of `available: 2 nodes (0-1)`.
fn ids(line: &str) -> Option<Vec<u32>> {
    let (count, rest) = line.strip_prefix("available: ")?.split_once(" node")?;
    let list: CpuSet = rest.split_once('(')?.1.strip_suffix(')')?.parse().ok()?;
    let is_whole = count.parse() == Ok(list.len()) && (1..=MOST_ENDS).contains(&list.len());
    let ids: Option<Vec<u32>> = list.iter().map(|id| u32::try_from(id).ok()).collect();
    ids.filter(|_| is_whole)
}

/// Bytes of `251 MB`; the inner `None` where the kernel does not say.
fn size(text: &str) -> Option<Option<u64>> {
    if text == "<not available>" {
        return Some(None);
    }
    let mib: u64 = text.strip_suffix(" MB")?.parse().ok()?;
    mib.checked_mul(1 << 20).map(Some)
}

/// What stands behind `node 0 NAME:`.
fn value<T>(
    lines: &mut Lines,
    id: u32,
    name: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, CapturedError> {
    let begins = format!("node {id} {name}:");
    let text = lines.ahead(0).strip_prefix(&begins);
    let value = text.and_then(|text| read(text.trim()));
    let value = value.ok_or_else(|| not_whole(NUMACTL, lines, &format!("`{begins}`")))?;
    lines.advance();
    Ok(value)
}

/// The table of distances; kernels without it say so in its place.
fn distances(lines: &mut Lines, ids: &[u32], nodes: &mut [NumaNode]) -> Result<(), CapturedError> {
    if lines.ahead(0).starts_with("No distance information") {
        lines.advance();
        return Ok(());
    }
    let heads: Vec<String> = ids.iter().map(u32::to_string).collect();
    let titles = [
        "node distances:".to_owned(),
        format!("node {}", heads.join(" ")),
    ];
    for title in titles {
        if words(lines.ahead(0)).join(" ") != title {
            return Err(not_whole(NUMACTL, lines, &shown(&title)));
        }
        lines.advance();
    }
    for (node, id) in nodes.iter_mut().zip(ids) {
        let line = lines.ahead(0);
        let row = line.split_whitespace().skip(1);
        let row = row.map(|word| word.parse::<u8>().ok().map(u32::from));
        let row: Option<Vec<u32>> = row.collect();
        let row = row.filter(|row| row.len() == ids.len() && first(line) == format!("{id}:"));
        let row = row.ok_or_else(|| not_whole(NUMACTL, lines, "row of distances"))?;
        node.distances = ids.iter().copied().zip(row).collect();
        lines.advance();
    }
    Ok(())
}
