//! NVLinks between devices: their number for a pair, their rate, and what to say of those that are down.

use inventory::Found;
use record::caveat::{Caveat, Condition};
use record::{LinkDevice, NvlinkReading, PairPath};
use topology::{FabricState, NvLinks, PathType, PciAddress, nvlinks_between};

/// Gives pairs that NVLinks join their class.
pub(super) fn join(paths: &mut [PairPath], devices: &[LinkDevice], found: &[Found]) {
    let end = |position: usize| {
        let device = devices
            .get(position)
            .filter(|device| device.mig.is_none())?;
        Some((device.address?, found.get(position)?.nvlinks.as_ref()?))
    };
    for pair in paths {
        let links = end(pair.a).zip(end(pair.b));
        if let Some(links) = links.and_then(|(a, b)| nvlinks_between(a, b)) {
            pair.path = PathType::Nv(links);
        }
    }
}

/// The rate of one NVLink in one direction in GB/s, the lowest of all that are up; `None` where one's is not known, or none is up.
pub(super) fn each(found: &[Found]) -> Option<f64> {
    let devices = found.iter().filter_map(|found| found.nvlinks.as_ref());
    let active = devices.flat_map(|links| links.links.iter().filter(|link| link.is_active));
    let rates: Option<Vec<u32>> = active.map(|link| link.mb_per_s).collect();
    rates?
        .into_iter()
        .min()
        .map(|mb_per_s| f64::from(mb_per_s) / 1000.0)
}

/// The links of each device that has some.
pub(super) fn readings(found: &[Found], devices: &[LinkDevice]) -> Vec<NvlinkReading> {
    let reading = |(found, device): (&Found, &LinkDevice)| {
        let of = found.nvlinks.as_ref().filter(|of| !of.links.is_empty())?;
        Some(NvlinkReading {
            device: device.label.clone(),
            active: of.active(),
            links: of.links.len(),
            errors: of.errors(),
            fabric: of.fabric,
        })
    };
    found.iter().zip(devices).filter_map(reading).collect()
}

/// What to say of links that counted more errors by now than when the devices were listed.
pub(super) fn risen(
    found: &[Found],
    devices: &[LinkDevice],
    now: &[(PciAddress, NvLinks)],
) -> Vec<Caveat> {
    let rise = |(found, device): (&Found, &LinkDevice)| {
        let before = found.nvlinks.as_ref()?.errors()?;
        let (_, now) = now.iter().find(|(at, _)| Some(*at) == device.address)?;
        let (now, label) = (now.errors()?, &device.label);
        let more = now.checked_sub(before).filter(|more| *more > 0)?;
        let what = format!("{label}: {more} more during this run, {now} in all");
        Some(Condition::NvlinkErrorsRise.with(what))
    };
    found.iter().zip(devices).filter_map(rise).collect()
}

/// What to say of links that are down or fail, and of the fabric that joins them.
pub(super) fn caveats(found: &[Found], devices: &[LinkDevice]) -> Vec<Caveat> {
    let of_device = |(found, device): (&Found, &LinkDevice)| {
        let (links, label) = (found.nvlinks.as_ref()?, &device.label);
        let (active, all, errors) = (links.active(), links.links.len(), links.errors());
        // None at all are up where a card that could have a bridge has none.
        let inactive = (1..all).contains(&active).then(|| {
            let down = 100.0 * (all - active) as f64 / all as f64;
            let missing = format!("{down:.0}% of the bandwidth to other GPUs is missing");
            let what = format!("{label}: {active} of {all} links are up, {missing}");
            Condition::NvlinkInactive.with(what)
        });
        let errors = errors.filter(|errors| *errors > 0).map(|errors| {
            Condition::NvlinkErrors.with(format!("{label}: {errors} since the driver was loaded"))
        });
        let is_down = [Some(FabricState::NotStarted), Some(FabricState::Failed)];
        let fabric = is_down.contains(&links.fabric);
        let fabric = fabric.then(|| Condition::FabricManager.with(label));
        Some(inactive.into_iter().chain(errors).chain(fabric))
    };
    let devices = found.iter().zip(devices);
    devices.filter_map(of_device).flatten().collect()
}
