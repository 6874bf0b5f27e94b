//! Whether the devices that are shown are those that a profile is for.
//!
//! Another kind of box is a wrong profile, which is said at once; too few or some other devices of the right box are its inventory,
//! which is judged.

use std::collections::BTreeMap;

use program::Stop;
use record::Links;

use crate::judge::is_named;
use crate::profile::Match;

/// Refuses a profile that is for another machine.
///
/// # Errors
/// It is.
pub(crate) fn check(profile: &str, matches: &Match, links: &Links) -> Result<(), Stop> {
    let backend = links.backend.as_ref();
    let backend = backend.map_or("none", |backend| &*backend.name);
    let devices = links.devices.iter();
    let fitting = devices.filter(|one| is_named(one, matches)).count();
    let takes_more = matches.more == Some(true);
    let is_more = links.devices.len() > matches.count && fitting >= matches.count && !takes_more;
    let is_mig = links.devices.iter().any(|device| device.mig.is_some());
    let hypervisor = links
        .machine
        .as_ref()
        .and_then(|machine| machine.hypervisor);
    let guest = matches.guest.zip(hypervisor);
    let is_other = backend != matches.backend
        || fitting == 0
        || is_more
        || matches.mig.is_some_and(|mig| mig != is_mig)
        || guest.is_some_and(|(wanted, is)| wanted != is);
    if !is_other {
        return Ok(());
    }
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    for device in &links.devices {
        *shown.entry(&device.name).or_default() += 1;
    }
    let shown = shown
        .iter()
        .map(|(name, count)| format!("{count} of {name}"));
    let shown = shown.collect::<Vec<String>>().join(", ");
    let shown = if shown.is_empty() {
        "no device"
    } else {
        &shown
    };
    let (count, names, driver) = (matches.count, matches.names.join(" or "), &matches.backend);
    Err(Stop::Usage(format!(
        "profile {profile} is for {count} of {names} ({driver}), this machine shows {shown} ({backend})"
    )))
}

#[cfg(test)]
mod tests {
    use record::BackendFacts;

    use super::*;
    use crate::tests::made::device;

    fn links(backend: &str, names: &[&str]) -> Links {
        let device = |(ordinal, name): (usize, &&str)| device(ordinal, name, "");
        Links {
            backend: Some(BackendFacts {
                name: backend.to_owned(),
                ..BackendFacts::default()
            }),
            devices: names.iter().enumerate().map(device).collect(),
            ..Links::default()
        }
    }

    fn four() -> Match {
        Match {
            backend: "cuda".to_owned(),
            names: vec!["NVIDIA L40".to_owned()],
            count: 4,
            more: None,
            mig: Some(false),
            guest: None,
            memory_gib_at_least: None,
        }
    }

    #[test]
    fn another_machine_is_refused_and_too_few_or_one_other_are_for_the_inventory_to_judge() {
        let host = Match {
            backend: "host".to_owned(),
            names: vec!["host memory*".to_owned()],
            count: 2,
            more: Some(true),
            mig: None,
            ..four()
        };
        let cpus = ["host memory, CPU 0"; 3];
        for (matches, backend, names, is_it) in [
            (four(), "hip", &["NVIDIA L40"; 4][..], false),
            (four(), "cuda", &["NVIDIA H200"; 4], false),
            (four(), "cuda", &[], false),
            (four(), "cuda", &["NVIDIA L40"; 8], false),
            (four(), "cuda", &["NVIDIA L40"; 4], true),
            (four(), "cuda", &["NVIDIA L40"; 3], true),
            (four(), "cuda", &["NVIDIA L40", "NVIDIA A10"], true),
            // A name may end in a star, and more devices may do.
            (host.clone(), "host", &cpus, true),
            (host, "host", &["memory"], false),
        ] {
            let checked = check("p", &matches, &links(backend, names));
            assert_eq!(checked.is_ok(), is_it, "{backend} {names:?}");
        }
        // Instances are no whole GPUs.
        let mut shown = links("cuda", &["NVIDIA L40"; 4]);
        shown.devices[0].mig = Some(record::Mig {
            profile: None,
            parent_uuid: None,
        });
        assert!(check("p", &four(), &shown).is_err());
    }
}
