//! Why a number of the baseline is not in the other file: lost, not tried, or not asked for.

use import::links::{LinkEnds, LinkFile, LinkTrouble, PeerState, TroubleKind};
use program::compare::{Gone, Value};
use record::{Endpoint, PeerVerdict};

/// What a file says of a number that it lacks.
pub(super) fn why(value: &Value<LinkEnds>, file: &LinkFile) -> Gone {
    // The text of nvbandwidth does not say which test it waived, and a file that is not whole not what it lacks.
    let is_vague =
        |trouble: &&LinkTrouble| trouble.test.is_none() && trouble.kind != TroubleKind::Absent;
    let Some(trouble) = trouble_of(file, value) else {
        let vague = file.troubles.iter().find(is_vague);
        return vague.map_or(Gone::NotAsked, |trouble| Gone::Untried(trouble.to_string()));
    };
    let words = trouble.to_string();
    match trouble.kind {
        TroubleKind::Failed | TroubleKind::Hang | TroubleKind::WrongData => Gone::Lost(words),
        TroubleKind::Absent | TroubleKind::Interrupted | TroubleKind::File => Gone::Untried(words),
        TroubleKind::NotApplicable => not_applicable(&value.number, file, words),
    }
}

/// What does not apply between devices hangs on their peer access.
fn not_applicable(number: &LinkEnds, file: &LinkFile, words: String) -> Gone {
    let ends = [number.from, number.to];
    if ends.contains(&Endpoint::Host) || (number.from == number.to && number.from != Endpoint::All)
    {
        return Gone::Lost(words);
    }
    let is_its = |device: usize| {
        ends.iter()
            .any(|end| [Endpoint::All, Endpoint::Device(device)].contains(end))
    };
    let pairs = file.peers.iter();
    let states: Vec<PeerState> = pairs
        .filter(|((from, to), _)| is_its(*from) && is_its(*to))
        .map(|(_, state)| *state)
        .collect();
    let direct = PeerState::Probed(PeerVerdict::Direct);
    let is_refused = |state: &PeerState| state.is_tried() && *state != direct;
    if !states.is_empty() && states.iter().all(|state| *state == direct) {
        // A staged path is not measured where access is direct now.
        Gone::NotAsked
    } else if states.iter().any(is_refused) {
        Gone::Lost(words)
    } else if file.without_peers || !states.is_empty() {
        Gone::Untried(words)
    } else {
        Gone::Lost(words)
    }
}

/// The trouble that is about a number: of its size, else one that is about all sizes.
fn trouble_of<'a>(file: &'a LinkFile, value: &Value<LinkEnds>) -> Option<&'a LinkTrouble> {
    let number = &value.number;
    let ends = (number.from, number.to);
    let is_about = |trouble: &&LinkTrouble| {
        let same = trouble.ends.is_none_or(|found| {
            found == ends || (number.mirrored().is_some() && found == (ends.1, ends.0))
        });
        let roles = &trouble.roles;
        let its = roles.is_empty() || roles.iter().any(|role| role == number.role());
        trouble.test.as_ref() == Some(&number.test) && its && same
    };
    let of_size = |trouble: &&LinkTrouble| {
        let sizes = trouble.bytes.zip(value.bytes);
        sizes.is_none_or(|(found, wanted)| found == wanted)
    };
    let about = || file.troubles.iter().filter(is_about);
    let of_all = || about().find(|trouble| trouble.kind == TroubleKind::NotApplicable);
    about().find(of_size).or_else(of_all)
}
