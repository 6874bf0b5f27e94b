//! Prompts: drawn at random from a seed, so that no two requests share a prefix that a server could have cached.
//!
//! It does not tokenise. Words are such that most vocabularies hold them as one token with the space before them; how
//! many tokens a server made of them is what its `usage` says.

use serde_json::Value;

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

/// How prompts are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words of English, one for each token asked for.
    Words,
    /// Token ids below the given number; only the completions endpoint takes them.
    TokenIds {
        /// Ids are drawn below this.
        vocabulary: u32,
    },
}

/// The prompt with this number, of a run with this seed: a string, or an array of ids.
pub(super) fn prompt(kind: Kind, tokens: u32, seed: u64, number: u64) -> Value {
    // Streams of neighbouring numbers must not overlap, so the number is mixed before it meets the seed.
    let mut random = Random(mix(seed) ^ mix(number.wrapping_add(1)));
    match kind {
        Kind::Words => {
            let words: Vec<&str> = WORDS.split_whitespace().collect();
            let drawn: Vec<&str> = (0..tokens)
                .map(|_| words[random.below(words.len() as u64) as usize])
                .collect();
            Value::String(drawn.join(" "))
        }
        Kind::TokenIds { vocabulary } => {
            let first = FIRST_ID.min(vocabulary / 2);
            let span = u64::from(vocabulary - first);
            let id = |_| Value::from(u64::from(first) + random.below(span));
            Value::Array((0..tokens).map(id).collect())
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        // The upper half of a product with 64 bits: biased by less than 2^-40 for the bounds used here.
        ((u128::from(mix(self.0)) * u128::from(bound)) >> 64) as u64
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn prompts_have_the_length_asked_for_and_do_not_begin_alike() {
        let mut begins = HashSet::new();
        for number in 0..1000 {
            let text = prompt(Kind::Words, 40, 7, number);
            let words: Vec<&str> = text.as_str().unwrap().split(' ').collect();
            assert_eq!(words.len(), 40);
            // A prefix cache shares blocks of 16 tokens.
            assert!(begins.insert(words[..16].join(" ")), "prompt {number}");
        }
    }

    #[test]
    fn the_seed_decides_and_ids_stay_in_bounds() {
        let ids = |seed, vocabulary| prompt(Kind::TokenIds { vocabulary }, 64, seed, 3);
        assert_eq!(ids(1, 1000), ids(1, 1000));
        assert_ne!(ids(1, 1000), ids(2, 1000));
        let of = |value: Value| -> Vec<u64> {
            let list = value.as_array().unwrap().iter();
            list.map(|id| id.as_u64().unwrap()).collect()
        };
        assert!(of(ids(1, 1000)).iter().all(|id| (256..1000).contains(id)));
        // A vocabulary of 170: 256 would leave none, so half of it, 85.
        assert!(of(ids(1, 170)).iter().all(|id| (85..170).contains(id)));
    }
}
