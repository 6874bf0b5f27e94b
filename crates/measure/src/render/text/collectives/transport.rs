//! What the library said of its transport, channels folded: `P2P/CUMEM on 4 channels both ways between 0 and 1`.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{Channel, TransportFacts};

/// Pairs of ranks that a line lists; more are counted.
const LISTED_PAIRS: usize = 8;

/// Each arm's channels and the rules behind them, under a title; empty without any.
pub(super) fn section(all: &[TransportFacts]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut text = "\nTransport, by the library's words in runs that were not timed\n".to_owned();
    for facts in all {
        let arm = facts
            .arm
            .as_ref()
            .map_or_else(String::new, |arm| format!("arm {arm}: "));
        let mut lines: Vec<String> = folded(&facts.channels);
        lines.extend(facts.why.iter().map(|why| format!("because {why}")));
        lines.extend(facts.not_told.iter().map(|why| format!("not told: {why}")));
        if lines.is_empty() {
            lines.push("no channel told".to_owned());
        }
        text.extend(lines.iter().map(|line| format!("  {arm}{line}\n")));
    }
    text
}

/// Channels between the same ranks over the same transport, and pairs of ranks with as many of them, on one line.
fn folded(channels: &[Channel]) -> Vec<String> {
    type Numbers = BTreeSet<u32>;
    type Pairs = Vec<(u32, u32)>;
    let mut ways: BTreeMap<(&str, u32, u32), Numbers> = BTreeMap::new();
    for channel in channels {
        let way = ways.entry((&channel.via, channel.from, channel.to));
        way.or_default().insert(channel.number);
    }
    // By transport, number of channels and whether both ways: the pairs.
    let mut lines: BTreeMap<(&str, usize, bool), Pairs> = BTreeMap::new();
    for ((via, from, to), numbers) in &ways {
        let is_both = from != to && ways.get(&(*via, *to, *from)) == Some(numbers);
        if is_both && from > to {
            continue;
        }
        let line = lines.entry((via, numbers.len(), is_both)).or_default();
        line.push((*from, *to));
    }
    lines
        .into_iter()
        .map(|((via, count, is_both), pairs)| {
            let s = if count == 1 { "" } else { "s" };
            let (way, and) = if is_both {
                ("both ways between", "and")
            } else {
                ("from", "to")
            };
            let shown: Vec<String> = pairs
                .iter()
                .take(LISTED_PAIRS)
                .map(|(one, other)| format!("{one} {and} {other}"))
                .collect();
            let more = match pairs.len().saturating_sub(LISTED_PAIRS) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!(
                "{via} on {count} channel{s} {way} {}{more}",
                shown.join(", ")
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(number: u32, from: u32, to: u32, via: &str) -> Channel {
        Channel {
            number,
            from,
            to,
            via: via.to_owned(),
        }
    }

    #[test]
    fn channels_are_folded_by_ranks_transport_and_direction() {
        let mut all = Vec::new();
        for number in 0..4 {
            all.push(channel(number, 0, 1, "P2P/CUMEM"));
            all.push(channel(number, 1, 0, "P2P/CUMEM"));
            all.push(channel(number, 2, 3, "P2P/CUMEM"));
            all.push(channel(number, 3, 2, "P2P/CUMEM"));
        }
        all.push(channel(0, 1, 2, "SHM/direct"));
        // The same channel told twice is one.
        all.push(channel(0, 1, 2, "SHM/direct"));
        assert_eq!(
            folded(&all),
            [
                "P2P/CUMEM on 4 channels both ways between 0 and 1, 2 and 3",
                "SHM/direct on 1 channel from 1 to 2"
            ]
        );
    }

    #[test]
    fn what_was_not_told_is_said() {
        let facts = TransportFacts {
            arm: Some("off".to_owned()),
            why: vec!["NCCL_P2P_DISABLE is 1".to_owned()],
            not_told: Some("the library wrote no log".to_owned()),
            ..TransportFacts::default()
        };
        assert_eq!(
            section(&[facts]),
            "\nTransport, by the library's words in runs that were not timed\n  arm off: because NCCL_P2P_DISABLE is 1\n  \
             arm off: not told: the library wrote no log\n"
        );
        assert_eq!(section(&[]), "");
    }
}
