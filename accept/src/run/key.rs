//! What must be equal for a run to be gone on with: profile, programs, driver, devices and what was asked for.

use std::ffi::OsStr;
use std::path::Path;

use measure::control;
use measure::record::{Links, Record};
use program::Stop;
use program::command_line::quoted;
use serde::{Deserialize, Serialize};

use crate::cli::{Level, RunArgs};
use crate::report::ProfileUsed;

/// What must be equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Key {
    /// sha256 of the profile and all that it extends.
    profile: String,
    /// sha256 of this program.
    program: Option<String>,
    /// sha256 of the program that measures links.
    measuring: Option<String>,
    /// Driver and interface with their versions.
    driver: String,
    /// Label, name and identity of each device.
    devices: Vec<String>,
    /// What was asked for, a flag each.
    asked: Vec<(String, String)>,
}

impl Key {
    /// The key of a run.
    pub(crate) fn of(
        args: &RunArgs,
        profile_sha256: &str,
        baseline_sha256: Option<&str>,
        listing: &Record,
        links: &Links,
        program: Option<String>,
    ) -> Self {
        let backend = links.backend.clone().unwrap_or_default();
        let none = || "of unknown version".to_owned();
        let device = |device: &measure::record::LinkDevice| {
            let address = device.address.map(|address| address.to_string());
            let identity = device.uuid.clone().or(address);
            format!(
                "{} {} {}",
                device.label,
                device.name,
                identity.unwrap_or_else(|| "without identity".to_owned())
            )
        };
        Self {
            profile: profile_sha256.to_owned(),
            program,
            measuring: listing.header.provenance.binary_sha256.clone(),
            driver: format!(
                "{}, driver {}, {}",
                backend.name,
                backend.driver.unwrap_or_else(none),
                backend.interface.unwrap_or_else(none)
            ),
            devices: links.devices.iter().map(device).collect(),
            asked: asked(args, baseline_sha256),
        }
    }

    /// In what another run differs, in words; empty where it may go on.
    pub(crate) fn differences(&self, now: &Self) -> Vec<String> {
        let mut told = Vec::new();
        if self.profile != now.profile {
            told.push("the profile (its sha256 is another one)".to_owned());
        }
        if self.program != now.program {
            told.push("this program (its sha256 is another one)".to_owned());
        }
        if self.measuring != now.measuring {
            told.push("p2p-bw (its sha256 is another one)".to_owned());
        }
        if self.driver != now.driver {
            told.push(format!(
                "the driver ({} then, {} now)",
                self.driver, now.driver
            ));
        }
        if self.devices != now.devices {
            let shown = |devices: &[String]| match devices.is_empty() {
                true => "none".to_owned(),
                false => devices.join(", "),
            };
            told.push(format!(
                "the devices ({} then, {} now)",
                shown(&self.devices),
                shown(&now.devices)
            ));
        }
        told.extend(self.asked_otherwise(&now.asked));
        told
    }

    /// The command that goes on with the run in this folder. Files of the user's own are not known by name, and stand as FILE with what they
    /// are behind it.
    pub(crate) fn command(&self, profile: &ProfileUsed, folder: &Path) -> String {
        let plain = |word: &str| quoted(OsStr::new(&control::replaced(word)));
        let mut files = Vec::new();
        let mut words = vec!["accept run --profile".to_owned()];
        if profile.shipped {
            words.push(plain(&profile.name));
        } else {
            words.push("FILE".to_owned());
            files.push(format!("the profile {}", control::replaced(&profile.name)));
        }
        for (flag, value) in &self.asked {
            let shown = match (flag.as_str(), value.as_str()) {
                (_, NOT_GIVEN) | ("--gpus", "all") | ("--exclude", "") => continue,
                ("--baseline", sha256) => {
                    let begin: String = sha256.chars().take(SHORT).collect();
                    let begin = control::replaced(&begin);
                    files.push(format!("the baseline whose sha256 begins with {begin}"));
                    "FILE".to_owned()
                }
                // As it was kept, with its unit apart.
                ("--duration", time) => plain(&time.replace(' ', "")),
                (
                    "--level" | "--gpus" | "--backend" | "--sim" | "--exclude" | "--serve-url",
                    value,
                ) => plain(value),
                _ => continue,
            };
            words.push(format!("{flag} {shown}"));
        }
        words.push(format!("--resume {}", quoted(folder.as_os_str())));
        match files.is_empty() {
            true => words.join(" "),
            false => format!("{} (FILE: {})", words.join(" "), files.join(", then ")),
        }
    }

    /// In what a command line differs from that of this run; what it would find on the machine is not looked at.
    pub(crate) fn differences_of(
        &self,
        args: &RunArgs,
        profile_sha256: &str,
        baseline_sha256: Option<&str>,
    ) -> Vec<String> {
        let profile = (self.profile != profile_sha256)
            .then(|| "the profile (its sha256 is another one)".to_owned());
        profile
            .into_iter()
            .chain(self.asked_otherwise(&asked(args, baseline_sha256)))
            .collect()
    }

    fn asked_otherwise(&self, now: &[(String, String)]) -> Vec<String> {
        let pairs = self.asked.iter().zip(now);
        pairs
            .filter(|(then, now)| then != now)
            .map(|((flag, then), (_, now))| format!("{flag} ({then} then, {now} now)"))
            .collect()
    }
}

/// What stands for a flag that was not given.
const NOT_GIVEN: &str = "not given";

/// Characters of a sha256 that are shown.
const SHORT: usize = 12;

/// Refuses a run that is to be gone on with and differs.
///
/// # Errors
/// Names what differs, where anything does.
pub(crate) fn refuse(folder: &Path, differences: &[String]) -> Result<(), Stop> {
    match differences {
        [] => Ok(()),
        _ => Err(Stop::Usage(format!(
            "the run in {} cannot be gone on with: what differs is {}; start a new one with --out",
            folder.display(),
            differences.join(", ")
        ))),
    }
}

/// What was asked for; how long all may take and where results go may change.
fn asked(args: &RunArgs, baseline_sha256: Option<&str>) -> Vec<(String, String)> {
    let level = match args.level {
        Level::Quick => "quick",
        Level::Standard => "standard",
        Level::Soak => "soak",
    };
    let or_none = |value: Option<String>| value.unwrap_or_else(|| NOT_GIVEN.to_owned());
    let duration = args
        .duration
        .map(|time| format!("{} s", time.as_secs_f64()));
    [
        ("--level", level.to_owned()),
        ("--duration", or_none(duration)),
        ("--gpus", args.gpus.clone()),
        ("--backend", or_none(args.backend.clone())),
        ("--sim", or_none(args.sim.clone())),
        ("--exclude", args.exclude.join(",")),
        ("--baseline", or_none(baseline_sha256.map(str::to_owned))),
        ("--serve-url", or_none(args.serve_url.clone())),
    ]
    .map(|(flag, value)| (flag.to_owned(), value))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    #[test]
    fn the_command_that_goes_on_has_all_that_must_be_as_it_was() {
        let asked = [
            ("--level", "soak"),
            ("--duration", "90 s"),
            ("--gpus", "0,1"),
            ("--backend", NOT_GIVEN),
            ("--sim", "a box.toml"),
            ("--exclude", ""),
            ("--baseline", "0123456789abcdef"),
            ("--serve-url", NOT_GIVEN),
        ];
        let mut key = Key {
            profile: "ab".to_owned(),
            program: None,
            measuring: None,
            driver: String::new(),
            devices: vec![],
            asked: asked
                .map(|(flag, value)| (flag.to_owned(), value.to_owned()))
                .to_vec(),
        };
        let mut profile = made::report("a", vec![]).profile;
        assert_eq!(
            key.command(&profile, Path::new("out 1")),
            "accept run --profile l40x4 --level soak --duration 90s --gpus 0,1 --sim 'a box.toml' --baseline FILE --resume 'out 1' \
             (FILE: the baseline whose sha256 begins with 0123456789ab)"
        );
        profile.shipped = false;
        key.asked = vec![
            ("--level".to_owned(), "quick".to_owned()),
            ("--gpus".to_owned(), "all".to_owned()),
        ];
        assert_eq!(
            key.command(&profile, Path::new("out")),
            "accept run --profile FILE --level quick --resume out (FILE: the profile l40x4)"
        );
    }
}
