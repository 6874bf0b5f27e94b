//! Links beside PCI Express: the path class of every pair, as the management library or a vendor's own tool tells it; the number and the
//! rate of NVLinks, and what to say of those that are down.
//!
//! The tool runs as a process of its own with a deadline; where it does not answer, the PCI tree's classes stand.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use record::caveat::{Caveat, Condition};
use record::{LinkDevice, NvlinkReading, PairPath};
use runner::child::{SHORT_LADDER, last_line};
use runner::{Event, Interrupt, Worker, WorkerSpec};
use topology::captured::{CapturedFinding, read};
use topology::vendor::METAX;
use topology::{
    EndKind, FabricState, Machine, NvLinks, PathType, PciAddress, PciDevice, Sysfs, nvlinks_between,
};

use crate::begun::Begun;

/// The pairs of GPUs that MetaXLink joins, each way round.
pub(crate) type Fabric = BTreeSet<(PciAddress, PciAddress)>;

/// MetaX's tool below the root.
const TOOL: &str = "opt/mxdriver/bin/mx-smi";

/// How long the tool may take; it answers within a second on a healthy box.
const DEADLINE: Duration = Duration::from_secs(10);

/// The path class of every pair, and what to say where a tool that should know more does not answer.
pub(super) fn paths(begun: &Begun, interrupt: &Interrupt) -> (Vec<PairPath>, Option<Caveat>) {
    let (machine, sysfs, devices) = (&begun.machine, &begun.sysfs, &begun.devices);
    let mut paths = inventory::paths(devices, machine);
    join(&mut paths, begun);
    let gpus = devices.iter().filter_map(|one| machine.gpu(one.address?));
    let fabric = match of(&gpus.collect::<Vec<_>>(), machine, sysfs, interrupt) {
        None => return (paths, None),
        Some(Err(reason)) => return (paths, Some(Condition::FabricUnknown.with(reason))),
        Some(Ok(fabric)) => fabric,
    };
    for pair in &mut paths {
        let ends = devices[pair.a].address.zip(devices[pair.b].address);
        if ends.is_some_and(|ends| fabric.contains(&ends)) {
            pair.path = PathType::Mx;
        }
    }
    (paths, None)
}

/// The links beside PCI Express of several GPUs, or why they are not known; `None` where no tool knows such GPUs.
pub(crate) fn of(
    gpus: &[&PciDevice],
    machine: &Machine,
    sysfs: &Sysfs,
    interrupt: &Interrupt,
) -> Option<Result<Fabric, String>> {
    let metax = gpus.iter().filter(|gpu| gpu.vendor == METAX);
    (metax.count() > 1).then(|| joined(machine, sysfs, interrupt))
}

fn joined(machine: &Machine, sysfs: &Sysfs, interrupt: &Interrupt) -> Result<Fabric, String> {
    let below = sysfs.root().join(TOOL);
    let tool = match below.is_file() {
        true => below,
        // On the machine itself also one in `$PATH`.
        false if sysfs.root() == Path::new("/") => PathBuf::from("mx-smi"),
        false => return Err(format!("{} is not there", below.display())),
    };
    let matrix = output(&tool, &["topo", "-m"], interrupt)?;
    // Without a list the tool counts as the kernel does; a process that sees fewer devices makes the numbers differ.
    let list = output(&tool, &["-L"], interrupt).unwrap_or_default();
    let captured = read(&format!("{matrix}\n{list}\n")).map_err(|error| error.to_string())?;
    let lacks_rows = |open: &CapturedFinding| matches!(open, CapturedFinding::RowsMissing { .. });
    let whole = captured
        .matrix
        .filter(|_| !captured.open.iter().any(lacks_rows));
    let matrix = whole.ok_or("mx-smi topo -m shows no whole matrix; run it by hand")?;
    let ends = matrix.ends.iter().enumerate();
    let gpus: Vec<_> = ends.filter(|(_, end)| end.kind == EndKind::Gpu).collect();
    let listed: Option<Vec<PciAddress>> = gpus.iter().map(|(_, end)| end.address).collect();
    let kernel = machine.gpus.iter().filter(|gpu| gpu.vendor == METAX);
    let addresses = listed.unwrap_or_else(|| kernel.map(|gpu| gpu.address).collect());
    if addresses.len() != gpus.len() {
        return Err(format!(
            "mx-smi shows {} GPUs and {} have an address; compare `mx-smi -L` with `lspci`",
            gpus.len(),
            addresses.len()
        ));
    }
    let placed: Vec<(usize, PciAddress)> = gpus.iter().map(|(at, _)| *at).zip(addresses).collect();
    let pairs = placed
        .iter()
        .flat_map(|a| placed.iter().map(move |b| (a, b)));
    let joined = pairs.filter(|(a, b)| matrix.class(a.0, b.0) == Some(PathType::Mx));
    Ok(joined.map(|(a, b)| (a.1, b.1)).collect())
}

/// What a tool prints.
fn output(tool: &Path, arguments: &[&str], interrupt: &Interrupt) -> Result<String, String> {
    let name = format!("{} {}", tool.display(), arguments.join(" "));
    let spec = WorkerSpec::new(&name, tool, arguments);
    let mut worker = Worker::spawn(spec).map_err(|error| error.to_string())?;
    loop {
        let why = match worker.next::<()>(DEADLINE, interrupt) {
            Event::Exited(status) if status.success() => return Ok(worker.tail()),
            Event::Exited(status) => format!("ended with {status}: {}", last_line(&worker.tail())),
            Event::Silent { .. } => {
                worker.end(SHORT_LADDER);
                let limit = DEADLINE.as_secs();
                format!("did not end within {limit} s; run it by hand")
            }
            Event::Interrupted(_) => "was interrupted".to_owned(),
            // It prints tables; a line that looks like a message of ours is none.
            Event::Message(()) | Event::Garbled { .. } => continue,
        };
        return Err(format!("{name} {why}"));
    }
}

/// Each device whose NVLinks are told, with these.
fn linked(begun: &Begun) -> impl Iterator<Item = (&LinkDevice, &NvLinks)> {
    let devices = begun.devices.iter().zip(&begun.found);
    devices.filter_map(|(device, found)| Some((device, found.nvlinks.as_ref()?)))
}

/// Gives pairs that NVLinks join their class.
fn join(paths: &mut [PairPath], begun: &Begun) {
    let end = |position: usize| {
        let device = &begun.devices[position];
        let links = begun.found[position].nvlinks.as_ref()?;
        device
            .address
            .filter(|_| device.mig.is_none())
            .zip(Some(links))
    };
    for pair in paths {
        let links = end(pair.a).zip(end(pair.b));
        if let Some(links) = links.and_then(|(a, b)| nvlinks_between(a, b)) {
            pair.path = PathType::Nv(links);
        }
    }
}

/// The rate of one NVLink in one direction in GB/s, the lowest of all that are up; `None` where one's is not known, or none is up.
pub(super) fn nvlink_rate(begun: &Begun) -> Option<f64> {
    let all = linked(begun).flat_map(|(_, links)| &links.links);
    let active = all.filter(|link| link.is_active);
    let rates: Option<Vec<u32>> = active.map(|link| link.mb_per_s).collect();
    Some(f64::from(rates?.into_iter().min()?) / 1000.0)
}

/// The links of each device that has some.
pub(super) fn nvlinks(begun: &Begun) -> Vec<NvlinkReading> {
    let some = linked(begun).filter(|(_, of)| !of.links.is_empty());
    some.map(|(device, of)| NvlinkReading {
        device: device.label.clone(),
        active: of.active(),
        links: of.links.len(),
        errors: of.errors(),
        fabric: of.fabric,
    })
    .collect()
}

/// What to say of links that counted more errors by now than when the devices were listed.
pub(super) fn nvlink_errors_risen(begun: &Begun, now: &[(PciAddress, NvLinks)]) -> Vec<Caveat> {
    let rise = |(device, before): (&LinkDevice, &NvLinks)| {
        let (_, now) = now.iter().find(|(at, _)| Some(*at) == device.address)?;
        let (now, label) = (now.errors()?, &device.label);
        let more = now.checked_sub(before.errors()?).filter(|more| *more > 0)?;
        let what = format!("{label}: {more} more during this run, {now} in all");
        Some(Condition::NvlinkErrorsRise.with(what))
    };
    linked(begun).filter_map(rise).collect()
}

/// What to say of links that are down or fail, and of the fabric that joins them.
pub(super) fn nvlink_caveats(begun: &Begun) -> Vec<Caveat> {
    let of_device = |(device, links): (&LinkDevice, &NvLinks)| {
        let label = &device.label;
        let (active, all, errors) = (links.active(), links.links.len(), links.errors());
        // None at all are up where a card that could have a bridge has none.
        let inactive = (1..all).contains(&active).then(|| {
            let down = 100.0 * (all - active) as f64 / all as f64;
            let missing = format!("{down:.0}% of the bandwidth to other GPUs is missing");
            let what = format!("{label}: {active} of {all} links are up, {missing}");
            Condition::NvlinkInactive.with(what)
        });
        let errors = errors.filter(|errors| *errors > 0).map(|errors| {
            Condition::NvlinkErrors.with(format!("{label}: {errors} since the driver was loaded"))
        });
        let is_down = [Some(FabricState::NotStarted), Some(FabricState::Failed)];
        let fabric = is_down.contains(&links.fabric);
        let fabric = fabric.then(|| Condition::FabricManager.with(label));
        inactive.into_iter().chain(errors).chain(fabric)
    };
    linked(begun).flat_map(of_device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: &str = "mxc500x4";

    /// What is known of the built-in MetaX box as a tree, with a tool that a test writes.
    fn joined_by(test: &str, tool: &str) -> Result<usize, String> {
        let name = format!("p2p-bw-fabric-{test}-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        let described = boxfile::BoxFile::builtin(BOX).unwrap();
        boxfile::sysfs::write_tree(&described, &root).unwrap();
        let file = root.join(TOOL);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        // Another process writes it: a file that this one has open for writing is refused as busy where another test
        // starts a process at that moment.
        let write = "printf '%s\\n' '#!/bin/sh' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        let mut written = std::process::Command::new("sh");
        written.args(["-c", write]).arg(&file).arg(tool);
        assert!(written.status().unwrap().success());
        let sysfs = Sysfs::at(&root);
        let machine = Machine::read(&sysfs).unwrap();
        let gpus: Vec<&PciDevice> = machine.gpus.iter().collect();
        let found = of(&gpus, &machine, &sysfs, &Interrupt::none()).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        found.map(|pairs| pairs.len())
    }

    #[test]
    fn pairs_that_the_tool_shows_on_metaxlink_are_joined_and_a_tool_that_fails_is_said() {
        // GPU0 and GPU1 on MetaXLink, GPU2 and GPU3 too, PHB between the two pairs: two pairs, each way round.
        let matrix = "[ \"$1\" = topo ] || exit 1\n\
            printf 'Device link type matrix\\n GPU0 GPU1 GPU2 GPU3 Node Affinity\\n'\n\
            printf 'GPU0 X MX PHB PHB 0\\nGPU1 MX X PHB PHB 0\\nGPU2 PHB PHB X MX 0\\nGPU3 PHB PHB MX X 0\\n'";
        assert_eq!(joined_by("order", matrix), Ok(4));
        let said = joined_by("fails", "echo no driver; exit 3").unwrap_err();
        assert!(said.contains("no driver"), "{said}");
    }
}
