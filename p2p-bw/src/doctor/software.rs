//! Versions of drivers and collective libraries, each asked in a child, and variables of this process.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use doctor::variables::{in_file, is_known};
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

/// The most that is read of a configuration file.
const MOST_BYTES: u64 = 64 << 10;

/// The text of a regular file; empty for what is none, as a pipe that nobody writes to, which would hold up who opens it.
fn configuration(path: &Path) -> String {
    let mut text = Vec::new();
    if path.is_file()
        && let Ok(file) = std::fs::File::open(path)
        // What was read before a fault counts.
        && file.take(MOST_BYTES).read_to_end(&mut text).is_err()
    {
        text.clear();
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The variables that rules look at: of the files that NCCL reads, outranked by those of this process.
pub(super) fn variables(files: &[(&Path, &str)]) -> Vec<Variable> {
    let mut known = BTreeMap::new();
    let mut add = |variable: Variable| known.insert(variable.name.clone(), variable);
    for (path, shown) in files {
        for variable in in_file(&configuration(path), shown) {
            add(variable);
        }
    }
    for (name, value) in std::env::vars_os() {
        if let (Ok(name), Ok(value)) = (name.into_string(), value.into_string())
            && is_known(&name)
        {
            add(Variable {
                name,
                value,
                source: "environment".to_owned(),
            });
        }
    }
    known.into_values().collect()
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
