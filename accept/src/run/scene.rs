//! What a run is on: the devices that the driver shows, the machine around them, and the tree in which its counters are.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use boxfile::BoxFile;
use measure::record::{Links, Payload, Record, load};
use program::Stop;
use program::others::last_error;
use supervisor::Interrupt;
use topology::{Machine, PciAddress, Sysfs};

use super::counters::Reading;
use super::folder::Folder;
use super::process::{self, Ended, Limits, Program};
use super::steps::Named;
use crate::cli::RunArgs;

/// What a run is on.
pub(crate) struct Scene {
    /// The listing, a record without numbers.
    pub(crate) record: Record,
    /// Its payload.
    pub(crate) links: Links,
    /// Its place, relative to the result folder.
    pub(crate) source: String,
    /// The machine.
    pub(crate) machine: Machine,
    /// The tree that shows it.
    pub(crate) sysfs: Sysfs,
    /// The soft box that is played, with the root of its tree.
    soft: Option<(BoxFile, PathBuf)>,
}

/// How long the programs that only look may take: each has a deadline of its own for a driver that hangs.
const LOOKING: Duration = Duration::from_secs(120);

/// Asks the driver for its devices.
///
/// # Errors
/// No driver answers ([`Stop::Refused`], with what was looked for), a device that was asked for is not there, or a signal.
pub(crate) fn look(
    args: &RunArgs,
    backend: &str,
    folder: &Folder,
    interrupt: &Interrupt,
) -> Result<Scene, Stop> {
    let place = folder.free("inventory");
    folder.make(&place)?;
    let source = format!("{place}/record.json");
    let mut words = vec!["--list".to_owned(), "--json".to_owned()];
    words.push(folder.join(&source).display().to_string());
    words.extend(chosen(args, backend));
    let said = listing(folder, &place, "devices", &words, interrupt)?;
    match said {
        Listed::Done(_) => {}
        Listed::Failed(measure::exit::INCONCLUSIVE, said) => {
            return Err(Stop::Refused(refusal(&said)));
        }
        Listed::Failed(measure::exit::USAGE, said) => {
            return Err(Stop::Usage(whole_error(&said)));
        }
        Listed::Failed(code, said) => {
            return Err(Stop::Internal(anyhow!(
                "p2p-bw ended with exit code {code}: {}",
                last_error(&said)
            )));
        }
    }
    let record = load(&folder.join(&source)).context("reading what p2p-bw listed")?;
    let Payload::Links(links) = record.payload.clone() else {
        return Err(Stop::Internal(anyhow!("{source} holds no devices")));
    };
    if args.sim.is_some() != record.header.simulated.is_some() {
        return Err(Stop::Internal(anyhow!(
            "--sim and the driver that answered do not fit together: one is soft and the other real"
        )));
    }
    let machine = links
        .machine
        .clone()
        .ok_or_else(|| anyhow!("{source} does not say what machine it is of"))?;
    let soft = args
        .sim
        .as_deref()
        .map(|name| tree(name, folder))
        .transpose()?;
    Ok(Scene {
        sysfs: soft
            .as_ref()
            .map_or_else(Sysfs::real, |(_, root)| Sysfs::at(root)),
        links: *links,
        record,
        source,
        machine,
        soft,
    })
}

/// Whose driver and which devices, in the words of every program that looks at devices.
fn chosen(args: &RunArgs, backend: &str) -> Vec<String> {
    let mut words = vec!["--backend".to_owned(), backend.to_owned()];
    // Of host memory `all` would be every processor; two are what is measured where none is named.
    if backend != "host" || args.gpus != "all" {
        words.extend(["--gpus".to_owned(), args.gpus.clone()]);
    }
    if let Some(name) = &args.sim {
        words.extend(["--sim".to_owned(), name.clone()]);
    }
    words
}

/// What was looked for and not found, in the program's own words.
fn refusal(said: &str) -> String {
    const BEFORE: &str = "nothing was measured: ";
    // Host memory is no substitute for the box that is to be judged.
    const INSTEAD: &str = ", or use --backend host";
    let lines: Vec<&str> = said.lines().collect();
    let first = lines.iter().rposition(|line| line.starts_with(BEFORE));
    match first {
        Some(first) => lines[first..]
            .join("\n")
            .replacen(BEFORE, "", 1)
            .replace(INSTEAD, ""),
        None => last_error(said),
    }
}

/// The error in a program's own words, with the lines below it: of a file that is wrong they name the key and what is known.
fn whole_error(said: &str) -> String {
    const BEFORE: &str = "error: ";
    let lines: Vec<&str> = said.lines().collect();
    match lines.iter().rposition(|line| line.starts_with(BEFORE)) {
        Some(first) => lines[first..].join("\n").replacen(BEFORE, "", 1),
        None => last_error(said),
    }
}

/// The tree of a soft box, with counters of errors, below the result folder.
fn tree(name: &str, folder: &Folder) -> Result<(BoxFile, PathBuf), Stop> {
    let described = BoxFile::resolve(name).map_err(|error| Stop::Usage(error.to_string()))?;
    let root = folder.make("sim")?.join("sysfs");
    boxfile::sysfs::write_tree(&described, &root)
        .and_then(|()| boxfile::sysfs::show_link_errors(&described, &root))
        .map_err(|error| anyhow!("writing the box's sysfs tree: {error}"))?;
    Ok((described, root))
}

impl Scene {
    /// Whether it is a soft box.
    pub(crate) fn is_soft(&self) -> bool {
        self.soft.is_some()
    }

    /// Its devices as command lines name them.
    pub(crate) fn named(&self) -> Vec<Named> {
        let named = |device: &measure::record::LinkDevice| Named {
            label: device.label.clone(),
            number: device.ordinal.to_string(),
        };
        self.links.devices.iter().map(named).collect()
    }

    /// How many devices like those that were chosen, of the wanted ones, are there and were left out with `--gpus`.
    ///
    /// The kernel shows neither instances nor what stands in for devices on the host, so that of these all others that
    /// are wanted count as left out.
    pub(crate) fn left_out(&self, args: &RunArgs, wanted: usize) -> usize {
        match self.left_out_at(args) {
            Some(left_out) => left_out.len(),
            None => wanted.saturating_sub(self.links.devices.len()),
        }
    }

    /// Where those sit; `None` where the kernel does not show what was chosen.
    pub(crate) fn left_out_at(&self, args: &RunArgs) -> Option<Vec<PciAddress>> {
        let chosen = &self.links.devices;
        if args.gpus == "all" {
            return Some(Vec::new());
        }
        let is_shown =
            |device: &measure::record::LinkDevice| device.mig.is_none() && device.address.is_some();
        if !chosen.iter().all(is_shown) {
            return None;
        }
        let is_chosen = |gpu: &&topology::PciDevice| {
            chosen
                .iter()
                .any(|device| device.address == Some(gpu.address))
        };
        let (of_run, others): (Vec<_>, Vec<_>) = self.machine.gpus.iter().partition(is_chosen);
        let is_like = |gpu: &&&topology::PciDevice| {
            let mut like = of_run.iter();
            like.any(|own| (own.vendor, own.device_id) == (gpu.vendor, gpu.device_id))
        };
        let left_out = others.iter().filter(is_like);
        Some(left_out.map(|gpu| gpu.address).collect())
    }

    /// Counters as they are now.
    pub(crate) fn counters(&self) -> Reading {
        // The boot may be another one than that of the listing, where a run is gone on with.
        Reading::take(&self.sysfs, &self.machine, &self.links.devices)
    }

    /// Counters behind the last load; those of a soft box have then counted what its file says.
    ///
    /// # Errors
    /// The tree cannot be written.
    pub(crate) fn counters_after(&self) -> Result<Reading, Stop> {
        if let Some((described, root)) = &self.soft {
            boxfile::sysfs::count_link_errors(described, root)
                .map_err(|error| anyhow!("counting the box's errors: {error}"))?;
        }
        Ok(self.counters())
    }

    /// What `p2p-bw doctor` printed of these devices.
    ///
    /// # Errors
    /// In words, where it printed nothing; a signal is seen at the next step.
    pub(crate) fn doctor(
        &self,
        args: &RunArgs,
        backend: &str,
        folder: &Folder,
        interrupt: &Interrupt,
    ) -> Result<String, String> {
        let place = folder.free("settings");
        folder
            .make(&place)
            .map_err(|_| "its folder cannot be made".to_owned())?;
        let mut words = vec!["doctor".to_owned(), "--json".to_owned(), "--all".to_owned()];
        words.extend(chosen(args, backend));
        match listing(folder, &place, "doctor", &words, interrupt) {
            // 1 says that something is bad, 3 that little could be told: both print what was seen.
            Ok(Listed::Done(said) | Listed::Failed(1 | 3, said)) => Ok(said),
            Ok(Listed::Failed(code, said)) => Err(format!(
                "p2p-bw doctor ended with exit code {code}: {}",
                last_error(&said)
            )),
            Err(Stop::Usage(why) | Stop::Refused(why)) => Err(why),
            Err(Stop::Internal(error)) => Err(format!("{error:#}")),
            Err(Stop::Interrupted(_)) => Err("the run was told to stop".to_owned()),
        }
    }
}

/// What a program that only looks came to.
enum Listed {
    /// It did, and said this.
    Done(String),
    /// Its exit code is another one.
    Failed(u8, String),
}

fn listing(
    folder: &Folder,
    place: &str,
    name: &str,
    words: &[String],
    interrupt: &Interrupt,
) -> Result<Listed, Stop> {
    let file = process::file("p2p-bw").map_err(Stop::Usage)?;
    let log = folder.join(&format!("{place}/{name}.log"));
    let program = Program {
        name,
        file: &file,
        arguments: words,
        log: &log,
        grows: &log,
        until: None,
    };
    let limits = Limits {
        silent: LOOKING,
        stopped: LOOKING,
        total: LOOKING,
    };
    match process::run(&program, limits, interrupt)? {
        Ended::Exit { code: 0, said } => Ok(Listed::Done(said)),
        Ended::Exit { code, said } => Ok(Listed::Failed(
            u8::try_from(code).unwrap_or(measure::exit::INTERNAL),
            said,
        )),
        Ended::Interrupted(signal) => Err(Stop::Interrupted(signal)),
        Ended::Killed { signal, said } => Err(Stop::Internal(anyhow!(
            "p2p-bw was ended by signal {signal}: {}",
            last_error(&said)
        ))),
        // Nothing tells it to end, so that it is out of time in any case.
        Ended::Silent { .. } | Ended::OutOfTime { .. } | Ended::Told => {
            Err(Stop::Refused(format!(
                "p2p-bw did not list the devices within {} s; its words are in {}",
                LOOKING.as_secs(),
                log.display()
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_for_is_handed_on_with_all_its_lines() {
        let said = "caution: a\nnothing was measured: no GPU driver was found:\n  cuda: libcuda.so.1 not found\n";
        assert_eq!(
            refusal(said),
            "no GPU driver was found:\n  cuda: libcuda.so.1 not found"
        );
        assert_eq!(refusal("error: x\n"), "error: x");
        assert_eq!(
            refusal("nothing was measured: no libcuda.so.1; install it, or use --backend host"),
            "no libcuda.so.1; install it"
        );
        assert_eq!(
            whole_error(
                "caution: a\nerror: box.toml: line 87\n  | ^^^^\nunknown field `nmae`, expected `name`\n"
            ),
            "box.toml: line 87\n  | ^^^^\nunknown field `nmae`, expected `name`"
        );
    }
}
