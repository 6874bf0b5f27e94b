//! What a run is on: the devices that the driver shows, the machine around them, and the tree in which its counters are; and what a report
//! says of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use boxfile::BoxFile;
use program::Stop;
use record::{Collectives, LinkDevice, Links, Payload, Record, exit, load};
use runner::Interrupt;
use runner::child::{self, Ended, Program};
use sha2::{Digest, Sha256};
use topology::{Machine, PciTree, PcieLink, Sysfs};

use super::counters::Reading;
use super::folder::Folder;
use super::steps::Named;
use crate::cli::On;
use crate::findings::Found;
use crate::judge::is_named;
use crate::profile::Match;
use crate::report::{Fingerprint, Node, ReportDevice, hex};

/// What a run is on.
pub(crate) struct Scene {
    /// The listing, a record without numbers.
    pub(crate) found: Found<Record>,
    /// Its payload.
    pub(crate) links: Links,
    /// The machine.
    pub(crate) machine: Machine,
    /// The tree that shows it.
    pub(crate) sysfs: Sysfs,
    /// The simulated machine that is played, with the root of its tree.
    soft: Option<(BoxFile, PathBuf)>,
}

/// How long the programs that only look may take: each has a deadline of its own for a driver that hangs.
pub(super) const LOOKING: Duration = Duration::from_secs(120);
/// What the first listing of the devices may take beyond the budget.
pub(super) const LISTING: Duration = Duration::from_secs(20);

/// Asks the driver for its devices.
///
/// # Errors
/// No driver answers ([`Stop::Refused`], with what was looked for), a device that was asked for is not there, or a signal.
pub(crate) fn look(
    on: &On,
    backend: Option<&str>,
    folder: &Folder,
    limit: Duration,
    interrupt: &Interrupt,
) -> Result<Scene, Stop> {
    let place = folder.free(|number| format!("groups/inventory-{number}"));
    folder.make(&place)?;
    let source = format!("{place}/record.json");
    let file = folder.join(&source);
    let shown = file.display().to_string();
    // Of host memory `all` would be every processor; two are what is measured where none is named.
    let is_all_of_host = backend == Some("host") && on.gpus == "all";
    let words = [
        ("--json", Some(&*shown)),
        ("--backend", backend),
        ("--gpus", Some(&*on.gpus).filter(|_| !is_all_of_host)),
        ("--sim", on.sim.as_deref()),
    ];
    let words = words.into_iter();
    let words = words.filter_map(|(flag, value)| Some([flag.to_owned(), value?.to_owned()]));
    let words = std::iter::once("--list".to_owned()).chain(words.flatten());
    let program = Program {
        name: "devices",
        command: "p2p",
        arguments: &words.collect::<Vec<_>>(),
        environment: &[],
        log: &folder.join(&place).join("devices.log"),
        is_kept: |_| true,
        grows: &file,
        deadline: limit,
    };
    list(&program, limit, interrupt)?;
    let record = load(&file).context("reading what tplens p2p listed")?;
    let Payload::Links(links) = record.payload.clone() else {
        return Err(Stop::Internal(anyhow!("{source} holds no devices")));
    };
    if on.sim.is_some() != record.header.simulated.is_some() {
        let why = "--sim and the driver that answered: one is simulated and the other real";
        return Err(Stop::Internal(anyhow!(why)));
    }
    let machine = links.machine.clone();
    let machine = machine.ok_or_else(|| anyhow!("{source} names no machine"))?;
    let soft = on.sim.as_deref().map(|name| tree(name, folder));
    let soft = soft.transpose()?;
    let root = soft.as_ref().map(|(_, root)| Sysfs::at(root));
    Ok(Scene {
        sysfs: root.unwrap_or_else(Sysfs::real),
        links: *links,
        found: Found { it: record, source },
        machine,
        soft,
    })
}

/// The tree of a simulated machine, with counters of errors, below the result folder.
fn tree(name: &str, folder: &Folder) -> Result<(BoxFile, PathBuf), Stop> {
    let described = BoxFile::resolve(name).map_err(|error| Stop::Usage(error.to_string()))?;
    let root = folder.make("sim")?.join("sysfs");
    boxfile::sysfs::write_tree(&described, &root)
        .and_then(|()| boxfile::sysfs::show_link_errors(&described, &root))
        .map_err(|error| anyhow!("writing the simulated sysfs tree: {error}"))?;
    Ok((described, root))
}

impl Scene {
    /// Whether it is a simulated machine.
    pub(crate) fn is_simulated(&self) -> bool {
        self.soft.is_some()
    }

    /// Its devices as command lines name them.
    pub(crate) fn named(&self) -> Vec<Named> {
        let named = |device: &LinkDevice| Named {
            label: device.label.clone(),
            number: device.ordinal.to_string(),
        };
        self.links.devices.iter().map(named).collect()
    }

    /// How many of the wanted devices were left out with `--gpus`.
    pub(crate) fn left_out(&self, on: &On, wanted: usize) -> usize {
        match on.gpus.as_str() {
            "all" => 0,
            _ => wanted.saturating_sub(self.links.devices.len()),
        }
    }

    /// The machine by its real name.
    pub(crate) fn node(&self) -> Node {
        let provenance = &self.found.it.header.provenance;
        let backend = self.links.backend.clone().unwrap_or_default();
        let devices = self.links.devices.iter();
        let mut names: Vec<String> = devices.clone().map(|one| one.name.clone()).collect();
        names.sort();
        let mut payloads: Vec<u32> = devices.filter_map(|one| one.max_payload_bytes).collect();
        payloads.sort_unstable();
        let host = provenance.host.clone();
        Node {
            name: host.unwrap_or_else(|| "unknown".to_owned()),
            label: None,
            identified: true,
            fingerprint: Fingerprint {
                backend: backend.name,
                devices: names,
                driver: backend.driver,
                interface: backend.interface,
                collectives: None,
                kernel: provenance.kernel.clone(),
                cpu: self.machine.cpus.model.clone(),
                topology: Some(hex(&self.topology().finalize())),
                max_payload_bytes: payloads,
            },
        }
    }

    /// A hash over what is where, without addresses: of each device its node and the best that its link could be, of each pair its path.
    fn topology(&self) -> Sha256 {
        let mut hash = Sha256::new();
        for device in &self.links.devices {
            let maxima = self.maxima(device).into_iter();
            let maxima: Vec<String> = maxima.map(|maximum| format!("{maximum:?}")).collect();
            hash.update(format!("{:?} {maxima:?}\n", device.node));
        }
        for pair in &self.links.paths {
            hash.update(format!("{} {} {}\n", pair.a, pair.b, pair.path));
        }
        hash
    }

    /// The best that each link between root port and card could be.
    pub(crate) fn maxima(&self, device: &LinkDevice) -> Vec<Option<PcieLink>> {
        let tree = PciTree::read(&self.sysfs, self.machine.hypervisor == Some(true));
        let function = device.address.and_then(|address| tree.at(address));
        let chain = function.map(|function| tree.above(&function.pci).chain([function]));
        chain.into_iter().flatten().map(|one| one.maximum).collect()
    }

    /// Its devices as a report has them.
    pub(crate) fn devices(&self) -> Vec<ReportDevice> {
        let device = |device: &LinkDevice| ReportDevice {
            label: device.label.clone(),
            name: device.name.clone(),
            slot: device.address.map(|address| address.to_string()),
            identity: device.uuid.clone(),
            node: device.node,
            memory_bytes: device.memory_bytes,
        };
        self.links.devices.iter().map(device).collect()
    }

    /// Counters as they are now.
    pub(crate) fn counters(&self) -> Reading {
        // The boot may be another one than that of the listing, where a run is resumed.
        Reading::take(&self.sysfs, &self.machine, &self.links.devices)
    }

    /// Counters behind the last load; those of a simulated machine have then counted what its file says.
    ///
    /// # Errors
    /// The tree cannot be written.
    pub(crate) fn counters_after(&self) -> Result<Reading, Stop> {
        if let Some((described, root)) = &self.soft {
            boxfile::sysfs::count_link_errors(described, root)
                .map_err(|error| anyhow!("counting simulated errors: {error}"))?;
        }
        Ok(self.counters())
    }
}

/// Lets `tplens p2p` list the devices.
fn list(program: &Program<'_>, limit: Duration, interrupt: &Interrupt) -> Result<(), Stop> {
    let (code, why) = match child::run_within(program, limit, None, interrupt)? {
        Some(Ended::Exit { code: 0, .. }) => return Ok(()),
        Some(Ended::Interrupted(signal)) => return Err(Stop::Interrupted(signal)),
        Some(Ended::Exit { code, last }) => (code, last),
        Some(Ended::Stalled(silence)) => (exit::INCONCLUSIVE, silence.to_string()),
        None => {
            let within = format!("within {} s; look at the kernel log", limit.as_secs());
            let why = format!("the driver did not list its devices {within}");
            (exit::INCONCLUSIVE, why)
        }
    };
    Err(match code {
        exit::INCONCLUSIVE => Stop::Refused(why.into()),
        exit::USAGE => Stop::Usage(why),
        _ => Stop::Internal(anyhow!("tplens p2p failed: {why}")),
    })
}

/// The collective library of a record with its version.
pub(crate) fn library(collectives: &Collectives) -> Option<String> {
    let library = collectives.library.as_ref()?;
    Some(match &library.version {
        Some(version) => format!("{} {version}", library.name),
        None => library.name.clone(),
    })
}

/// Refuses a profile that is for another machine: another kind of box is a wrong profile, which is said at once; too few or some other devices
/// of the right box are its inventory, which is judged.
///
/// # Errors
/// It is.
pub(super) fn check(profile: &str, matches: &Match, links: &Links) -> Result<(), Stop> {
    let backend = links.backend.as_ref();
    let backend = backend.map_or("none", |backend| &*backend.name);
    let devices = links.devices.iter();
    let fitting = devices.filter(|one| is_named(one, matches)).count();
    let takes_more = matches.more == Some(true);
    let is_more = links.devices.len() > matches.count && fitting >= matches.count && !takes_more;
    let is_mig = links.devices.iter().any(|device| device.mig.is_some());
    let machine = links.machine.as_ref();
    let hypervisor = machine.and_then(|machine| machine.hypervisor);
    let guest = matches.guest.zip(hypervisor);
    let is_other = backend != matches.backend
        || fitting == 0
        || is_more
        || matches.mig.is_some_and(|mig| mig != is_mig)
        || guest.is_some_and(|(wanted, is)| wanted != is);
    if !is_other {
        return Ok(());
    }
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    for device in &links.devices {
        *shown.entry(&device.name).or_default() += 1;
    }
    let shown = shown.into_iter();
    let shown = shown.map(|(name, count)| format!("{count} of {name}"));
    let mut shown = shown.collect::<Vec<String>>().join(", ");
    if shown.is_empty() {
        "no device".clone_into(&mut shown);
    }
    let (count, names, driver) = (matches.count, matches.names.join(" or "), &matches.backend);
    Err(Stop::Usage(format!(
        "profile {profile} is for {count} of {names} ({driver}), this machine shows {shown} ({backend})"
    )))
}

#[cfg(test)]
mod tests {
    use record::BackendFacts;

    use super::*;
    use crate::tests::made::device;

    fn links(backend: &str, names: &[&str]) -> Links {
        let device = |(ordinal, name): (usize, &&str)| device(ordinal, name, "");
        Links {
            backend: Some(BackendFacts {
                name: backend.to_owned(),
                ..BackendFacts::default()
            }),
            devices: names.iter().enumerate().map(device).collect(),
            ..Links::default()
        }
    }

    fn four() -> Match {
        Match {
            backend: "cuda".to_owned(),
            names: vec!["NVIDIA L40".to_owned()],
            count: 4,
            more: None,
            mig: Some(false),
            guest: None,
            memory_gib_at_least: None,
        }
    }

    #[test]
    fn another_machine_is_refused_and_too_few_or_one_other_are_for_the_inventory_to_judge() {
        let host = Match {
            backend: "host".to_owned(),
            names: vec!["host memory*".to_owned()],
            count: 2,
            more: Some(true),
            mig: None,
            ..four()
        };
        let cpus = ["host memory, CPU 0"; 3];
        for (matches, backend, names, is_it) in [
            (four(), "hip", &["NVIDIA L40"; 4][..], false),
            (four(), "cuda", &["NVIDIA H200"; 4], false),
            (four(), "cuda", &[], false),
            (four(), "cuda", &["NVIDIA L40"; 8], false),
            (four(), "cuda", &["NVIDIA L40"; 4], true),
            (four(), "cuda", &["NVIDIA L40"; 3], true),
            (four(), "cuda", &["NVIDIA L40", "NVIDIA A10"], true),
            // A name may end in a star, and more devices may do.
            (host.clone(), "host", &cpus, true),
            (host, "host", &["memory"], false),
        ] {
            let checked = check("p", &matches, &links(backend, names));
            assert_eq!(checked.is_ok(), is_it, "{backend} {names:?}");
        }
        // Instances are no whole GPUs.
        let mut shown = links("cuda", &["NVIDIA L40"; 4]);
        shown.devices[0].mig = Some(record::Mig {
            profile: None,
            parent_uuid: None,
        });
        assert!(check("p", &four(), &shown).is_err());
    }
}
