//! The report of a run: header, verdict, checks. `report.json` is this.
//!
//! It is read back by `report`, `compare` and `fleet`, from files of anybody.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use record::{Simulated, exit};
use serde::{Deserialize, Serialize};

use super::check::Check;
use super::verdict::{ReasonCode, Verdict};

/// The name of a report in the folder of its run.
pub(crate) const REPORT_FILE: &str = "report.json";

/// Version of a report's schema; it grows only when an older reader would misunderstand a newer report.
pub(crate) const REPORT_SCHEMA: u32 = 1;

/// Everything that a run came to; by default one that has not ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// [`REPORT_SCHEMA`].
    pub(crate) schema: u32,
    /// Always `accept`.
    pub(crate) program: String,
    /// Its version.
    pub(crate) version: String,
    /// sha256 of the running program, hex; `None` where it cannot be read.
    pub(crate) program_sha256: Option<String>,
    /// Set where the drivers were soft: nothing in it is of real hardware.
    pub(crate) simulated: Option<Simulated>,
    /// Wall clock at the start, RFC 3339.
    pub(crate) started: String,
    /// Seconds that the run took, all its parts together.
    pub(crate) took_s: f64,
    /// How it ended.
    pub(crate) status: RunStatus,
    /// The verdict on the box.
    pub(crate) verdict: BoxVerdict,
    /// The exit code that the program returned.
    pub(crate) exit_code: u8,
    /// What it was compared with.
    pub(crate) profile: ProfileUsed,
    /// `quick`, `standard` or `soak`.
    pub(crate) level: String,
    /// The machine.
    pub(crate) node: Node,
    /// The devices, in the order of the labels.
    pub(crate) devices: Vec<ReportDevice>,
    /// The checks, in the order in which they are shown.
    pub(crate) checks: Vec<Check>,
    /// What this run does not look at, and what does.
    pub(crate) not_covered: Vec<String>,
    /// Caveats about the whole run, such as a resumed run.
    pub(crate) notes: Vec<String>,
    /// sha256 of the run's journal when this was written, hex; `None` in reports of before.
    #[serde(default)]
    pub(crate) journal_sha256: Option<String>,
}

impl Report {
    /// The file of a report: that of a run's folder, or the file itself.
    pub(crate) fn file(path: &Path) -> PathBuf {
        match path.is_dir() {
            true => path.join(REPORT_FILE),
            false => path.to_owned(),
        }
    }

    /// Reads the report of a folder or a file.
    ///
    /// # Errors
    /// Says what is wrong with it; one that is accepted must be so by its checks and by how its run ended.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let file = Self::file(path);
        let shown = file.display();
        let bytes = bounded::regular(&file, bounded::RESULT);
        let bytes = bytes.with_context(|| format!("cannot read {shown}"))?;
        let report: Self = match serde_json::from_slice(&bytes) {
            Ok(report) => report,
            Err(error) => {
                let why = record::control::replaced(&error.to_string());
                bail!("{shown} is not a report of accept: {why}")
            }
        };
        let is_accepted = report.verdict.exit_code() == exit::DONE;
        let is_sound = BoxVerdict::of(&report.checks) == report.verdict
            && report.status == RunStatus::Complete;
        match report.schema {
            found if found > REPORT_SCHEMA => {
                bail!("{shown} has schema {found}; this accept reads up to {REPORT_SCHEMA}")
            }
            _ if report.program != "accept" => {
                bail!("{shown} is refused: another program wrote it")
            }
            _ if is_accepted && !is_sound => {
                bail!("{shown} is refused: it is accepted and its checks are not")
            }
            _ => Ok(report),
        }
    }

    /// The simulated machine that it is of.
    pub(crate) fn simulated(&self) -> Option<&str> {
        self.simulated.as_ref().map(|soft| soft.box_name.as_str())
    }
}

impl Node {
    /// What it is called: by its label, else by its name.
    pub(crate) fn called(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.name)
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum RunStatus {
    /// All that was planned was looked at or says why not.
    Complete,
    /// A signal ended it.
    Interrupted {
        /// Its name.
        signal: String,
    },
    /// It did not end by itself: killed, or the machine went down.
    #[default]
    Broken,
    /// It could not go on, which it could still say.
    Failed {
        /// Why.
        reason: String,
    },
}

/// The verdict on the box.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum BoxVerdict {
    /// Every required check was measured and none failed.
    Accepted,
    /// As `accepted`, with something to look at.
    AcceptedWithWarnings,
    /// A required check failed.
    Rejected,
    /// A required check is unknown.
    #[default]
    Inconclusive,
}

impl BoxVerdict {
    /// The verdict on a box whose checks came to these.
    ///
    /// A required check that fails rejects. A required check that is inconclusive, or skipped for another reason than that there
    /// is nothing to look at, leaves the box undecided; so does a run in which no required check was measured. What else is not good
    /// is something to look at.
    pub(crate) fn of<'a>(checks: impl IntoIterator<Item = &'a Check>) -> Self {
        let row = |check: &Check| (check.required, check.verdict, check.reason.code);
        Self::of_rows(checks.into_iter().map(row))
    }

    fn of_rows(rows: impl IntoIterator<Item = (bool, Verdict, ReasonCode)>) -> Self {
        let (mut failed, mut open, mut warned, mut measured) = (false, false, false, false);
        for (required, verdict, reason) in rows {
            match verdict {
                Verdict::Fail if required => failed = true,
                Verdict::Inconclusive if required => open = true,
                Verdict::Skip => open |= required && reason != ReasonCode::NotApplicable,
                Verdict::Pass => measured |= required,
                Verdict::Warn | Verdict::Fail | Verdict::Inconclusive => {
                    measured |= required;
                    warned = true;
                }
            }
        }
        match (failed, open || !measured, warned) {
            (true, _, _) => Self::Rejected,
            (false, true, _) => Self::Inconclusive,
            (false, false, true) => Self::AcceptedWithWarnings,
            (false, false, false) => Self::Accepted,
        }
    }

    /// The exit code of a run that ended with it.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Accepted | Self::AcceptedWithWarnings => exit::DONE,
            Self::Rejected => exit::REJECTED,
            Self::Inconclusive => exit::INCONCLUSIVE,
        }
    }

    /// As a reader reads it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Accepted => "ACCEPTED",
            Self::AcceptedWithWarnings => "ACCEPTED, with warnings",
            Self::Rejected => "REJECTED",
            Self::Inconclusive => "INCONCLUSIVE",
        }
    }
}

/// The profile that was used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProfileUsed {
    /// Its name.
    pub(crate) name: String,
    /// What box it is for, in words.
    pub(crate) title: String,
    /// sha256 over the bytes of it and all that it extends, hex.
    pub(crate) sha256: String,
    /// Whether it came with this program.
    pub(crate) shipped: bool,
    /// sha256 of the baseline's file that was compared with, too.
    pub(crate) baseline_sha256: Option<String>,
}

/// The machine of a report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Node {
    /// Its name; a stable stand-in such as `node-1f3a9c` where identities are withheld.
    pub(crate) name: String,
    /// What its user calls it (`--label`); not an identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// Whether names, serials and UUIDs in this report are real.
    pub(crate) identified: bool,
    /// What must be equal for two reports to be compared.
    pub(crate) fingerprint: Fingerprint,
}

/// What must be equal for figures of two reports to be compared; `None` where it could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    /// `cuda`, `hip`, `maca` or `host`.
    pub(crate) backend: String,
    /// Names of the devices, sorted.
    pub(crate) devices: Vec<String>,
    /// Driver's version.
    pub(crate) driver: Option<String>,
    /// Its interface's version.
    pub(crate) interface: Option<String>,
    /// The collective library with its version.
    pub(crate) collectives: Option<String>,
    /// Kernel's release.
    pub(crate) kernel: Option<String>,
    /// CPU's model.
    pub(crate) cpu: Option<String>,
    /// Hash over path classes, expected links and nodes of all devices, without addresses.
    pub(crate) topology: Option<String>,
    /// Maximum payload sizes of the devices' links in bytes, sorted.
    pub(crate) max_payload_bytes: Vec<u32>,
}

impl Fingerprint {
    /// Its parts by name, in words; absent where they could not be read.
    pub(crate) fn parts(&self) -> [(&'static str, Option<String>); 9] {
        let payload: Vec<String> = self.max_payload_bytes.iter().map(u32::to_string).collect();
        [
            ("backend", Some(self.backend.clone())),
            ("devices", Some(self.devices.join(", "))),
            ("driver", self.driver.clone()),
            ("interface", self.interface.clone()),
            ("collectives", self.collectives.clone()),
            ("kernel", self.kernel.clone()),
            ("CPU", self.cpu.clone()),
            ("topology", self.topology.clone()),
            ("payload", Some(payload.join(", "))),
        ]
    }

    /// The names of the parts that differ.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let both = self.parts().into_iter().zip(other.parts());
        let differing = both.filter(|(own, other)| own != other);
        differing.map(|((part, _), _)| part).collect()
    }
}

/// A device of a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReportDevice {
    /// `GPU0`, `MIG0` or `HOST0`.
    pub(crate) label: String,
    /// The vendor's name of it.
    pub(crate) name: String,
    /// PCI address: the slot on this board, which identifies nobody.
    pub(crate) slot: Option<String>,
    /// UUID or serial, or a stable stand-in where identities are withheld.
    pub(crate) identity: Option<String>,
    /// NUMA node.
    pub(crate) node: Option<u32>,
    /// Memory in bytes.
    pub(crate) memory_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::ReasonCode as R;
    use super::Verdict::{Fail, Inconclusive, Pass, Skip, Warn};
    use super::*;

    #[test]
    fn a_box_is_accepted_only_by_what_was_measured() {
        let pass = (true, Pass, R::AsExpected);
        #[rustfmt::skip]
        let known = [
            (vec![], BoxVerdict::Inconclusive),
            (vec![pass], BoxVerdict::Accepted),
            // Measured, but nothing that was required.
            (vec![(false, Pass, R::AsExpected)], BoxVerdict::Inconclusive),
            (vec![pass, (true, Warn, R::BeyondLimit)], BoxVerdict::AcceptedWithWarnings),
            (vec![pass, (true, Skip, R::NotApplicable)], BoxVerdict::Accepted),
            (vec![pass, (true, Skip, R::LeftOut)], BoxVerdict::Inconclusive),
            (vec![pass, (true, Inconclusive, R::Noisy)], BoxVerdict::Inconclusive),
            (vec![(true, Inconclusive, R::Noisy), (true, Fail, R::Hang)], BoxVerdict::Rejected),
            (vec![pass, (false, Fail, R::BeyondLimit)], BoxVerdict::AcceptedWithWarnings),
        ];
        for (checks, expected) in known {
            assert_eq!(BoxVerdict::of_rows(checks.clone()), expected, "{checks:?}");
        }
    }
}
