//! Versions of drivers and collective libraries, each asked in a child, and variables of this process.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use doctor::variables::is_known;
use doctor::{Variable, Version};
use inventory::{Built, Chosen, Inventory, library};
use program::Stop;
use runner::Interrupt;

/// Versions, and what was asked for one in vain.
#[derive(Debug, Default)]
pub(super) struct Versions {
    pub(super) found: Vec<Version>,
    pub(super) not_found: Vec<String>,
}

/// The versions of a driver that answers and of its collective library.
///
/// # Errors
/// No child can be started, or a signal came.
pub(super) fn versions(
    chosen: &Chosen,
    deadline: Duration,
    interrupt: &Interrupt,
) -> Result<Versions, Stop> {
    let mut versions = Versions::default();
    let Some(vendor) = chosen.backend.pci_vendor() else {
        return Ok(versions);
    };
    let inventory = &chosen.inventory;
    let driver = format!("{} driver", vendor.name);
    match &inventory.driver {
        Some(text) => versions.add(&driver, text, "the management library"),
        None => versions
            .not_found
            .push(format!("{driver}: {}", unsaid(inventory))),
    }
    if let Some((interface, text)) = inventory
        .interface
        .as_deref()
        .and_then(|text| text.split_once(' '))
    {
        versions.add(interface, text, "the driver");
    }
    let told = library::facts(chosen.backend, deadline, interrupt)?;
    match told {
        Err(reason) => versions
            .not_found
            .push(format!("collective library: {reason}")),
        Ok(facts) => {
            let name = facts.name.to_uppercase();
            let file = facts.file.as_deref();
            let source = file.map_or_else(
                || "the library".to_owned(),
                |file| file.display().to_string(),
            );
            match &facts.version {
                Some(text) => versions.add(&name, text, &source),
                None => versions
                    .not_found
                    .push(format!("{source}: it does not say its version")),
            }
            if chosen.backend == Built::Hip {
                versions.add_rocm(file);
            }
        }
    }
    Ok(versions)
}

/// Why there is no version of the driver; what the management library does not tell of devices is another matter.
fn unsaid(inventory: &Inventory) -> &str {
    let tells = inventory.devices.iter().any(|found| found.busy.is_some());
    let reason = inventory.unmanaged.as_deref().filter(|_| !tells);
    reason.unwrap_or("nothing says its version")
}

impl Versions {
    fn add(&mut self, component: &str, text: &str, source: &str) {
        self.found.push(Version {
            component: component.to_owned(),
            text: text.to_owned(),
            source: source.to_owned(),
        });
    }

    /// The release of ROCm: from the file that RCCL's name leads to, else that of HIP, whose first two numbers are the same.
    fn add_rocm(&mut self, rccl: Option<&Path>) {
        let real = rccl.and_then(|file| std::fs::canonicalize(file).ok());
        if let Some((release, file)) = real.and_then(|file| Some((release_of(&file)?, file))) {
            return self.add("ROCm", &release, &file.display().to_string());
        }
        let hip = self.found.iter().find(|version| version.component == "HIP");
        let numbers = hip.map(Version::numbers).unwrap_or_default();
        if let [major, minor, ..] = numbers[..] {
            self.add("ROCm", &format!("{major}.{minor}"), "the HIP runtime");
        }
    }
}

/// `7.2.1` of `librccl.so.1.0.70201`: two digits each for the last two numbers.
fn release_of(file: &Path) -> Option<String> {
    let (_, number) = file.file_name()?.to_str()?.rsplit_once('.')?;
    let number: u32 = number.parse().ok().filter(|number| *number >= 10_000)?;
    Some(format!(
        "{}.{}.{}",
        number / 10_000,
        number / 100 % 100,
        number % 100
    ))
}

/// The variables of this process that rules look at.
pub(super) fn variables() -> Vec<Variable> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let all = std::env::vars_os().filter_map(text);
    all.filter(|(name, _)| is_known(name))
        .map(|(name, value)| Variable {
            name,
            value,
            source: "environment".to_owned(),
        })
        .collect()
}
