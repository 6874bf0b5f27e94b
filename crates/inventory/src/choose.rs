//! Which backend answers, and what to say where none does.

use std::time::Duration;

use program::Stop;
use program::child::{SHORT_LADDER, last_line, start};
use supervisor::{Event, Interrupt};
use topology::Machine;

use crate::backend::{BackendArg, Built};
use crate::child::CHILD;
use crate::messages::{Absent, Inventory, InventoryReply, InventoryRequest};

/// A driver that answered.
#[derive(Debug)]
pub struct Chosen {
    /// Which.
    pub backend: Built,
    /// What it has.
    pub inventory: Inventory,
    /// What to tell on standard error.
    pub said: Vec<String>,
}

const NOT_BUILT: &str = "is not built yet in this version";

/// The backend that was asked for, or for `auto` the first that answers; a driver that is silent for `deadline` fails.
///
/// # Errors
/// [`Stop::Refused`] where nothing answers, or host memory would be measured in place of GPUs that are there.
pub fn choose(
    asked: BackendArg,
    machine: &Machine,
    deadline: Duration,
    interrupt: &Interrupt,
) -> Result<Chosen, Stop> {
    let ask = |backend| inventory(backend, deadline, interrupt);
    let answered = |backend, inventory| Chosen {
        backend,
        inventory,
        said: Vec::new(),
    };
    match asked {
        BackendArg::Hip => Err(Stop::Refused(format!(
            "the hip backend {NOT_BUILT}; use --backend cuda or host"
        ))),
        BackendArg::Maca => Err(Stop::Refused(format!(
            "the maca backend {NOT_BUILT}; use --backend cuda or host"
        ))),
        BackendArg::Cuda => match ask(Built::Cuda)? {
            Ok(inventory) => Ok(answered(Built::Cuda, inventory)),
            Err((_, reason)) => Err(Stop::Refused(format!("cuda: {reason}"))),
        },
        BackendArg::Host => match ask(Built::Host)? {
            Ok(inventory) => Ok(answered(Built::Host, inventory)),
            Err((_, reason)) => Err(Stop::Refused(format!("host: {reason}"))),
        },
        BackendArg::Auto => {
            let reason = match ask(Built::Cuda)? {
                Ok(inventory) => return Ok(answered(Built::Cuda, inventory)),
                Err((Absent::Failing, reason)) => return Err(failing(machine, &reason)),
                Err((Absent::NotThere, reason)) => reason,
            };
            let mut said = not_found(&reason);
            if let Some(refusal) = unanswered(machine, &said) {
                return Err(refusal);
            }
            match ask(Built::Host)? {
                Ok(inventory) => {
                    said.push(
                        "and sysfs shows no GPU of NVIDIA, AMD or MetaX: host memory is measured, one CPU core a device"
                            .to_owned(),
                    );
                    Ok(Chosen {
                        backend: Built::Host,
                        inventory,
                        said,
                    })
                }
                Err((_, reason)) => Err(Stop::Refused(format!(
                    "{}\n  host: {reason}",
                    said.join("\n")
                ))),
            }
        }
    }
}

/// What was looked for, a line each, where no driver answers.
fn not_found(cuda: &str) -> Vec<String> {
    vec![
        "no GPU driver was found:".to_owned(),
        format!("  cuda: {cuda}"),
        format!("  hip: {NOT_BUILT}"),
        format!("  maca: {NOT_BUILT}"),
    ]
}

/// The refusal to measure host memory instead of GPUs that the kernel shows; `None` where it shows none.
fn unanswered(machine: &Machine, said: &[String]) -> Option<Stop> {
    let shown = shown_gpus(machine)?;
    Some(Stop::Refused(format!(
        "{}\nbut this machine shows {shown}: install or load its driver, or measure host memory with --backend host",
        said.join("\n")
    )))
}

/// The refusal to measure host memory instead of what a driver that fails may have.
fn failing(machine: &Machine, reason: &str) -> Stop {
    let shown = shown_gpus(machine)
        .map_or_else(String::new, |shown| format!("; this machine shows {shown}"));
    Stop::Refused(format!(
        "the cuda driver is there and fails: {reason}{shown}\nmend it, or measure host memory with --backend host"
    ))
}

/// The GPUs that the kernel shows, in words; `None` where there are none.
fn shown_gpus(machine: &Machine) -> Option<String> {
    let vendor = |vendor: u16| match vendor {
        0x10de => "NVIDIA",
        0x1002 => "AMD",
        0x9999 => "MetaX",
        _ => "other",
    };
    let gpus: Vec<String> = machine
        .gpus
        .iter()
        .map(|gpu| format!("{} ({})", gpu.address, vendor(gpu.vendor)))
        .collect();
    (!gpus.is_empty()).then(|| format!("{} GPU(s) at {}", gpus.len(), gpus.join(", ")))
}

/// Asks a child, so that a driver which hangs does not take this process along.
fn inventory(
    backend: Built,
    deadline: Duration,
    interrupt: &Interrupt,
) -> Result<Result<Inventory, (Absent, String)>, Stop> {
    let mut child = start(CHILD, CHILD)?;
    child
        .send(&InventoryRequest { backend })
        .map_err(anyhow::Error::from)?;
    let fails = |reason| Err((Absent::Failing, reason));
    let outcome = match child.next::<InventoryReply>(deadline, interrupt) {
        Event::Message(InventoryReply::Found { inventory }) => Ok(inventory),
        Event::Message(InventoryReply::Absent { kind, reason }) => Err((kind, reason)),
        Event::Interrupted(signal) => {
            child.end(SHORT_LADDER);
            return Err(Stop::Interrupted(signal));
        }
        Event::Silent { waited } => fails(format!(
            "the driver did not answer within {} s; look at the kernel log",
            waited.as_secs()
        )),
        Event::Exited(status) => fails(format!(
            "asking the driver ended with {status}: {}",
            last_line(&child.tail())
        )),
        Event::Garbled { error, .. } => fails(format!("the answer was not understood: {error}")),
    };
    child.end(SHORT_LADDER);
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxfile::{BoxFile, sysfs};
    use topology::Sysfs;

    fn machine(described: &BoxFile) -> Machine {
        let root = std::env::temp_dir().join(format!(
            "tplens-choose-{}-{}",
            std::process::id(),
            described.name
        ));
        sysfs::write_tree(described, &root).unwrap();
        let machine = Machine::read(&Sysfs::at(&root)).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        machine
    }

    fn no_gpu(name: &str) -> BoxFile {
        let mut described = BoxFile::builtin("l40x4").unwrap();
        described.name = name.to_owned();
        described.device.clear();
        described
    }

    /// What a box without a driver is told; `None` where its host memory is measured.
    fn told(described: &BoxFile) -> Option<String> {
        match unanswered(&machine(described), &not_found("libcuda.so not found"))? {
            Stop::Refused(reason) => Some(reason),
            other => Some(format!("{other:?}")),
        }
    }

    #[test]
    fn gpus_without_a_driver_are_named_and_host_memory_is_not_measured_instead() {
        // The box files hold these addresses; l40x4 and mxc500x4 have four cards, r9700-x16 two.
        for (name, count, shown) in [
            ("l40x4", "4 GPU(s)", "0000:21:00.0 (NVIDIA)"),
            ("r9700-x16", "2 GPU(s)", "0000:43:00.0 (AMD)"),
            ("mxc500x4", "4 GPU(s)", "(MetaX)"),
        ] {
            let told = told(&BoxFile::builtin(name).unwrap()).unwrap();
            for part in [
                count,
                shown,
                "cuda: libcuda.so not found",
                "--backend host",
                "install or load its driver",
            ] {
                assert!(told.contains(part), "{name}: no `{part}` in {told}");
            }
        }
    }

    #[test]
    fn a_machine_without_a_gpu_is_not_refused() {
        assert_eq!(told(&no_gpu("no-gpu")), None);
    }

    #[test]
    fn a_driver_that_fails_is_a_refusal_whether_or_not_the_kernel_shows_a_gpu() {
        let refused = |described: &BoxFile| match failing(&machine(described), "its words") {
            Stop::Refused(reason) => reason,
            other => panic!("{other:?}"),
        };
        let bare = refused(&no_gpu("no-gpu-failing"));
        assert!(bare.contains("its words") && bare.contains("--backend host"));
        assert!(!bare.contains("this machine shows"), "{bare}");
        let mut described = BoxFile::builtin("l40x4").unwrap();
        described.name = "l40x4-failing".to_owned();
        assert!(refused(&described).contains("4 GPU(s)"));
    }
}
