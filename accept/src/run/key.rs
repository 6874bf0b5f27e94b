//! What must be as it was for a run to be resumed: its figures are of one profile, one machine and one set of programs.

use std::path::Path;

use program::Stop;
use record::{LinkDevice, Links, Record};
use serde::{Deserialize, Serialize};

use crate::cli::RunArgs;

/// What it is and how it was, part by part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Key(Vec<(String, String)>);

impl Key {
    /// What was asked for, which is known before anything is looked at.
    pub(crate) fn asked(args: &RunArgs, profile: &str, baseline: Option<&str>) -> Self {
        let duration = args.duration.map(|time| time.as_secs_f64().to_string());
        let or_none = |value: Option<&str>| value.unwrap_or("none").to_owned();
        Self::of([
            ("the profile", profile.to_owned()),
            ("--level", args.level.word().to_owned()),
            ("--duration", or_none(duration.as_deref())),
            ("--gpus", args.on.gpus.clone()),
            ("--backend", or_none(args.on.backend.as_deref())),
            ("--sim", or_none(args.on.sim.as_deref())),
            ("--exclude", args.exclude.join(",")),
            ("--baseline", or_none(baseline)),
            ("--serve-url", or_none(args.serve_url.as_deref())),
        ])
    }

    /// The same with the machine and the programs.
    pub(crate) fn with_machine(
        self,
        listing: &Record,
        links: &Links,
        program: Option<&str>,
    ) -> Self {
        let device = |device: &LinkDevice| {
            let identity = (&device.label, &device.name, &device.uuid, device.address);
            format!("{identity:?}")
        };
        let devices: Vec<String> = links.devices.iter().map(device).collect();
        let measuring = &listing.header.provenance.binary_sha256;
        let machine = Self::of([
            ("this program", format!("{program:?}")),
            ("p2p-bw", format!("{measuring:?}")),
            ("the driver", format!("{:?}", links.backend)),
            ("the devices", devices.join(", ")),
        ]);
        Self(self.0.into_iter().chain(machine.0).collect())
    }

    fn of<const N: usize>(parts: [(&str, String); N]) -> Self {
        Self(parts.map(|(part, value)| (part.to_owned(), value)).to_vec())
    }

    /// Refuses a run of which one of these parts is another one now.
    pub(crate) fn check(&self, now: &Self, folder: &Path) -> Result<(), Stop> {
        let is_known = |part: &&(String, String)| self.0.contains(part);
        let differs: Vec<&str> = now
            .0
            .iter()
            .filter(|part| !is_known(part))
            .map(|(part, _)| part.as_str())
            .collect();
        match differs.is_empty() {
            true => Ok(()),
            false => Err(Stop::Usage(format!(
                "the run in {} cannot be resumed: what differs is {}; start a new one with --out",
                folder.display(),
                differs.join(", ")
            ))),
        }
    }
}
