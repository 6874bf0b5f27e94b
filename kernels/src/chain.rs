//! The chain that a pointer chase follows, as it lies in memory.

/// Bytes from one node to the next in memory: a cache line of every vendor here.
pub const CHAIN_STRIDE: usize = 128;

/// Writes one cycle through all nodes of `bytes`, in an order drawn from `seed`; answers how many nodes it has.
///
/// A node is 8 bytes at a multiple of [`CHAIN_STRIDE`], little-endian, that hold the offset in bytes of the next node. The order
/// is a single cycle (Sattolo, 1986), so that a chase of as many steps visits every node once and ends where it began.
/// What lies between the nodes, and behind the last whole stride, is not touched.
pub fn write_chain(bytes: &mut [u8], seed: u64) -> u64 {
    let nodes = (bytes.len() / CHAIN_STRIDE) as u64;
    let mut random = Random(seed);
    let mut next: Vec<u64> = (0..nodes).collect();
    for last in (1..next.len()).rev() {
        // Strictly below, unlike in a shuffle: no node may stay in its place, and no cycle may close early.
        next.swap(last, random.below(last));
    }
    for (node, next) in bytes.chunks_exact_mut(CHAIN_STRIDE).zip(next) {
        node[..8].copy_from_slice(&(next * CHAIN_STRIDE as u64).to_le_bytes());
    }
    nodes
}

/// The generator splitmix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    /// A number below `bound`; how much likelier some are is below `bound` in 2^64.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The upper half of the product is below `bound`, which is a usize.
        ((u128::from(mixed) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets that a chase visits, from 0 on, until it is at 0 again or at a node that it knows.
    fn lap(bytes: &[u8]) -> (Vec<usize>, usize) {
        let (mut visited, mut at) = (Vec::new(), 0);
        loop {
            visited.push(at);
            let node: [u8; 8] = bytes[at..at + 8].try_into().unwrap();
            at = usize::try_from(u64::from_le_bytes(node)).unwrap();
            if visited.contains(&at) {
                return (visited, at);
            }
        }
    }

    #[test]
    fn one_lap_visits_every_node_once_and_ends_where_it_began() {
        for (nodes, seed) in [(1, 0), (2, 0), (3, 7), (64, 1), (257, u64::MAX)] {
            let mut bytes = vec![0xab; nodes * CHAIN_STRIDE];
            assert_eq!(write_chain(&mut bytes, seed), nodes as u64);
            let (mut visited, end) = lap(&bytes);
            assert_eq!(end, 0, "{nodes} nodes");
            visited.sort_unstable();
            let all: Vec<usize> = (0..nodes).map(|node| node * CHAIN_STRIDE).collect();
            assert_eq!(visited, all, "{nodes} nodes");
        }
    }

    #[test]
    fn neighbours_in_the_chain_are_rarely_neighbours_in_memory() {
        let mut bytes = vec![0; 4096 * CHAIN_STRIDE];
        write_chain(&mut bytes, 3);
        let (visited, _) = lap(&bytes);
        let steps = visited.windows(2).map(|pair| pair[0].abs_diff(pair[1]));
        let near = steps.filter(|step| *step == CHAIN_STRIDE).count();
        // Of 4096 random steps 2 in 4096 go to a neighbour: 2 are expected, and 20 are not met by chance.
        assert!(near < 20, "{near}");
    }

    #[test]
    fn seeds_give_orders_of_their_own_and_one_seed_the_same_again() {
        let order = |seed| {
            let mut bytes = vec![0; 64 * CHAIN_STRIDE];
            write_chain(&mut bytes, seed);
            bytes
        };
        assert_eq!(order(5), order(5));
        assert_ne!(order(5), order(6));
    }

    #[test]
    fn only_the_nodes_are_written() {
        // Two nodes of 128 bytes and 100 bytes that are no node.
        let mut bytes = vec![0xab; 2 * CHAIN_STRIDE + 100];
        assert_eq!(write_chain(&mut bytes, 1), 2);
        // The only cycle of two nodes: each holds the offset of the other.
        assert_eq!(bytes[..8], 128u64.to_le_bytes());
        assert_eq!(bytes[128..136], 0u64.to_le_bytes());
        let others = bytes[8..128].iter().chain(&bytes[136..]);
        assert!(others.into_iter().all(|byte| *byte == 0xab));
        assert_eq!(write_chain(&mut bytes[..100], 1), 0);
    }
}
