//! The devices that `--gpus` names, for subcommands without a `--list` of devices: an error names those that there are.

use device::Built;
use inventory::{Chosen, Found, Inventory};
use program::Stop;

/// The devices of a backend that `--gpus` names.
///
/// # Errors
/// A list that is wrong, with the devices that there are.
pub(crate) fn selected(list: Option<&str>, chosen: &Chosen) -> Result<Vec<Found>, Stop> {
    selected_of(list, chosen.backend, &chosen.inventory)
}

/// The same of devices that no driver counts.
///
/// # Errors
/// As of [`selected`].
pub(crate) fn selected_of(
    list: Option<&str>,
    backend: Built,
    inventory: &Inventory,
) -> Result<Vec<Found>, Stop> {
    inventory::select(list, backend, inventory).map_err(|why| {
        let name = |found: &Found| match found.pci.as_deref() {
            Some(address) => format!("{} ({address})", found.ordinal),
            None => found.ordinal.to_string(),
        };
        let names: Vec<String> = inventory.devices.iter().map(name).collect();
        Stop::Usage(why.replace("see --list", &format!("there are {}", names.join(", "))))
    })
}
