//! Versions of drivers and collective libraries, each asked in a child, and variables of this process and of its collective library's
//! files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use doctor::variables::{in_file, is_known};
use doctor::{Given, Variable, Version};
use inventory::{Built, Chosen, library};
use program::Stop;
use runner::Interrupt;
use topology::Machine;
use topology::vendor::AMD;

/// Names the file that is read instead of the user's (NCCL's src/misc/param.cc).
const INSTEAD: &str = "NCCL_CONF_FILE";

/// The most that is read of a configuration file.
const MOST_BYTES: u64 = 64 << 10;

/// The versions of a driver that answers and of its collective library.
///
/// # Errors
/// No child can be started, or a signal came.
pub(super) fn versions(
    given: &mut Given,
    chosen: &Chosen,
    deadline: Duration,
    interrupt: &Interrupt,
) -> Result<(), Stop> {
    let Some(vendor) = chosen.backend.pci_vendor() else {
        return Ok(());
    };
    let inventory = &chosen.inventory;
    let version = |component: &str, text: &str, source: &str| Version {
        component: component.to_owned(),
        text: text.to_owned(),
        source: source.to_owned(),
    };
    let Given {
        versions,
        unversioned,
        ..
    } = given;
    let driver = format!("{} driver", vendor.name);
    // What the management library does not tell of devices is another matter.
    let tells = inventory.devices.iter().any(|found| found.busy.is_some());
    let unsaid = inventory.unmanaged.as_deref().filter(|_| !tells);
    let unsaid = unsaid.unwrap_or("nothing says its version");
    match &inventory.driver {
        Some(text) => versions.push(version(&driver, text, "the management library")),
        None => unversioned.push(format!("{driver}: {unsaid}")),
    }
    let interface = inventory.interface.as_deref();
    let interface = interface.and_then(|text| text.split_once(' '));
    versions.extend(interface.map(|(name, text)| version(name, text, "the driver")));
    let facts = match library::facts(chosen.backend, deadline, interrupt)? {
        Ok(facts) => facts,
        Err(reason) => {
            unversioned.push(format!("collective library: {reason}"));
            return Ok(());
        }
    };
    let file = facts.file.as_deref();
    let source = file.map(|file| file.display().to_string());
    let source = source.unwrap_or_else(|| "the library".to_owned());
    match &facts.version {
        Some(text) => versions.push(version(&facts.name.to_uppercase(), text, &source)),
        None => unversioned.push(format!("{source}: it does not say its version")),
    }
    if chosen.backend == Built::Hip {
        // The release of ROCm: from the file that RCCL's name leads to, else that of HIP, whose first two numbers are the same.
        let real = file.and_then(|file| std::fs::canonicalize(file).ok());
        let of_file = real.and_then(|file| Some((release_of(&file)?, file.display().to_string())));
        let hip = versions.iter().find(|known| known.component == "HIP");
        let of_hip = hip.and_then(|hip| {
            let [major, minor, ..] = hip.numbers()[..] else {
                return None;
            };
            Some((format!("{major}.{minor}"), "the HIP runtime".to_owned()))
        });
        let release = of_file.or(of_hip);
        versions.extend(release.map(|(text, source)| version("ROCm", &text, &source)));
    }
    Ok(())
}

/// `7.2.1` of `librccl.so.1.0.70201`: two digits each for the last two numbers.
fn release_of(file: &Path) -> Option<String> {
    let (_, number) = file.file_name()?.to_str()?.rsplit_once('.')?;
    let number: u32 = number.parse().ok().filter(|number| *number >= 10_000)?;
    let (major, minor, patch) = (number / 10_000, number / 100 % 100, number % 100);
    Some(format!("{major}.{minor}.{patch}"))
}

/// The variables that rules look at: where it is this machine that is looked at those of the files that its collective library reads for
/// everybody and for a user, outranked by those of this process.
pub(super) fn variables(of_files: Option<&Machine>) -> Vec<Variable> {
    let files = of_files.map(files).unwrap_or_default().into_iter();
    let of_files = files.flat_map(|(path, shown)| in_file(&configuration(&path), &shown));
    let own = std::env::vars_os().filter_map(|(name, value)| {
        Some(Variable {
            name: name.into_string().ok().filter(|name| is_known(name))?,
            value: value.into_string().ok()?,
            source: "environment".to_owned(),
        })
    });
    let named = of_files.chain(own);
    let named = named.map(|variable| (variable.name.clone(), variable));
    named.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// The configuration files with what they are called: RCCL's for AMD's GPUs, NCCL's for others.
fn files(machine: &Machine) -> Vec<(PathBuf, String)> {
    let is_amd = machine.gpus.iter().any(|gpu| gpu.vendor == AMD);
    let name = if is_amd { "rccl.conf" } else { "nccl.conf" };
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let everybodys = format!("/etc/{name}");
    let home = || {
        let file = PathBuf::from(set("HOME")?).join(format!(".{name}"));
        Some((file, format!("~/.{name}")))
    };
    let instead = set(INSTEAD).map(|file| (file.into(), format!("the file of {INSTEAD}")));
    let mut files = vec![(PathBuf::from(&everybodys), everybodys)];
    files.extend(instead.or_else(home));
    files
}

/// The text of a regular file; empty for what is none, as a pipe that nobody writes to.
fn configuration(path: &Path) -> String {
    let text = bounded::head(path, MOST_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_stands_in_the_files_name() {
        for (name, release) in [
            ("librccl.so.1.0.70201", Some("7.2.1")),
            ("librccl.so.1.0.60304", Some("6.3.4")),
            ("librccl.so.1", None),
            ("librccl.so", None),
        ] {
            assert_eq!(release_of(Path::new(name)).as_deref(), release, "{name}");
        }
    }
}
