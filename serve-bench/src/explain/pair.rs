//! `explain --a --b`: reads both sides, compares, and writes text, JSON and one page.

use std::path::{Path, PathBuf};

use ::explain::{DRAWS, LinkOutcome, LinkSide, PhysicalLink, Priors, compare_links};
use import::ServeRun;
use program::Stop;
use record::exit;
use record::{Links, Payload, load};

use super::args::ExplainArgs;
use super::deliver::{SEED, Wanted, deliver};
use super::documents;
use super::pair_args::{PairArgs, Peer, physical};
use super::sources::once_each;

/// What the command line says of one side.
struct Said<'a> {
    name: &'static str,
    files: &'a [PathBuf],
    collectives: &'a [PathBuf],
    links: Option<&'a PathBuf>,
    link: Option<&'a PhysicalLink>,
    peer: Option<Peer>,
}

/// Compares two links, and gives the exit code: 0 compared, 3 refused.
///
/// # Errors
/// Files that cannot be used or written.
pub(super) fn links(
    args: &ExplainArgs,
    pair: &PairArgs,
    priors: &Priors,
    wanted: &Wanted,
) -> Result<u8, Stop> {
    let said = [
        Said {
            name: "A",
            files: &pair.a,
            collectives: &pair.allreduce_a,
            links: pair.links_a.as_ref(),
            link: pair.link_a.as_ref(),
            peer: pair.p2p_a,
        },
        Said {
            name: "B",
            files: &pair.b,
            collectives: &pair.allreduce_b,
            links: pair.links_b.as_ref(),
            link: pair.link_b.as_ref(),
            peer: pair.p2p_b,
        },
    ];
    let tp = tp(pair)?;
    let side = |said: &Said<'_>| side(args, said, tp, priors).map_err(Stop::Usage);
    let (a, b) = (side(&said[0])?, side(&said[1])?);
    let of_side = |files: &'_ [PathBuf], side: &LinkSide| -> Vec<(PathBuf, ServeRun)> {
        let runs = side.inputs.serve.iter().map(|(_, run)| run.clone());
        files.iter().cloned().zip(runs).collect()
    };
    let all = [of_side(&pair.a, &a), of_side(&pair.b, &b)].concat();
    once_each(all.iter().map(|(file, run)| (file, run))).map_err(Stop::Usage)?;
    let comparison = compare_links(&a, &b, SEED, DRAWS);
    let code = match comparison.outcome {
        LinkOutcome::Compared { .. } => exit::DONE,
        LinkOutcome::Refused { .. } => exit::INCONCLUSIVE,
    };
    deliver(
        wanted,
        &comparison,
        &documents::links(&a, &b, &comparison),
        code,
    )
}

/// The tensor parallel size: as given, else as the first file that says one.
fn tp(pair: &PairArgs) -> Result<u32, Stop> {
    if let Some(tp) = pair.tp {
        return Ok(tp);
    }
    for file in pair.a.iter().chain(&pair.b) {
        let run = import::serve::read(file);
        let run = run.map_err(|error| Stop::Usage(error.to_string()))?;
        if let Some(tp) = run.tp {
            return Ok(tp);
        }
    }
    Err(Stop::Usage(
        "no file says its tensor parallel size: give it with --tp".to_owned(),
    ))
}

fn side(args: &ExplainArgs, said: &Said<'_>, tp: u32, priors: &Priors) -> Result<LinkSide, String> {
    let mut sources = args.bare_sources()?;
    sources.serving = said.files.iter().map(|file| (tp, file.clone())).collect();
    sources.collectives = said.collectives.to_vec();
    sources.links = said.links.cloned();
    let mut inputs = sources.read_with(priors.clone(), |around| {
        if let Some(peer) = said.peer {
            around.peer_access = Some(peer == Peer::On);
            around.no_peer_reason = match peer {
                Peer::On => String::new(),
                Peer::Off => "switched off".to_owned(),
            };
        }
    })?;
    if said.peer.is_some() {
        // What was set for the run stands above what a probe of the box found.
        inputs.known.peers.clear();
    }
    let link = match (said.link, said.links) {
        (Some(link), _) => Some(link.clone()),
        (None, Some(file)) => of_record(file, tp)?,
        (None, None) => None,
    };
    Ok(LinkSide {
        name: said.name.to_owned(),
        inputs,
        link,
    })
}

/// The narrowest link of the GPUs that are used, and the class of the path between the first two.
fn of_record(file: &Path, tp: u32) -> Result<Option<PhysicalLink>, String> {
    let record = load(file).map_err(|error| error.to_string())?;
    let Payload::Links(links) = &record.payload else {
        return Ok(None);
    };
    Ok(narrowest(links, tp))
}

fn narrowest(links: &Links, tp: u32) -> Option<PhysicalLink> {
    let used = (tp as usize).min(links.devices.len());
    let devices = links.devices.get(..used)?;
    let readings = devices
        .iter()
        .filter_map(|device| device.loaded.as_ref().or(device.idle.as_ref())?.limiting());
    let link = readings.reduce(topology::PcieLink::slower)?;
    let path = (used > 1).then(|| links.path(0, 1).to_string());
    Some(physical(link, path))
}
