//! In what two boxes differ that must be equal before their figures say anything about each other, and what of it was allowed.

use serde::Serialize;

use crate::report::Fingerprint;

/// Parts of a fingerprint that may be allowed to differ; the devices themselves may not.
const ALLOWABLE: &[&str] = &[
    "driver",
    "collectives",
    "kernel",
    "cpu",
    "topology",
    "payload",
];

/// A part of the fingerprint that differs, or is known of one side only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    /// The part, as `--allow` has it.
    pub(crate) part: String,
    /// On A; `None` where it could not be read.
    pub(crate) a: Option<String>,
    /// On B.
    pub(crate) b: Option<String>,
    /// Whether `--allow` names it.
    pub(crate) allowed: bool,
}

/// The parts that `--allow` names.
pub(crate) fn allowed(asked: &[String]) -> Result<Vec<&'static str>, String> {
    let known = |asked: &String| {
        let found = ALLOWABLE.iter().find(|part| *part == asked).copied();
        found.ok_or_else(|| {
            format!(
                "--allow {asked}: there is no such part; choose of {}",
                ALLOWABLE.join(", ")
            )
        })
    };
    asked.iter().map(known).collect()
}

/// What differs between two fingerprints.
pub(crate) fn differences(a: &Fingerprint, b: &Fingerprint, allowed: &[&str]) -> Vec<Difference> {
    let (a, b) = (parts(a), parts(b));
    let differing = a.into_iter().zip(b).filter(|((_, a), (_, b))| a != b);
    differing
        .map(|((part, a), (_, b))| Difference {
            part: part.to_owned(),
            a,
            b,
            allowed: allowed.contains(&part),
        })
        .collect()
}

/// A fingerprint as words, a row a part.
fn parts(of: &Fingerprint) -> Vec<(&'static str, Option<String>)> {
    let payload = || {
        of.max_payload_bytes
            .iter()
            .map(|bytes| format!("{bytes} B"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let driver = match (&of.driver, &of.interface) {
        (None, None) => None,
        (driver, interface) => Some(
            [driver.as_deref(), interface.as_deref()]
                .map(|word| word.unwrap_or("—"))
                .join(" with "),
        ),
    };
    vec![
        ("backend", Some(of.backend.clone())),
        ("devices", Some(of.devices.join(", "))),
        ("driver", driver),
        ("collectives", of.collectives.clone()),
        ("kernel", of.kernel.clone()),
        ("cpu", of.cpu.clone()),
        ("topology", of.topology.clone()),
        ("payload", (!of.max_payload_bytes.is_empty()).then(payload)),
    ]
}
