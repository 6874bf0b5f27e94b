//! What changed between the devices of two files, and which numbers it concerns: links under load, path classes, peer access.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use measure::import::links::{LinkEnds, LinkFile, PeerState};
use measure::record::Endpoint;
use program::compare::listed;

use super::names::{self, Names};

/// What changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The links of devices, as they were read under load.
    links: BTreeMap<usize, (String, String)>,
    /// Path classes, the lower number first.
    paths: BTreeMap<(usize, usize), (String, String)>,
    /// Peer access, by the device that accesses and the one whose memory it is.
    peers: BTreeMap<(usize, usize), (PeerState, PeerState)>,
    /// Pairs of devices that both files have.
    pairs: usize,
}

impl Changes {
    /// Those between two files that are numbered alike.
    pub(super) fn between(a: &LinkFile, b: &LinkFile) -> Self {
        let links = |file: &LinkFile| -> BTreeMap<usize, String> {
            let devices = file.devices.iter();
            devices
                .filter_map(|device| Some((device.ordinal, device.link.clone()?)))
                .collect()
        };
        let known = |file: &LinkFile| -> BTreeSet<usize> {
            file.devices.iter().map(|device| device.ordinal).collect()
        };
        let common = known(a).intersection(&known(b)).count();
        let tried: BTreeSet<(usize, usize)> =
            a.peers.keys().chain(b.peers.keys()).copied().collect();
        let peers = tried.into_iter().filter_map(|pair| {
            let states = (state(a, pair)?, state(b, pair)?);
            (states.0 != states.1).then_some((pair, states))
        });
        Self {
            links: differing(&links(a), &links(b)),
            paths: differing(&a.paths, &b.paths),
            peers: peers.collect(),
            pairs: common * common.saturating_sub(1) / 2,
        }
    }

    /// All of it, a line for each change and the devices that share it.
    pub(super) fn words(&self, names: &Names) -> Vec<String> {
        let mut all = Vec::new();
        let mut peers: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for (pair, (was, is)) in self.changed_peers(names, |_| true) {
            let change = (was.to_string(), is.to_string());
            peers.entry(change).or_default().push(pair);
        }
        for ((was, is), pairs) in peers {
            let pairs = self.whose(&pairs);
            all.push(format!(
                "peer access of {pairs} was {was} in A and is {is} in B"
            ));
        }
        let mut paths: BTreeMap<&(String, String), Vec<String>> = BTreeMap::new();
        for (pair, change) in &self.paths {
            paths.entry(change).or_default().push(names.pair(*pair));
        }
        for ((was, is), pairs) in paths {
            let pairs = self.whose(&pairs);
            all.push(format!("the path of {pairs} is {was} in A, {is} in B"));
        }
        all.extend(self.links.iter().map(|(device, (was, is))| {
            let device = names.device(*device);
            format!("{device} has {was} under load in A, {is} in B: the link itself changed")
        }));
        all
    }

    /// Some of the pairs whose peer access changed; one that changed alike both ways stands there once.
    fn changed_peers(
        &self,
        names: &Names,
        is_wanted: impl Fn((usize, usize)) -> bool,
    ) -> Vec<(String, (PeerState, PeerState))> {
        let mut all = Vec::new();
        for ((from, to), states) in &self.peers {
            let is_both = self.peers.get(&(*to, *from)) == Some(states);
            let pair = match is_both {
                true if from > to => continue,
                true => names.pair((*from, *to)),
                false => format!("{} to {}", names.device(*from), names.device(*to)),
            };
            if is_wanted((*from, *to)) {
                all.push((pair, *states));
            }
        }
        all
    }

    fn whose(&self, pairs: &[String]) -> String {
        if pairs.len() > 1 && pairs.len() == self.pairs {
            format!("all {} pairs", self.pairs)
        } else {
            listed(pairs, ", ")
        }
    }

    /// The directed pairs whose peer access got worse.
    pub(super) fn worse(&self) -> usize {
        let worse = |(was, is): &&(PeerState, PeerState)| is.is_worse_than(*was);
        self.peers.values().filter(worse).count()
    }

    /// What may be behind a change of a number, in a few words; `None` where nothing changed that it goes over.
    pub(super) fn behind(&self, number: &LinkEnds, names: &Names) -> Option<String> {
        let (from, to) = names::ends(number);
        let touches = |device: usize| {
            [from, to]
                .iter()
                .any(|end| matches!(end, Endpoint::All) || *end == Endpoint::Device(device))
        };
        let links = self.links.keys().filter(|device| touches(**device));
        let links = links.map(|device| format!("link of {}", names.device(*device)));
        // Peer access that is refused has no number that it could slow.
        let peers = self.changed_peers(names, |pair| concerns(number, pair));
        let peers = peers
            .into_iter()
            .filter(|(_, (was, is))| was.is_usable() && is.is_usable())
            .map(|(pair, _)| format!("peer access of {pair}"));
        let paths = self.paths.keys().filter(|pair| concerns(number, **pair));
        let paths = paths.map(|pair| format!("path of {}", names.pair(*pair)));
        let all: Vec<String> = links.chain(peers).chain(paths).collect();
        (!all.is_empty()).then(|| format!("changed: {}", listed(&all, ", ")))
    }
}

/// What a file says of peer access of a pair.
pub(super) fn state(file: &LinkFile, pair: (usize, usize)) -> Option<PeerState> {
    let off = file.without_peers.then_some(PeerState::Off);
    let has = |number| file.devices.iter().any(|device| device.ordinal == number);
    let known = file.peers.get(&pair).copied();
    known.or(off.filter(|_| has(pair.0) && has(pair.1)))
}

/// Whether a number goes over a pair of devices, in whichever direction.
pub(super) fn concerns(number: &LinkEnds, (one, other): (usize, usize)) -> bool {
    let has = |device: usize| [one, other].contains(&device);
    match names::ends(number) {
        (Endpoint::Device(from), Endpoint::Device(to)) => from != to && has(from) && has(to),
        (Endpoint::Device(device), Endpoint::All) | (Endpoint::All, Endpoint::Device(device)) => {
            has(device)
        }
        (Endpoint::All, Endpoint::All) => true,
        (Endpoint::Host, _) | (_, Endpoint::Host) => false,
    }
}

/// Whether a number is one between devices.
pub(super) fn is_between_devices(number: &LinkEnds) -> bool {
    let (from, to) = names::ends(number);
    let is_local = from == to && matches!(from, Endpoint::Device(_));
    !is_local && from != Endpoint::Host && to != Endpoint::Host
}

/// What both have and not alike.
fn differing<K: Ord + Copy, V: PartialEq + Display>(
    a: &BTreeMap<K, V>,
    b: &BTreeMap<K, V>,
) -> BTreeMap<K, (String, String)> {
    let both = a
        .iter()
        .filter_map(|(key, was)| Some((*key, was, b.get(key)?)));
    both.filter(|(_, was, is)| was != is)
        .map(|(key, was, is)| (key, (was.to_string(), is.to_string())))
        .collect()
}
