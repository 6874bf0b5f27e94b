//! The path class of every pair with links that lie beside PCI Express, as a vendor's own tool tells them.
//!
//! The tool runs as a process of its own with a deadline; where it does not answer, the PCI tree's classes stand.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use inventory::Found;
use record::caveat::{Caveat, Condition};
use record::{LinkDevice, PairPath};
use runner::child::{SHORT_LADDER, last_line};
use runner::{Event, Interrupt, Worker, WorkerSpec};
use topology::captured::{CapturedFinding, read};
use topology::vendor::METAX;
use topology::{EndKind, Machine, PathType, PciAddress, PciDevice, Sysfs};

use super::nvlink;

/// The pairs of GPUs that MetaXLink joins, each way round.
pub(crate) type Fabric = BTreeSet<(PciAddress, PciAddress)>;

/// MetaX's tool below the root.
const TOOL: &str = "opt/mxdriver/bin/mx-smi";

/// How long the tool may take; it answers within a second on a healthy box.
const DEADLINE: Duration = Duration::from_secs(10);

/// The path class of every pair, and what to say where a tool that should know more does not answer.
pub(super) fn paths(
    (devices, found): (&[LinkDevice], &[Found]),
    machine: &Machine,
    sysfs: &Sysfs,
    interrupt: &Interrupt,
) -> (Vec<PairPath>, Option<Caveat>) {
    let mut paths = inventory::paths(devices, machine);
    nvlink::join(&mut paths, devices, found);
    let gpus = devices
        .iter()
        .filter_map(|device| machine.gpu(device.address?));
    match of(&gpus.collect::<Vec<_>>(), machine, sysfs, interrupt) {
        None => (paths, None),
        Some(Ok(fabric)) => {
            for pair in &mut paths {
                let ends = devices[pair.a].address.zip(devices[pair.b].address);
                if ends.is_some_and(|ends| fabric.contains(&ends)) {
                    pair.path = PathType::Mx;
                }
            }
            (paths, None)
        }
        Some(Err(reason)) => (paths, Some(Condition::FabricUnknown.with(reason))),
    }
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
    let began = Instant::now();
    loop {
        let left = DEADLINE.saturating_sub(began.elapsed());
        match worker.next::<()>(left, interrupt) {
            Event::Exited(status) if status.success() => return Ok(worker.tail()),
            Event::Exited(status) => {
                return Err(format!(
                    "{name} ended with {status}: {}",
                    last_line(&worker.tail())
                ));
            }
            Event::Silent { .. } => {
                worker.end(SHORT_LADDER);
                let limit = DEADLINE.as_secs();
                return Err(format!(
                    "{name} did not end within {limit} s; run it by hand"
                ));
            }
            Event::Interrupted(_) => return Err(format!("{name} was interrupted")),
            // It prints tables; a line that looks like a message of ours is none.
            Event::Message(()) | Event::Garbled { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use topology::PathType;

    use super::*;

    const BOX: &str = "mxc500x4";

    /// A process that another thread starts while a tool is being written would hold its file, and it could not be run.
    static ALONE: Mutex<()> = Mutex::new(());

    /// The built-in MetaX box as a tree, with a tool that a test writes.
    struct Tree(
        PathBuf,
        #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>,
    );

    impl Tree {
        fn new(test: &str, tool: &str) -> Self {
            let name = format!("p2p-bw-fabric-{test}-{}", std::process::id());
            let root = std::env::temp_dir().join(name);
            let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
            let described = boxfile::BoxFile::builtin(BOX).unwrap();
            boxfile::sysfs::write_tree(&described, &root).unwrap();
            let file = root.join("opt/mxdriver/bin/mx-smi");
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            drop(std::fs::remove_file(&file));
            if !tool.is_empty() {
                // Another process writes it: a file that this one has open for writing is refused as busy where another test
                // starts a process at that moment.
                let written = std::process::Command::new("sh")
                    .args([
                        "-c",
                        "printf '%s\\n' '#!/bin/sh' \"$1\" > \"$0\" && chmod 755 \"$0\"",
                    ])
                    .arg(&file)
                    .arg(tool)
                    .status();
                assert!(written.unwrap().success());
            }
            Self(root, alone)
        }

        fn paths(&self) -> (Vec<PathType>, Option<String>) {
            let sysfs = Sysfs::at(&self.0);
            let machine = Machine::read(&sysfs).unwrap();
            let device = |gpu: &topology::PciDevice| LinkDevice {
                label: "GPU".to_owned(),
                ordinal: 0,
                name: "a device of a test".to_owned(),
                uuid: None,
                address: Some(gpu.address),
                node: gpu.node,
                memory_bytes: None,
                mig: None,
                idle: None,
                loaded: None,
                max_payload_bytes: None,
                busy: None,
            };
            let devices: Vec<LinkDevice> = machine.gpus.iter().map(device).collect();
            let (paths, caveat) =
                super::paths((&devices, &[]), &machine, &sysfs, &Interrupt::none());
            let said = caveat.map(|caveat| format!("{caveat:?}"));
            (paths.iter().map(|pair| pair.path).collect(), said)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    /// GPU0 and GPU1 on MetaXLink, GPU2 and GPU3 too, PHB between the two pairs.
    const MATRIX: &str = "[ \"$1\" = topo ] || exit 1\n\
        printf 'Device link type matrix\\n GPU0 GPU1 GPU2 GPU3 Node Affinity\\n'\n\
        printf 'GPU0 X MX PHB PHB 0\\nGPU1 MX X PHB PHB 0\\nGPU2 PHB PHB X MX 0\\nGPU3 PHB PHB MX X 0\\n'";

    #[test]
    fn pairs_that_the_tool_shows_on_metaxlink_have_its_class() {
        // Pairs in order: 0-1, 0-2, 0-3, 1-2, 1-3, 2-3. All four cards hang below one host bridge.
        let (mx, phb) = (PathType::Mx, PathType::Phb);
        let tree = Tree::new("order", MATRIX);
        assert_eq!(tree.paths(), (vec![mx, phb, phb, phb, phb, mx], None));
    }

    #[test]
    fn where_the_tool_does_not_answer_the_tree_stands_and_that_is_said() {
        for (test, tool, says) in [
            ("none", "", "is not there"),
            ("fails", "echo no driver; exit 3", "no driver"),
        ] {
            let (paths, said) = Tree::new(test, tool).paths();
            assert_eq!(paths, [PathType::Phb; 6], "{test}");
            let said = said.unwrap();
            assert!(said.contains(says), "no `{says}` in {said}");
        }
    }
}
