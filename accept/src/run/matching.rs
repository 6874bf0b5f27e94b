//! Whether the devices that are shown are those that a profile is for.
//!
//! Another kind of box is a wrong profile, which is said at once; too few or some other devices of the right box are its inventory,
//! which is judged.

use measure::record::{LinkDevice, Links};

use crate::profile::Match;

/// Says that the profile is for another box, naming both.
///
/// # Errors
/// It is.
pub(crate) fn check(profile: &str, matches: &Match, links: &Links) -> Result<(), String> {
    let backend = links
        .backend
        .as_ref()
        .map_or("none", |backend| &*backend.name);
    if backend != matches.backend {
        return Err(format!(
            "profile {profile} is for devices of the {} backend, and {backend} answered; choose a profile for it",
            matches.backend
        ));
    }
    let is_named = |device: &LinkDevice| matches.names.iter().any(|name| is_called(device, name));
    let fitting = links
        .devices
        .iter()
        .filter(|device| is_named(device))
        .count();
    let shown = shown(&links.devices);
    let wanted = format!("{} of {}", matches.count, matches.names.join(" or "));
    if fitting == 0 {
        return Err(format!(
            "profile {profile} is for {wanted}, and this machine shows {shown}; choose another profile, or the devices with --gpus"
        ));
    }
    let takes_more = matches.more == Some(true);
    if links.devices.len() > matches.count && fitting >= matches.count && !takes_more {
        return Err(format!(
            "profile {profile} is for {wanted}, and this machine shows {shown}; choose {} of them with --gpus",
            matches.count
        ));
    }
    let is_mig = links.devices.iter().any(|device| device.mig.is_some());
    if let Some(mig) = matches.mig.filter(|mig| *mig != is_mig) {
        let words = |mig: bool| if mig { "MIG instances" } else { "whole GPUs" };
        return Err(format!(
            "profile {profile} is for {}, and this machine shows {}; choose another profile",
            words(mig),
            words(is_mig)
        ));
    }
    let is_guest = links
        .machine
        .as_ref()
        .and_then(|machine| machine.hypervisor);
    match (matches.guest, is_guest) {
        (Some(wanted), Some(is)) if wanted != is => {
            let words = |guest: bool| {
                if guest {
                    "a guest of a hypervisor"
                } else {
                    "bare metal"
                }
            };
            Err(format!(
                "profile {profile} is for {}, and this machine is {}; choose another profile",
                words(wanted),
                words(is)
            ))
        }
        _ => Ok(()),
    }
}

/// Whether a device has a name of a profile, in which `*` at the end stands for anything.
fn is_called(device: &LinkDevice, name: &str) -> bool {
    match name.strip_suffix('*') {
        Some(beginning) => device.name.starts_with(beginning),
        None => device.name == name,
    }
}

/// `2 of NVIDIA L40, 1 of NVIDIA A10`.
fn shown(devices: &[LinkDevice]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for device in devices {
        match counts.iter_mut().find(|(name, _)| *name == device.name) {
            Some((_, count)) => *count += 1,
            None => counts.push((&device.name, 1)),
        }
    }
    if counts.is_empty() {
        return "no device".to_owned();
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{count} of {name}"))
        .collect();
    counts.join(", ")
}

#[cfg(test)]
mod tests {
    use measure::record::BackendFacts;

    use super::*;

    fn links(backend: &str, names: &[&str]) -> Links {
        let device = |(ordinal, name): (usize, &&str)| LinkDevice {
            label: format!("GPU{ordinal}"),
            ordinal,
            name: (*name).to_owned(),
            uuid: None,
            address: None,
            node: None,
            memory_bytes: None,
            mig: None,
            idle: None,
            loaded: None,
            max_payload_bytes: None,
            busy: None,
        };
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
    fn another_box_is_named_with_the_one_that_was_meant() {
        for (backend, names, says) in [
            (
                "hip",
                &["NVIDIA L40"; 4][..],
                "for devices of the cuda backend, and hip answered",
            ),
            (
                "cuda",
                &["NVIDIA H200"; 4],
                "for 4 of NVIDIA L40, and this machine shows 4 of NVIDIA H200",
            ),
            ("cuda", &[], "shows no device"),
            ("cuda", &["NVIDIA L40"; 8], "choose 4 of them with --gpus"),
        ] {
            let why = check("l40x4", &four(), &links(backend, names)).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
    }

    #[test]
    fn too_few_of_the_right_kind_or_one_other_is_for_the_inventory_to_judge() {
        for names in [
            &["NVIDIA L40"; 4][..],
            &["NVIDIA L40"; 3],
            &["NVIDIA L40", "NVIDIA L40", "NVIDIA L40", "NVIDIA A10"],
        ] {
            assert_eq!(check("l40x4", &four(), &links("cuda", names)), Ok(()));
        }
    }

    #[test]
    fn a_name_may_end_in_a_star_and_more_devices_may_do() {
        let host = Match {
            backend: "host".to_owned(),
            names: vec!["host memory*".to_owned()],
            count: 2,
            more: Some(true),
            mig: None,
            ..four()
        };
        let names = [
            "host memory, CPU 0",
            "host memory, CPU 1",
            "host memory, CPU 2",
        ];
        assert_eq!(check("host", &host, &links("host", &names)), Ok(()));
        assert!(check("host", &host, &links("host", &["memory"])).is_err());
    }

    #[test]
    fn instances_are_no_whole_gpus() {
        let mut shown = links("cuda", &["NVIDIA L40"; 4]);
        shown.devices[0].mig = Some(measure::record::Mig {
            profile: None,
            parent_uuid: None,
        });
        let why = check("l40x4", &four(), &shown).unwrap_err();
        assert!(
            why.contains("for whole GPUs, and this machine shows MIG instances"),
            "{why}"
        );
    }
}
