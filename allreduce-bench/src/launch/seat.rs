//! What a copy of this program brings along: its host and the device of its rank.

use inventory::{Built, Chosen, Found, select};
use program::{Stop, provenance};
use record::{LinkDevice, PairPath};
use serde::{Deserialize, Serialize};
use topology::{Machine, Sysfs};

use super::place::Place;

/// One rank as its own host sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Seat {
    /// The program's version.
    pub(super) version: String,
    pub(super) host: String,
    pub(super) backend: Built,
    /// The simulated machine, where the driver is a simulated one.
    pub(super) soft_box: Option<String>,
    pub(super) found: Found,
    pub(super) device: LinkDevice,
    /// The host as its kernel describes it.
    pub(super) machine: Machine,
}

impl Seat {
    /// The seat of this process: device number local rank of those that are named, or that there are.
    ///
    /// # Errors
    /// There is no such device.
    pub(super) fn take(
        place: &Place,
        gpus: Option<&str>,
        chosen: &Chosen,
        sysfs: &Sysfs,
        machine: &Machine,
    ) -> Result<Self, String> {
        let (inventory, backend) = (&chosen.inventory, chosen.backend);
        let named = select(Some(gpus.unwrap_or("all")), backend, inventory)?;
        let local = place.local_rank as usize;
        let found = match (gpus, &named[..]) {
            // The launcher gave each rank a device of its own and hides the others.
            (None, [only]) => Some(only),
            _ => named.get(local),
        };
        let found = found.ok_or_else(|| {
            let (what, number) = match gpus {
                Some(list) => (format!("--gpus {list} names"), named.len()),
                None => (format!("the {} backend has", backend.name()), named.len()),
            };
            format!(
                "rank {local} of this host has no device: {what} {number}; start fewer ranks a host, or name a device for each"
            )
        })?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: provenance::host().unwrap_or_else(|| "a host without a name".to_owned()),
            backend,
            soft_box: inventory.soft_box.clone(),
            found: found.clone(),
            device: inventory::describe(found, backend, sysfs, machine),
            machine: machine.clone(),
        })
    }
}

/// Refuses ranks that cannot measure together.
pub(super) fn check_agreement(seats: &[&Seat]) -> Result<(), Stop> {
    let what = |seat: &Seat| {
        let driver = match &seat.soft_box {
            Some(name) => format!("simulated machine {name}"),
            None => "a real driver".to_owned(),
        };
        let backend = seat.backend.name();
        format!("version {}, backend {backend}, {driver}", seat.version)
    };
    let all: Vec<String> = seats.iter().map(|seat| what(seat)).collect();
    match (1..all.len()).find(|rank| all[*rank] != all[0]) {
        None => Ok(()),
        Some(rank) => Err(Stop::Usage(format!(
            "rank 0 ({}) has {}, and rank {rank} ({}) {}; all ranks must have the same",
            seats[0].host, all[0], seats[rank].host, all[rank]
        ))),
    }
}

/// The paths between the devices of each host; between hosts there is a network, of which no kernel tells.
pub(super) fn paths(seats: &[&Seat]) -> Vec<PairPath> {
    let pairs = (0..seats.len()).flat_map(|a| (a + 1..seats.len()).map(move |b| (a, b)));
    let together = pairs.filter(|(a, b)| seats[*a].host == seats[*b].host);
    let between = together.flat_map(|(a, b)| {
        let devices = [a, b].map(|rank| seats[rank].device.clone());
        let path = inventory::paths(&devices, &seats[a].machine).into_iter();
        path.map(move |pair| PairPath { a, b, ..pair })
    });
    between.collect()
}
