//! What became of a number that A has and B does not: lost, not tried, or not asked for.

use measure::import::links::{LinkEnds, LinkFile, LinkTrouble, LinkValue, PeerState, TroubleKind};
use measure::record::PeerVerdict;

use super::causes::{concerns, is_between_devices, state};

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// B tried it and failed, or cannot do it any more.
    Lost,
    /// B was asked for it and did not try it, or ended before.
    Untried,
    /// B was not asked for it, or does better without: a staged path where there is direct access now.
    NotAsked,
}

/// What became of a number of A, and the words of B about it.
pub(super) fn what<'a>(
    value: &LinkValue,
    a: &LinkFile,
    b: &'a LinkFile,
) -> (Gone, Option<&'a LinkTrouble>) {
    let Some(trouble) = trouble_of(b, value) else {
        // The text of nvbandwidth does not say which test it waived, and a file that is not whole not what it lacks.
        let vague = b
            .troubles
            .iter()
            .find(|trouble| trouble.test.is_none() && !matches!(trouble.kind, TroubleKind::Absent));
        let gone = vague.map_or(Gone::NotAsked, |_| Gone::Untried);
        return (gone, vague);
    };
    let gone = match trouble.kind {
        TroubleKind::Failed | TroubleKind::WrongData => Gone::Lost,
        TroubleKind::Absent | TroubleKind::File => Gone::Untried,
        TroubleKind::NotApplicable => not_applicable(&value.ends, a, b),
    };
    (gone, Some(trouble))
}

/// What it means that a number of A does not apply in B.
fn not_applicable(number: &LinkEnds, a: &LinkFile, b: &LinkFile) -> Gone {
    if !is_between_devices(number) {
        return Gone::Lost;
    }
    if b.without_peers {
        return Gone::Untried;
    }
    let direct = PeerState::Probed(PeerVerdict::Direct);
    let states = |file: &LinkFile| -> Vec<PeerState> {
        let pairs = a.peers.keys().chain(b.peers.keys());
        pairs
            .filter(|pair| concerns(number, **pair))
            .filter_map(|pair| state(file, *pair))
            .collect()
    };
    let (in_a, in_b) = (states(a), states(b));
    let is_direct_now = !in_b.is_empty() && in_b.iter().all(|state| *state == direct);
    if is_direct_now && in_a.iter().any(|state| *state != direct) {
        return Gone::NotAsked;
    }
    let is_worse = in_b
        .iter()
        .any(|state| state.is_tried() && *state != direct);
    if !is_worse && in_b.iter().any(|state| !state.is_tried()) {
        return Gone::Untried;
    }
    Gone::Lost
}

/// What a file says about a number that it does not have; that something does not apply holds for every size.
pub(super) fn trouble_of<'a>(file: &'a LinkFile, value: &LinkValue) -> Option<&'a LinkTrouble> {
    let ends = (value.ends.from, value.ends.to);
    let about = || {
        file.troubles.iter().filter(move |trouble| {
            let same = trouble.ends.is_none_or(|found| {
                found == ends || (value.ends.mirrored().is_some() && found == (ends.1, ends.0))
            });
            let roles = &trouble.roles;
            let its = roles.is_empty() || roles.iter().any(|role| role == value.ends.role());
            trouble.test.as_ref() == Some(&value.ends.test) && its && same
        })
    };
    let of_size = |trouble: &&LinkTrouble| {
        let sizes = trouble.bytes.zip(value.bytes);
        sizes.is_none_or(|(found, wanted)| found == wanted)
    };
    about()
        .find(of_size)
        .or_else(|| about().find(|trouble| trouble.kind == TroubleKind::NotApplicable))
}
