//! The chain of a pointer chase on the host: what is written, how far a chase goes, and where it must end.

use kernels::write_chain;

/// Any order does; always the same one, so that runs can be compared.
const SEED: u64 = 0x7470_6c65_6e73;

/// A chain in host memory, to be copied to where it is walked through.
pub(super) struct Chain {
    pub(super) bytes: Vec<u8>,
    nodes: u32,
}

impl Chain {
    /// A chain of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let mut bytes = vec![0; bytes];
        let nodes = write_chain(&mut bytes, SEED);
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        Self { bytes, nodes }
    }

    /// The steps of so many laps, less one: a chase of whole laps would end at 0, where a kernel that does nothing
    /// is, too.
    pub(super) fn steps(&self, laps: u32) -> u32 {
        self.nodes.saturating_mul(laps).saturating_sub(1).max(1)
    }

    /// What is wrong with the offset that a chase of so many steps wrote; `None` where it is right.
    pub(super) fn difference(&self, end: &[u8], steps: u32) -> Option<String> {
        let found = word(end, 0)?;
        let walk = (0..steps % self.nodes.max(1)).try_fold(0, |at, _| word(&self.bytes, at));
        let expected = walk.unwrap_or(u64::MAX);
        (found != expected).then(|| {
            format!(
                "the chase of {steps} steps ended at offset {found}, the chain leads to {expected}"
            )
        })
    }
}

/// The 8-byte number at an offset.
fn word(bytes: &[u8], at: u64) -> Option<u64> {
    let word = bytes.get(usize::try_from(at).ok()?..)?.first_chunk()?;
    Some(u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_ends_where_the_chain_leads_and_nowhere_else() {
        let chain = Chain::new(4096);
        // 4096 / 128 = 32 nodes.
        assert_eq!((chain.nodes, chain.steps(1), chain.steps(3)), (32, 31, 95));
        // 31 and 95 steps end at the node before the first: the one that holds 0.
        let last = (0..32).find(|node| chain.bytes[node * 128..][..8] == [0; 8]);
        let end = (last.unwrap() as u64 * 128).to_le_bytes();
        assert_eq!(chain.difference(&end, 31), None);
        assert_eq!(chain.difference(&end, 95), None);
        let wrong = chain.difference(&[0; 8], 31).unwrap();
        assert!(
            wrong.starts_with("the chase of 31 steps ended at offset 0"),
            "{wrong}"
        );
        assert_eq!(chain.difference(&[0; 8], 64), None);
    }
}
