//! What a report says of the machine: its name, what must be equal for figures to be compared, its devices and settings.

use doctor::Verdict;
use measure::record::{Collectives, LinkDevice, Links, Record};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use topology::{Machine, PciTree, Sysfs};

use crate::report::{Fingerprint, Node, ReportDevice, Setting};

/// The machine of a record, by its real name.
pub(crate) fn node(listing: &Record, links: &Links, sysfs: &Sysfs) -> Node {
    let provenance = &listing.header.provenance;
    Node {
        name: provenance
            .host
            .clone()
            .unwrap_or_else(|| "unknown".to_owned()),
        identified: true,
        fingerprint: fingerprint(listing, links, sysfs),
    }
}

fn fingerprint(listing: &Record, links: &Links, sysfs: &Sysfs) -> Fingerprint {
    let backend = links.backend.clone().unwrap_or_default();
    let mut names: Vec<String> = links
        .devices
        .iter()
        .map(|device| device.name.clone())
        .collect();
    names.sort();
    let payloads = links
        .devices
        .iter()
        .filter_map(|device| device.max_payload_bytes);
    let mut max_payload_bytes: Vec<u32> = payloads.collect();
    max_payload_bytes.sort_unstable();
    let machine = links.machine.as_ref();
    Fingerprint {
        backend: backend.name,
        devices: names,
        driver: backend.driver,
        interface: backend.interface,
        collectives: None,
        kernel: listing.header.provenance.kernel.clone(),
        cpu: machine.and_then(|machine| machine.cpus.model.clone()),
        topology: machine.map(|machine| topology(machine, links, sysfs)),
        max_payload_bytes,
    }
}

/// The collective library of a record with its version.
pub(crate) fn library(collectives: &Collectives) -> Option<String> {
    let library = collectives.library.as_ref()?;
    Some(match &library.version {
        Some(version) => format!("{} {version}", library.name),
        None => library.name.clone(),
    })
}

/// A hash over what is where, without addresses: of each device its node and the best that its link could be, of each pair its path.
fn topology(machine: &Machine, links: &Links, sysfs: &Sysfs) -> String {
    let tree = PciTree::read(sysfs, machine.hypervisor == Some(true));
    let mut hash = Sha256::new();
    for device in &links.devices {
        let maxima: Vec<String> = device
            .address
            .and_then(|address| tree.at(address))
            .into_iter()
            .flat_map(|function| tree.above(&function.pci).chain([function]))
            .map(|function| format!("{:?}", function.maximum))
            .collect();
        hash.update(format!("{:?} {maxima:?}\n", device.node));
    }
    for pair in &links.paths {
        hash.update(format!("{} {} {}\n", pair.a, pair.b, pair.path));
    }
    hex(&hash.finalize())
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Devices as a report has them.
pub(crate) fn devices(devices: &[LinkDevice]) -> Vec<ReportDevice> {
    let device = |device: &LinkDevice| ReportDevice {
        label: device.label.clone(),
        name: device.name.clone(),
        slot: device.address.map(|address| address.to_string()),
        identity: device.uuid.clone(),
        node: device.node,
        memory_bytes: device.memory_bytes,
    };
    devices.iter().map(device).collect()
}

/// What `p2p-bw doctor --json` prints, as far as it is used.
#[derive(Debug, Deserialize)]
struct Doctor {
    findings: Vec<doctor::Finding>,
    versions: Vec<Version>,
}

#[derive(Debug, Deserialize)]
struct Version {
    component: String,
    version: String,
}

/// The settings that the doctor read; they explain figures and are not judged.
///
/// # Errors
/// The text holds no such JSON.
pub(crate) fn settings(text: &str) -> Result<Vec<Setting>, String> {
    // Its words on standard error stand in the same log; the object begins and ends with a brace of its own.
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| *line == "{");
    let last = lines.iter().rposition(|line| *line == "}");
    let (Some(first), Some(last)) = (first, last) else {
        return Err("p2p-bw doctor printed no findings".to_owned());
    };
    let object = lines.get(first..=last).unwrap_or_default().join("\n");
    let doctor: Doctor = serde_json::from_str(&object)
        .map_err(|error| format!("what p2p-bw doctor printed is not understood: {error}"))?;
    let version = |version: Version| Setting {
        name: format!("version of {}", version.component),
        value: Some(version.version),
        why_not: None,
    };
    let finding = |finding: doctor::Finding| {
        let is_unknown = finding.verdict == Verdict::CannotTell;
        let seen = match finding.verdict {
            Verdict::Bad | Verdict::Warn => {
                format!("{} ({})", finding.seen, finding.verdict.word())
            }
            Verdict::CannotTell | Verdict::Ok => finding.seen,
        };
        Setting {
            name: format!("{} of {}", finding.rule, finding.subject),
            value: (!is_unknown).then(|| seen.clone()),
            why_not: is_unknown.then_some(seen),
        }
    };
    let versions = doctor.versions.into_iter().map(version);
    Ok(versions
        .chain(doctor.findings.into_iter().map(finding))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_what_the_doctor_saw_and_what_it_could_not_see_says_why() {
        let text = r#"caution: a line of standard error
{
  "schema": 1,
  "versions": [{"component": "NCCL", "version": "2.27.3", "source": "a file"}],
  "findings": [
    {"rule": "large-bar", "subject": "GPU0", "verdict": "ok", "seen": "65536 MiB", "why": "", "source": "", "todo": null},
    {"rule": "iommu", "subject": "GPU0", "verdict": "cannot_tell", "seen": "not shown", "why": "", "source": "", "todo": null},
    {"rule": "governor", "subject": "this machine", "verdict": "warn", "seen": "powersave", "why": "", "source": "", "todo": null}
  ]
}
"#;
        let told = settings(text).unwrap();
        let rows: Vec<(&str, Option<&str>, Option<&str>)> = told
            .iter()
            .map(|setting| {
                (
                    setting.name.as_str(),
                    setting.value.as_deref(),
                    setting.why_not.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("version of NCCL", Some("2.27.3"), None),
                ("large-bar of GPU0", Some("65536 MiB"), None),
                ("iommu of GPU0", None, Some("not shown")),
                ("governor of this machine", Some("powersave (warn)"), None),
            ]
        );
        assert!(settings("nothing").is_err());
    }
}
