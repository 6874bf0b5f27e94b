//! Random prompts: drawn from a seed, so that no two requests share a beginning that a server could have cached.
//!
//! Words are such that most vocabularies hold them as one token with the space before them; how many tokens a server made of
//! them is what its `usage` says.

use std::sync::LazyLock;

use stats::SplitMix;

/// Token ids below this are left out: byte and control tokens stand there in many vocabularies.
const FIRST_ID: u32 = 256;

/// Common short words.
const WORDS: &str = include_str!("../../../data/words.txt");

static LIST: LazyLock<Vec<&str>> = LazyLock::new(|| WORDS.split_whitespace().collect());

/// What a stream of random numbers is for; the same number of a request must not give the same draws twice.
#[derive(Debug, Clone, Copy)]
pub(in crate::load) enum Purpose {
    /// The prompt of a request.
    Prompt,
    /// The beginning that all prompts share.
    Prefix,
    /// The lengths of a request.
    Lengths,
    /// The order of a file's entries.
    Order,
    /// The instants of requests.
    Arrivals,
}

/// The random numbers of a run's seed for one purpose and number.
pub(in crate::load) fn random(seed: u64, purpose: Purpose, number: u64) -> SplitMix {
    // One after the other: where parts are only put together, number 4 of seed 3 can be number 2 of seed 5.
    let mixed = |value: u64| SplitMix::new(value).next();
    let of_number = mixed(mixed(seed).wrapping_add(number));
    SplitMix::new(mixed(of_number.wrapping_add(purpose as u64)))
}

/// So many words.
pub(super) fn words(random: &mut SplitMix, count: u32) -> String {
    let drawn: Vec<&str> = (0..count).map(|_| LIST[random.below(LIST.len())]).collect();
    drawn.join(" ")
}

/// So many token ids below a number.
pub(super) fn ids(random: &mut SplitMix, count: u32, vocabulary: u32) -> Vec<u32> {
    let first = FIRST_ID.min(vocabulary / 2);
    let span = (vocabulary - first) as usize;
    (0..count)
        .map(|_| first + u32::try_from(random.below(span)).unwrap_or(0))
        .collect()
}

/// A length between those that a range ratio allows: whole numbers from `length x (1 - ratio)`, rounded down, to
/// `length x (1 + ratio)`, rounded up, at least 1 (vLLM benchmarks/datasets.py).
pub(super) fn length(random: &mut SplitMix, length: u32, ratio: f64) -> u32 {
    if ratio <= 0.0 {
        return length;
    }
    let low = (f64::from(length) * (1.0 - ratio)).floor().max(1.0) as u32;
    let high = (f64::from(length) * (1.0 + ratio)).ceil() as u32;
    let span = high.max(low) - low + 1;
    low + u32::try_from(random.below(span as usize)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use super::*;

    #[test]
    fn prompts_have_the_length_asked_for_and_do_not_begin_alike() {
        let mut begins = HashSet::new();
        // Of neighbouring seeds too: a search takes one after the other.
        for (seed, number) in (0..10).flat_map(|seed| (0..100).map(move |number| (seed, number))) {
            let text = words(&mut random(seed, Purpose::Prompt, number), 40);
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(words.len(), 40);
            // A prefix cache shares blocks of 16 tokens.
            let is_new = begins.insert(words[..16].join(" "));
            assert!(is_new, "prompt {number} of seed {seed}");
        }
    }

    #[test]
    fn the_seed_decides_and_ids_stay_in_bounds() {
        let of = |seed, vocabulary| ids(&mut random(seed, Purpose::Prompt, 3), 64, vocabulary);
        assert_eq!(of(1, 1000), of(1, 1000));
        assert_ne!(of(1, 1000), of(2, 1000));
        assert!(of(1, 1000).iter().all(|id| (256..1000).contains(id)));
        // A vocabulary of 170: 256 would leave none, so half of it, 85.
        assert!(of(1, 170).iter().all(|id| (85..170).contains(id)));
    }

    #[test]
    fn a_range_ratio_gives_whole_numbers_from_floor_to_ceil() {
        // 10 x (1 - 0.25) = 7.5 and 10 x (1 + 0.25) = 12.5: 7 to 13, each of the seven numbers in a thousand draws.
        let mut random = random(1, Purpose::Lengths, 0);
        let seen: BTreeSet<u32> = (0..1000).map(|_| length(&mut random, 10, 0.25)).collect();
        assert_eq!(seen, (7..=13).collect());
        assert_eq!(length(&mut random, 10, 0.0), 10);
        // Down to nothing is not a prompt.
        assert!((0..100).all(|_| length(&mut random, 1, 1.0) >= 1));
    }
}
