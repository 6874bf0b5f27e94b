//! What a command line asks for: its profile, the devices that are meant, how long it may take, and what is wrong with it.
//!
//! Nothing is looked at or measured here.

use std::time::Duration;

use program::Stop;

use crate::checks::KINDS;
use crate::cli::{Level, RunArgs};
use crate::profile::{self, Loaded, Match, Profile};

/// The profile of a command line.
///
/// # Errors
/// What is wrong with it.
pub(super) fn loaded(args: &RunArgs) -> Result<Loaded, Stop> {
    profile::load(&args.profile).map_err(|error| Stop::Usage(error.to_string()))
}

/// What devices a profile is for.
///
/// # Errors
/// It does not say.
pub(super) fn matches(profile: &Profile) -> Result<&Match, Stop> {
    profile.matches.as_ref().ok_or_else(|| {
        Stop::Usage(format!(
            "profile {} has no [match] and can only be extended; choose one that is for a machine",
            profile.name
        ))
    })
}

/// What a run may take in all.
pub(super) fn time_budget(args: &RunArgs, profile: &Profile) -> Duration {
    let own = match args.level {
        Level::Quick => profile.budget.quick_s,
        Level::Standard | Level::Soak => profile.budget.standard_s,
    };
    let soak = args.duration.unwrap_or_default();
    args.budget
        .unwrap_or_else(|| Duration::try_from_secs_f64(own).unwrap_or_default() + soak)
}

/// What is wrong with a command line beside its profile.
pub(super) fn check(args: &RunArgs) -> Result<(), Stop> {
    let refused = |why: &str| Err(Stop::Usage(why.to_owned()));
    match (args.level, args.duration) {
        (Level::Soak, None) => return refused("--level soak needs --duration, such as 30m"),
        (Level::Quick | Level::Standard, Some(_)) => {
            return refused("--duration is for --level soak; add it, or leave --duration out");
        }
        _ => {}
    }
    if let Some(unknown) = args
        .exclude
        .iter()
        .find(|key| crate::checks::kind(key).is_none())
    {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.key).collect();
        return Err(Stop::Usage(format!(
            "--exclude {unknown}: there is no such kind of check; there are {}",
            known.join(", ")
        )));
    }
    if args.on.sim.is_some() && args.on.backend.as_deref() == Some("host") {
        return refused(
            "--sim simulates GPUs and --backend host measures this machine: leave one of them out",
        );
    }
    Ok(())
}
