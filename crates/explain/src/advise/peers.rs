//! Peer access: impossible, denied, staged, or kept from the library.

use topology::{IommuMode, PeerSurroundings};

use super::advice::{Advice, Rule};
use super::found::Found;
use super::load::compare_replicas;
use crate::commands::printed;
use crate::inputs::{Inputs, PeerState, library_told_off};
use crate::what_if::By;

pub(super) fn mig(found: &Found) -> Vec<Advice> {
    if !found.inputs.is_mig() || found.inputs.peer_state() == PeerState::Direct {
        return Vec::new();
    }
    // Another simulated machine is not named here.
    let commands = [found.commands().links(), found.time_collectives()];
    vec![
        Advice {
            rule: Rule::MigWithoutPeers,
            effect: found.by(By::PeerAccess).or_else(|| found.bound()),
            commands: match found.commands().is_soft() {
                true => Vec::new(),
                false => printed(commands),
            },
        },
        compare_replicas(found),
    ]
}

/// Everything goes through host memory: access is denied, or reported and not used.
pub(super) fn through_host(found: &Found) -> Vec<Advice> {
    let is_through_host = matches!(
        found.inputs.peer_state(),
        PeerState::Denied | PeerState::Staged
    );
    if found.inputs.is_mig() || !is_through_host {
        return Vec::new();
    }
    let (redirects, translates) = on_the_way(found.inputs);
    let rule = Rule::ThroughHost {
        guest: found.inputs.known.guest == Some(true),
        redirects,
        translates,
    };
    let commands = found.commands();
    vec![Advice {
        rule,
        effect: found.by(By::PeerAccess).or_else(|| found.bound()),
        commands: printed([
            commands.doctor(),
            commands.links(),
            found.time_collectives(),
        ]),
    }]
}

/// Whether probes saw a redirection, and a translation of addresses, on the way between the GPUs.
fn on_the_way(inputs: &Inputs) -> (bool, bool) {
    let used = inputs.tp as usize;
    let probes = inputs.seen.links.iter().flat_map(|links| &links.probes);
    let ways: Vec<&PeerSurroundings> = probes
        .filter(|probe| probe.from < used && probe.to < used)
        .filter_map(|probe| probe.surroundings.as_ref())
        .collect();
    let translates = |way: &&PeerSurroundings| {
        let mut modes = way.iommu.iter();
        modes.any(|mode| mode.known() == Some(&IommuMode::Translated))
    };
    let redirects = ways.iter().any(|way| way.redirecting().next().is_some());
    (redirects, ways.iter().any(translates))
}

/// A variable keeps the library from it.
pub(super) fn told_off(found: &Found) -> Vec<Advice> {
    let Some(variable) = library_told_off(found.inputs).filter(|_| found.is_claimed()) else {
        return Vec::new();
    };
    vec![Advice {
        rule: Rule::LibraryToldOff {
            variable: variable.name.clone(),
            value: variable.value.clone(),
        },
        effect: found.by(By::PeerAccess).or_else(|| found.bound()),
        commands: printed([found.time_collectives()]),
    }]
}
