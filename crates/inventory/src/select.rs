//! Which devices `--gpus` names.

use record::Mig;
use topology::PciAddress;

use crate::messages::{Found, Inventory};
use device::Built;

/// The devices a list names, in its order.
///
/// # Errors
/// Names the first entry that is no device, ambiguous, or named twice.
pub fn select(
    list: Option<&str>,
    backend: Built,
    inventory: &Inventory,
) -> Result<Vec<Found>, String> {
    let default = if backend == Built::Host { "0,1" } else { "all" };
    let list = list.unwrap_or(default);
    if list.trim() == "all" {
        return Ok(inventory.discrete().cloned().collect());
    }
    let mut chosen: Vec<Found> = Vec::new();
    for entry in list.split(',').map(str::trim) {
        let device = find(entry, inventory)?;
        if chosen.iter().any(|other| other.ordinal == device.ordinal) {
            return Err(format!(
                "--gpus names device {} twice (`{entry}`)",
                device.ordinal
            ));
        }
        chosen.push(device.clone());
    }
    Ok(chosen)
}

fn find<'a>(entry: &str, inventory: &'a Inventory) -> Result<&'a Found, String> {
    let devices = &inventory.devices;
    let none = |what: &str| {
        let name = |found: &Found| match found.pci.as_deref() {
            Some(address) => format!("{} ({address})", found.ordinal),
            None => found.ordinal.to_string(),
        };
        let names: Vec<String> = devices.iter().map(name).collect();
        format!(
            "--gpus {entry}: no such {what}; there are {}",
            names.join(", ")
        )
    };
    if entry == "all" {
        return Err("--gpus names `all` beside others; write it alone".to_owned());
    }
    if entry.is_empty() {
        return Err("--gpus has an empty entry; write a list such as 0,1".to_owned());
    }
    let lower = entry.to_ascii_lowercase();
    // The labels of the tables: GPU0, MIG0, HOST0.
    let label = ["gpu", "mig", "host"]
        .iter()
        .find_map(|kind| lower.strip_prefix(kind)?.parse::<usize>().ok());
    if let Some(ordinal) = entry.parse().ok().or(label) {
        return devices
            .iter()
            .find(|device| device.ordinal == ordinal)
            .ok_or_else(|| none("device"));
    }
    if lower.starts_with("gpu-") || lower.starts_with("mig-") {
        return by_uuid(entry, &lower, inventory).unwrap_or_else(|| Err(none("UUID")));
    }
    let address: PciAddress = entry.parse().map_err(|_| {
        format!(
            "--gpus {entry}: neither an index, a PCI address (0000:21:00.0) nor a UUID; write a list such as 0,1"
        )
    })?;
    let at =
        |device: &&Found| device.pci.as_deref().and_then(|pci| pci.parse().ok()) == Some(address);
    let found: Vec<&Found> = devices.iter().filter(at).collect();
    match found[..] {
        [] => Err(none("PCI address")),
        [one] => Ok(one),
        _ => Err(format!(
            "--gpus {entry}: {} MIG instances have this address; name one by its UUID",
            found.len()
        )),
    }
}

/// By a UUID or a beginning of one; a physical device's UUID names its only MIG instance.
fn by_uuid<'a>(
    entry: &str,
    lower: &str,
    inventory: &'a Inventory,
) -> Option<Result<&'a Found, String>> {
    let begins = |uuid: &Option<String>| {
        uuid.as_ref()
            .is_some_and(|uuid| uuid.to_ascii_lowercase().starts_with(lower))
    };
    let is_parent = |mig: &Option<Mig>| mig.as_ref().is_some_and(|mig| begins(&mig.parent_uuid));
    let found: Vec<&Found> = inventory
        .devices
        .iter()
        .filter(|device| begins(&device.uuid) || is_parent(&device.mig))
        .collect();
    match found[..] {
        [one] => Some(Ok(one)),
        [] if inventory
            .mig_listed
            .iter()
            .any(|uuid| uuid.to_ascii_lowercase().starts_with(lower)) =>
        {
            Some(Err(format!(
                "--gpus {entry}: the management library lists this MIG instance, but the driver does not show it to \
                 this process; drivers before R570 show one instance a process: set CUDA_VISIBLE_DEVICES={entry}"
            )))
        }
        [] => None,
        _ => Some(Err(format!(
            "--gpus {entry}: names {} devices; write more of the UUID",
            found.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory() -> Inventory {
        let device = |ordinal, uuid: &str, pci: &str, parent: Option<&str>| Found {
            ordinal,
            uuid: Some(uuid.to_owned()),
            pci: Some(pci.to_owned()),
            mig: parent.map(|parent| Mig {
                profile: None,
                parent_uuid: Some(parent.to_owned()),
            }),
            ..Found::default()
        };
        Inventory {
            devices: vec![
                device(0, "GPU-aa00", "0000:21:00.0", None),
                device(1, "GPU-ab11", "00000000:61:00.0", None),
                device(2, "MIG-c222", "0000:81:00.0", Some("GPU-ffff")),
                device(3, "MIG-c333", "0000:81:00.0", Some("GPU-eeee")),
            ],
            mig_listed: vec!["MIG-d444".to_owned()],
            ..Inventory::default()
        }
    }

    fn ordinals(list: &str) -> Result<Vec<usize>, String> {
        select(Some(list), Built::Cuda, &inventory())
            .map(|found| found.iter().map(|device| device.ordinal).collect())
    }

    #[test]
    fn indexes_addresses_and_uuids_name_devices_in_order() {
        assert_eq!(ordinals("1,0"), Ok(vec![1, 0]));
        assert_eq!(ordinals("61:00.0, GPU-AA"), Ok(vec![1, 0]));
        assert_eq!(ordinals("MIG-c222"), Ok(vec![2]));
        assert_eq!(ordinals("GPU1,mig2"), Ok(vec![1, 2]));
        assert_eq!(ordinals("GPU-eeee"), Ok(vec![3]));
        assert_eq!(ordinals("all").unwrap().len(), 4);
    }

    #[test]
    fn graphics_of_the_processor_are_left_out_beside_other_gpus_unless_named() {
        let mut all = inventory();
        all.devices[1].is_integrated = true;
        let found = |list, all: &Inventory| select(list, Built::Hip, all).unwrap().len();
        assert_eq!((found(None, &all), found(Some("0,1"), &all)), (3, 2));
        all.devices.drain(2..);
        all.devices.remove(0);
        assert_eq!(found(None, &all), 1);
    }

    #[test]
    fn what_is_no_device_is_named() {
        for (list, says) in [
            ("0,9", "--gpus 9"),
            ("GPU-a", "names 2 devices"),
            ("81:00.0", "2 MIG instances"),
            ("0,0", "twice"),
            ("0,", "empty entry"),
            ("x", "neither"),
            ("0,all", "write it alone"),
            ("-1", "--gpus -1: neither"),
            ("MIG-d4", "CUDA_VISIBLE_DEVICES"),
            ("GPU-zz", "no such UUID"),
        ] {
            let error = ordinals(list).unwrap_err();
            assert!(error.contains(says), "{list}: {error}");
        }
    }
}
