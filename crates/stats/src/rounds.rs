//! The order of arms: random in one round of launches, the reverse in the next, so that what drifts slowly weighs on all alike.

use super::random::SplitMix;

/// The indexes of so many arms for each round: every other round a random order, and after it its reverse.
#[must_use]
pub fn rounds(arms: usize, launches: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut random = SplitMix::new(seed);
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    for launch in 0..launches {
        let order = match rounds.last() {
            Some(before) if launch % 2 == 1 => before.iter().rev().copied().collect(),
            _ => shuffled(arms, &mut random),
        };
        rounds.push(order);
    }
    rounds
}

/// The indexes below `count` in an order of which all are equally likely (Fisher and Yates).
fn shuffled(count: usize, random: &mut SplitMix) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_every_arm_and_every_second_is_the_reverse_of_the_one_before() {
        for seed in 0..20 {
            let rounds = rounds(4, 5, seed);
            assert_eq!(rounds.len(), 5);
            for round in &rounds {
                let mut sorted = round.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, [0, 1, 2, 3]);
            }
            for pair in [&rounds[0..2], &rounds[2..4]] {
                let back: Vec<usize> = pair[1].iter().rev().copied().collect();
                assert_eq!(pair[0], back);
            }
        }
    }

    #[test]
    fn a_seed_gives_one_order_and_seeds_differ() {
        assert_eq!(rounds(5, 4, 7), rounds(5, 4, 7));
        assert!((0..20).any(|seed| rounds(5, 4, seed) != rounds(5, 4, 7)));
    }

    #[test]
    fn both_orders_of_two_arms_come_about_equally_often() {
        let first = (0..1000).filter(|seed| rounds(2, 1, *seed)[0] == [0, 1]);
        // 1000 throws of a coin: 500 with a standard deviation of sqrt(250) = 16; five of them are 79.
        assert!(first.count().abs_diff(500) < 79);
    }
}
