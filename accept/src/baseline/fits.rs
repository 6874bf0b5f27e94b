//! Whether a baseline is of the box that a run is about to measure, as far as that is known before anything is measured.
//!
//! Other versions of driver, firmware or kernel are no matter of this: the run tells of them, and measures.

use std::collections::BTreeSet;
use std::path::Path;

use super::Baseline;

/// What to do about a baseline of another box.
const NEXT: &str = "run without --baseline, or with one that was captured on this box (accept baseline capture RUN --out FILE)";

impl Baseline {
    /// Refuses it where it is of real hardware and the run is of a soft box, the other way round, or of another soft box.
    ///
    /// # Errors
    /// It is, in one sentence.
    pub(crate) fn same_kind(&self, path: &Path, soft_box: Option<&str>) -> Result<(), String> {
        let words = |soft: Option<&str>| match soft {
            Some(name) => format!("the soft box {}", measure::control::replaced(name)),
            None => "real hardware".to_owned(),
        };
        let own = self.soft_box.as_deref();
        if own == soft_box {
            return Ok(());
        }
        Err(format!(
            "--baseline {} is of {}, and this run is of {}; {NEXT}",
            path.display(),
            words(own),
            words(soft_box)
        ))
    }

    /// Refuses it where another backend or none of its devices answered. A device that is missing, or another one among them, is the
    /// inventory's matter.
    ///
    /// # Errors
    /// It is of others, in one sentence.
    pub(crate) fn same_devices(
        &self,
        path: &Path,
        backend: &str,
        names: &[String],
    ) -> Result<(), String> {
        let before = &self.fingerprint;
        let is_shared = names.is_empty() || names.iter().any(|name| before.devices.contains(name));
        if before.backend == backend && is_shared {
            return Ok(());
        }
        let listed = |names: &[String], backend: &str| {
            let names: BTreeSet<String> = names
                .iter()
                .map(|name| measure::control::replaced(name))
                .collect();
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            let names = if names.is_empty() {
                "no device".to_owned()
            } else {
                names
            };
            format!("{names} ({} backend)", measure::control::replaced(backend))
        };
        Err(format!(
            "--baseline {} is of {}, and this run is of {}; {NEXT}",
            path.display(),
            listed(&before.devices, &before.backend),
            listed(names, backend)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::BASELINE_SCHEMA;
    use crate::report::Fingerprint;

    fn of(soft_box: Option<&str>) -> Baseline {
        Baseline {
            schema: BASELINE_SCHEMA,
            soft_box: soft_box.map(str::to_owned),
            started: "2026-11-01T10:00:00Z".to_owned(),
            profile: ("test".to_owned(), String::new()),
            fingerprint: Fingerprint {
                backend: "cuda".to_owned(),
                devices: vec!["NVIDIA L40".to_owned(); 4],
                ..Fingerprint::default()
            },
            figures: vec![],
        }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_baseline_of_another_box_is_refused_with_what_differs() {
        let file = Path::new("base.json");
        for (baseline, run, told) in [
            (Some("l40x4"), Some("l40x4"), None),
            (None, None, None),
            (
                Some("l40x4"),
                None,
                Some("is of the soft box l40x4, and this run is of real hardware; run without"),
            ),
            (
                None,
                Some("l40x4"),
                Some("is of real hardware, and this run is of the soft box l40x4; run without"),
            ),
            (
                Some("l40x4"),
                Some("r9700-x16"),
                Some("is of the soft box l40x4, and this run is of the soft box r9700-x16; run"),
            ),
        ] {
            let came = of(baseline).same_kind(file, run).err();
            assert_eq!(came.is_some(), told.is_some(), "{came:?}");
            let came = came.unwrap_or_default();
            assert!(came.contains(told.unwrap_or_default()), "{came}");
            assert!(
                came.is_empty() || came.starts_with("--baseline base.json "),
                "{came}"
            );
        }
    }

    #[test]
    fn other_devices_are_refused_and_a_missing_or_exchanged_one_is_left_to_the_inventory() {
        let file = Path::new("base.json");
        let four = of(None);
        for good in [
            names(&["NVIDIA L40"; 4]),
            names(&["NVIDIA L40"; 3]),
            names(&["NVIDIA L40", "NVIDIA A10"]),
            names(&[]),
        ] {
            assert_eq!(four.same_devices(file, "cuda", &good), Ok(()));
        }
        let other = four.same_devices(file, "cuda", &names(&["NVIDIA A10", "NVIDIA A10"]));
        let told = other.unwrap_err();
        assert!(
            told.starts_with(
                "--baseline base.json is of NVIDIA L40 (cuda backend), and this run is of NVIDIA A10 (cuda backend); run without --baseline"
            ),
            "{told}"
        );
        let told = four
            .same_devices(file, "host", &names(&["CPU 0"]))
            .unwrap_err();
        assert!(
            told.contains("this run is of CPU 0 (host backend)"),
            "{told}"
        );
    }
}
