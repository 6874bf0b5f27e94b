//! Whether the box that was named with `--box` is the one that the files are of: neither of them wins in silence.

use std::path::{Path, PathBuf};

use ::explain::is_another_gpu;
use boxfile::BoxFile;
use measure::control;
use measure::import::serve::Host;
use measure::import::{CurvePoint, ServeRun, collectives};
use measure::record::{Links, load};
use topology::PcieLink;

/// What to do where files of links contradict the box.
const WITHOUT: &str = "leave --box out, since links were measured, or give the links of that box";

/// Refuses links that are not those of the box that was named beside them.
///
/// # Errors
/// They are of another soft box, of other GPUs, of whole GPUs in place of MIG instances, or under load no link of that box; in words.
pub(super) fn links_of_box(
    described: &BoxFile,
    links: &Links,
    soft: Option<&str>,
    file: &Path,
) -> Result<(), String> {
    let (name, file) = (&described.name, file.display());
    if let Some(soft) = soft.filter(|soft| soft != name) {
        let soft = control::shortened(soft);
        return Err(format!(
            "--box says {name}, but {file} is of the soft box {soft}: {WITHOUT}"
        ));
    }
    for device in &links.devices {
        let mut known = described.device.iter();
        if let Some(first) = known.next()
            && is_another_gpu(&device.name, &first.name)
            && known.all(|other| is_another_gpu(&device.name, &other.name))
        {
            return Err(format!(
                "--box says {name}, which has {}, but {file} was measured on {}: {WITHOUT}",
                first.name,
                control::shortened(&device.name)
            ));
        }
    }
    let instances = |mig: bool| if mig { "MIG instances" } else { "whole GPUs" };
    let is_mig = described.device.iter().any(|one| !one.mig.is_empty());
    let seen_mig = links.devices.iter().any(|one| one.mig.is_some());
    if !links.devices.is_empty() && is_mig != seen_mig {
        return Err(format!(
            "--box says {name}, which has {}, but {file} was measured on {}: {WITHOUT}",
            instances(is_mig),
            instances(seen_mig)
        ));
    }
    // A soft box of that name has its links, but for a fault that was asked for.
    match soft {
        Some(_) => Ok(()),
        None => loaded_links(described, links).map_err(|(read, stated)| {
            format!("--box says {name}, whose GPUs are at {stated}, but {file} read {read} under load: {WITHOUT}")
        }),
    }
}

/// The slots' links, where both are known and none of the box is as the one that was read; else nothing.
fn loaded_links(described: &BoxFile, links: &Links) -> Result<(), (PcieLink, PcieLink)> {
    let slots = 0..described.device.len();
    let stated: Vec<PcieLink> = slots
        .filter_map(|index| described.slot_link(index))
        .filter_map(|link| PcieLink::new(link.generation, link.width).ok())
        .collect();
    let read = links.devices.iter();
    let mut read = read.filter_map(|one| one.loaded.as_ref()?.slot);
    match (
        read.find(|link| !stated.contains(link)),
        stated.first().copied(),
    ) {
        (Some(read), Some(stated)) => Err((read, stated)),
        _ => Ok(()),
    }
}

/// Refuses simulated results and curves of another soft box than the one that was named.
///
/// # Errors
/// Such a file; in words.
pub(crate) fn files_of_box<'a>(
    name: &str,
    runs: impl IntoIterator<Item = &'a ServeRun>,
    curve: &[CurvePoint],
) -> Result<(), String> {
    let runs = runs.into_iter().map(|run| (&run.origin, &run.simulated));
    let points = curve.iter().map(|point| (&point.origin, &point.simulated));
    let mut soft = runs
        .chain(points)
        .filter_map(|(origin, soft)| Some((origin, soft.as_deref()?)));
    match soft.find(|(_, soft)| *soft != name) {
        Some((origin, soft)) => Err(format!(
            "--box says {name}, but {origin} is of the soft box {}: name that box, or leave --box out",
            control::shortened(soft)
        )),
        None => Ok(()),
    }
}

/// Refuses links and collectives that were measured on another machine than a result ran on, as far as both say.
///
/// # Errors
/// Such a file; in words.
pub(super) fn files_of_host<'a>(
    files: impl IntoIterator<Item = &'a PathBuf>,
    runs: &[(u32, ServeRun)],
) -> Result<(), String> {
    for file in files {
        let Some(host) = host(file) else { continue };
        let mut runs = runs.iter().map(|(_, run)| run);
        let other = runs.find_map(|run| {
            let served = run.conditions.host.as_ref()?;
            (host.is_another(served) == Some(true)).then_some((run, served))
        });
        if let Some((run, served)) = other {
            return Err(format!(
                "{} was measured on the host {}, but {} was served on {}: give measurements of that machine; what another box would give is asked with --what-if curve=FILE",
                file.display(),
                host.name,
                run.origin,
                served.name
            ));
        }
    }
    Ok(())
}

/// The machine that a file was measured on; of none that was simulated.
fn host(file: &Path) -> Option<Host> {
    match load(file) {
        Ok(record) if record.soft_box().is_some() => None,
        Ok(record) => Host::of(&record.header.provenance),
        // What is no record of ours was read, or refused, as what it is.
        Err(_) => Host::named(&collectives::read_file(file).ok()?.host?),
    }
}

/// A result of the half-width model, which is served on one GPU.
///
/// # Errors
/// It says that it was served on several; in words.
pub(crate) fn of_one_gpu(file: &Path, run: ServeRun) -> Result<ServeRun, String> {
    match run.tp.filter(|tp| *tp != 1) {
        Some(tp) => Err(format!(
            "--half {}: it says that it is of tensor parallel size {tp}, and a half-width model is served on one GPU",
            file.display()
        )),
        None => Ok(run),
    }
}

/// Refuses results that say that they ran on other GPUs than the box has.
///
/// # Errors
/// Such a result; in words.
pub(crate) fn runs_of_these_gpus<'a>(
    runs: impl IntoIterator<Item = &'a ServeRun>,
    gpu: &str,
) -> Result<(), String> {
    for run in runs {
        let mut names = run.conditions.gpus.iter();
        if let Some(other) = names.find(|name| is_another_gpu(name, gpu)) {
            return Err(format!(
                "{} ran on {}, but the box has {gpu}: give results of this box, or its --box or --links",
                run.origin,
                control::shortened(other)
            ));
        }
    }
    Ok(())
}
