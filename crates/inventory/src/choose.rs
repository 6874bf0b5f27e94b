//! Which backend answers, and what to say where none does.

use record::{Failure, FailureKind};
use std::time::Duration;

use program::Stop;
use runner::child::{SHORT_LADDER, last_line, start};
use runner::{Event, Interrupt, Worker};
use topology::{Machine, NvLinks, PciAddress};

use device::{Built, PciVendor};

use crate::backend::BackendArg;
use crate::child::CHILD;
use crate::messages::{Absent, Answer, Inventory, InventoryRequest, Links};

/// A driver that answered.
#[derive(Debug)]
pub struct Chosen {
    /// Which.
    pub backend: Built,
    /// What it has.
    pub inventory: Inventory,
    /// What to tell on standard error.
    pub said: Vec<String>,
    /// Where host memory is measured because no driver answers: each backend with its reason.
    pub absent: Vec<String>,
}

/// The backend that was asked for, or for `auto` the first that answers; a driver that is silent for six times
/// `deadline`, which is that of a step, fails.
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
    let mut chosen = match asked {
        BackendArg::Auto => first(machine, ask)?,
        BackendArg::Named(backend) => match ask(backend)? {
            Ok(inventory) => Chosen {
                backend,
                inventory,
                said: Vec::new(),
                absent: Vec::new(),
            },
            Err((_, reason)) => {
                let mut reason = reason.within(backend.name());
                let is_other = |vendor: &PciVendor| !shows(machine, *vendor);
                if backend.pci_vendor().as_ref().is_some_and(is_other)
                    && let Some(shown) = shown_gpus(machine)
                {
                    reason.detail = format!("this machine shows {shown}; {}", reason.detail);
                }
                return Err(Stop::Refused(reason));
            }
        },
    };
    let inventory = &chosen.inventory;
    if inventory.discrete().count() < inventory.devices.len() {
        chosen
            .said
            .push("graphics of the processor count only where --gpus names them".to_owned());
    }
    Ok(chosen)
}

/// The first backend that answers, in the registry's order.
///
/// A driver that fails ends the search where the kernel shows a GPU of its vendor. Where it shows none, another vendor's driver
/// may answer, and the failure is only told; host memory is not measured instead of what a driver that fails may have, nor
/// instead of GPUs that the kernel shows.
fn first(machine: &Machine, ask: impl Fn(Built) -> Result<Answer, Stop>) -> Result<Chosen, Stop> {
    let mut failed = Vec::new();
    let mut reasons = Vec::new();
    for backend in Built::ALL.iter().copied() {
        let Some(vendor) = backend.pci_vendor() else {
            continue;
        };
        let name = backend.name();
        match ask(backend)? {
            Ok(inventory) => {
                return Ok(Chosen {
                    backend,
                    inventory,
                    said: failed,
                    absent: Vec::new(),
                });
            }
            Err((Absent::Failing, reason)) => {
                let fails = format!("the {name} driver is there and fails: {reason}");
                if shows(machine, vendor) {
                    return Err(failing(machine, reason.kind, &fails));
                }
                let shown = format!("{fails}; sysfs shows no GPU of {}", vendor.name);
                failed.push(shown);
            }
            Err((Absent::NotThere, reason)) => reasons.push((backend, reason)),
        }
    }
    if !failed.is_empty() {
        return Err(failing(machine, FailureKind::Internal, &failed.join("; ")));
    }
    let told = |(built, reason): &(Built, Failure)| format!("{}: {reason}", built.name());
    if let Some(shown) = shown_gpus(machine) {
        let own = |(built, _): &&(Built, Failure)| {
            let vendor = built.pci_vendor();
            vendor.is_some_and(|vendor| shows(machine, vendor))
        };
        let own: Vec<String> = reasons.iter().filter(own).map(told).collect();
        return Err(Stop::Refused(FailureKind::LibraryMissing.of(format!(
            "no driver answers for {shown}; {}; load the driver, or measure host memory with --backend host",
            own.join("; ")
        ))));
    }
    let backend = Built::Host;
    match ask(backend)? {
        Ok(inventory) => {
            let why = format!(
                "no GPU driver answers, and sysfs shows no GPU of {}: host memory is measured, one CPU core a device",
                vendors()
            );
            Ok(Chosen {
                backend,
                inventory,
                said: vec![why],
                absent: reasons.iter().map(told).collect(),
            })
        }
        Err((_, reason)) => Err(Stop::Refused(reason.within(backend.name()))),
    }
}

/// The vendors whose GPUs are known, in words.
fn vendors() -> String {
    let vendors = Built::ALL.iter().filter_map(|built| built.pci_vendor());
    let names: Vec<&str> = vendors.map(|vendor| vendor.name).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// Whether the kernel shows a GPU of a vendor.
fn shows(machine: &Machine, vendor: PciVendor) -> bool {
    machine.gpus.iter().any(|gpu| gpu.vendor == vendor.id)
}

/// The refusal to measure anything else instead of what a driver that fails has.
fn failing(machine: &Machine, kind: FailureKind, fails: &str) -> Stop {
    let shown = shown_gpus(machine)
        .map_or_else(String::new, |shown| format!("; this machine shows {shown}"));
    Stop::Refused(kind.of(format!(
        "{fails}{shown}; or measure host memory with --backend host"
    )))
}

/// The GPUs that the kernel shows, in words; `None` where there are none.
fn shown_gpus(machine: &Machine) -> Option<String> {
    let vendor = |id: u16| {
        let built = Built::of_vendor(id).and_then(Built::pci_vendor);
        built.map_or("other", |vendor| vendor.name)
    };
    let first = machine.gpus.first()?;
    let more = match machine.gpus.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (count, at) = (machine.gpus.len(), first.address);
    Some(format!(
        "{count} GPU(s) at {at} ({}){more}",
        vendor(first.vendor)
    ))
}

/// So many times as long as a step may be silent, a driver may take to open: eight GPUs without persistence mode take a minute,
/// in each process anew where no other holds them (120 s where a step has 20).
pub const OPENING_STEPS: u32 = 6;

/// Waits for the child's answer, and says after each silent step that it is still awaited.
fn answer(
    child: &mut Worker,
    backend: Built,
    step: Duration,
    interrupt: &Interrupt,
) -> Event<Answer> {
    for waited in 1..=OPENING_STEPS {
        match child.next::<Answer>(step, interrupt) {
            Event::Silent { .. } if waited < OPENING_STEPS => program::say!(
                "waiting for the {} driver to list its devices, {:.0} s so far; persistence mode makes this short",
                backend.name(),
                (step * waited).as_secs_f64()
            ),
            Event::Silent { .. } => {}
            event => return event,
        }
    }
    Event::Silent {
        waited: step * OPENING_STEPS,
    }
}

/// The NVLinks of which a backend's management library tells, also where its driver does not start; none where it does not answer.
///
/// # Errors
/// The child cannot be started, or a signal came.
pub fn nvlinks(
    backend: Built,
    deadline: Duration,
    interrupt: &Interrupt,
) -> Result<Vec<(PciAddress, NvLinks)>, Stop> {
    let request = InventoryRequest {
        backend,
        only_nvlinks: true,
    };
    let links = program::ask::<Links>(CHILD, &request, deadline * OPENING_STEPS, interrupt)?
        .unwrap_or_default();
    let address = |(pci, links): (String, NvLinks)| Some((pci.parse().ok()?, links));
    Ok(links.into_iter().filter_map(address).collect())
}

/// Asks a child, so that a driver which hangs does not take this process along.
fn inventory(backend: Built, deadline: Duration, interrupt: &Interrupt) -> Result<Answer, Stop> {
    let mut child = start(CHILD, CHILD)?;
    child
        .send(&InventoryRequest {
            backend,
            only_nvlinks: false,
        })
        .map_err(anyhow::Error::from)?;
    let fails = |reason: Failure| Err((Absent::Failing, reason));
    let outcome = match answer(&mut child, backend, deadline, interrupt) {
        Event::Message(answer) => answer,
        Event::Interrupted(signal) => {
            child.end(SHORT_LADDER);
            return Err(Stop::Interrupted(signal));
        }
        Event::Silent { waited } => fails(FailureKind::Hang.of(format!(
            "the driver did not answer within {} s; look at the kernel log",
            waited.as_secs()
        ))),
        Event::Exited(status) => fails(
            format!(
                "asking the driver ended with {status}: {}",
                last_line(&child.tail())
            )
            .into(),
        ),
        Event::Garbled { error, .. } => {
            fails(format!("the answer was not understood: {error}").into())
        }
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

    /// What a search tells on a box where these backends answer so; all others are not there, and host memory always is.
    fn search(described: &BoxFile, answers: &[(Built, Answer)]) -> Result<Chosen, String> {
        let found = first(&machine(described), |backend| {
            let known = answers.iter().find(|(built, _)| *built == backend);
            Ok(match known {
                Some((_, answer)) => answer.clone(),
                None if backend == Built::Host => Ok(Inventory::default()),
                None => Err((
                    Absent::NotThere,
                    format!("no {} library", backend.name()).into(),
                )),
            })
        });
        found.map_err(|stop| match stop {
            Stop::Refused(reason) => reason.detail,
            other => panic!("{other:?}"),
        })
    }

    fn fails() -> Answer {
        Err((Absent::Failing, "its words".into()))
    }

    #[test]
    fn gpus_without_a_driver_are_named_and_host_memory_is_not_measured_instead() {
        // The box files hold these addresses; l40x4 and mxc500x4 have four cards, r9700-x16 two.
        for (name, count, shown, own) in [
            (
                "l40x4",
                "4 GPU(s)",
                "0000:21:00.0 (NVIDIA)",
                "cuda: no cuda",
            ),
            ("r9700-x16", "2 GPU(s)", "0000:03:00.0 (AMD)", "hip: no hip"),
            ("mxc500x4", "4 GPU(s)", "(MetaX)", "maca: no maca"),
        ] {
            let told = search(&BoxFile::builtin(name).unwrap(), &[]).unwrap_err();
            for part in [count, shown, own, "--backend host"] {
                assert!(told.contains(part), "{name}: no `{part}` in {told}");
            }
            // Of other vendors' drivers nothing is said.
            assert_eq!(told.matches(" library").count(), 1, "{told}");
        }
    }

    #[test]
    fn the_first_backend_that_answers_is_taken() {
        let mut described = BoxFile::builtin("r9700-x16").unwrap();
        described.name = "r9700-x16-answers".to_owned();
        let answers = [
            (Built::Maca, Ok(Inventory::default())),
            (Built::Hip, Ok(Inventory::default())),
        ];
        let chosen = search(&described, &answers).unwrap();
        assert_eq!(chosen.backend, Built::Hip);
        assert!(chosen.said.is_empty());
    }

    #[test]
    fn a_driver_that_fails_is_a_refusal_where_the_kernel_shows_its_gpu() {
        let mut described = BoxFile::builtin("l40x4").unwrap();
        described.name = "l40x4-failing".to_owned();
        let answers = [
            (Built::Cuda, fails()),
            (Built::Hip, Ok(Inventory::default())),
        ];
        let refused = search(&described, &answers).unwrap_err();
        for part in [
            "the cuda driver is there and fails: its words",
            "4 GPU(s)",
            "--backend host",
        ] {
            assert!(refused.contains(part), "no `{part}` in {refused}");
        }
    }

    #[test]
    fn a_driver_that_fails_without_a_gpu_of_its_vendor_is_only_told_where_another_answers() {
        let mut described = BoxFile::builtin("r9700-x16").unwrap();
        described.name = "r9700-x16-beside".to_owned();
        let answers = [
            (Built::Cuda, fails()),
            (Built::Hip, Ok(Inventory::default())),
        ];
        let chosen = search(&described, &answers).unwrap();
        assert_eq!(chosen.backend, Built::Hip);
        assert_eq!(
            chosen.said,
            ["the cuda driver is there and fails: its words; sysfs shows no GPU of NVIDIA"]
        );
    }

    #[test]
    fn host_memory_is_not_measured_instead_of_what_a_driver_that_fails_may_have() {
        let refused = search(&no_gpu("no-gpu-failing"), &[(Built::Maca, fails())]).unwrap_err();
        assert_eq!(
            refused,
            "the maca driver is there and fails: its words; sysfs shows no GPU of MetaX; or measure \
             host memory with --backend host"
        );
    }
}
