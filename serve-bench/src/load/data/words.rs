//! Random prompts: drawn from a seed, so that no two requests share a beginning that a server could have cached.
//!
//! Words are such that most vocabularies hold them as one token with the space before them; how many tokens a server made of
//! them is what its `usage` says.

use std::sync::LazyLock;

use stats::SplitMix;

/// Token ids below this are left out: byte and control tokens stand there in many vocabularies.
const FIRST_ID: u32 = 256;

/// Common short words.
const WORDS: &str = "able air also area army away back ball bank base bear beat bed best bill bird blue boat body book both box boy \
call came camp car card care case cat city club cold come cook cool copy cost cut dark data day dead deal deep desk done door down \
draw drop dry each ear east easy edge else end even ever eye face fact fall farm fast fear feel feet few field file fill film find \
fine fire firm fish five floor flow food foot form four free full game gave gift girl give glass goal gold good gray great green \
ground group grow half hall hand hard head hear heart heat held help here high hill hold home hope hot hour house huge idea inch \
iron item join jump just keep kept key kind king knee knew know lake land last late lead leaf left less life light like line list \
live long look lost love low luck made mail main make man map mark may meal mean meet mile milk mind mine miss moon more most \
move much name near neck need new next nice night nine north note once open over page paper park part pass past path peak pick";

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
    // Streams of neighbouring numbers must not overlap, so each part is mixed before it meets the others.
    let mixed = |value: u64| SplitMix::new(value).next();
    SplitMix::new(mixed(mixed(seed).wrapping_add(number)) ^ mixed(!(purpose as u64)))
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
        for number in 0..1000 {
            let text = words(&mut random(7, Purpose::Prompt, number), 40);
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(words.len(), 40);
            // A prefix cache shares blocks of 16 tokens.
            assert!(begins.insert(words[..16].join(" ")), "prompt {number}");
        }
    }

    #[test]
    fn neighbouring_seeds_share_no_prompt() {
        let mut firsts = std::collections::BTreeSet::new();
        for seed in 0..50 {
            for number in 0..50 {
                firsts.insert(random(seed, Purpose::Prompt, number).next());
            }
        }
        assert_eq!(firsts.len(), 2500);
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
