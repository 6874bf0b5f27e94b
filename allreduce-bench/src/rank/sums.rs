//! What each rank contributes, and the exact results: small whole numbers by position and rank, whose sum every type holds.
//!
//! A type holds whole numbers up to two to the number of its significant bits, and every partial sum stays within that whatever
//! the order. The number at a position is a hash of position and rank, so that data which was dropped, shifted or taken from
//! another rank is seen.

use device::collectives::{encode, width};
use record::{CollectiveKind, ElementType};

/// The largest sum in any type: what bfloat16 with its 8 significant bits counts to. No more ranks can each contribute one.
pub(crate) const LARGEST: u32 = 256;

/// What lies in a result before a call: in each of the types the bytes of not-a-number.
const SPOILT: u8 = 0xff;

/// The numbers of one call.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    operation: CollectiveKind,
    element: ElementType,
    ranks: u32,
    /// Every number is below this, so that the sum over all ranks is exact.
    modulus: u32,
    /// The bytes of each whole number that occurs, of which the element's width counts.
    words: Vec<[u8; 4]>,
}

impl Sums {
    /// For one operation among at most [`LARGEST`] ranks.
    pub(super) fn new(operation: CollectiveKind, element: ElementType, ranks: u32) -> Self {
        let adds_up = match operation {
            CollectiveKind::AllGather => 1,
            _ => ranks.max(1),
        };
        Self {
            operation,
            element,
            ranks,
            modulus: LARGEST / adds_up + 1,
            words: (0..=LARGEST).map(|number| word(element, number)).collect(),
        }
    }

    /// Writes what a rank contributes.
    pub(super) fn fill(&self, bytes: &mut [u8], rank: u32) {
        let width = width(self.element);
        for (index, chunk) in bytes.chunks_exact_mut(width).enumerate() {
            chunk.copy_from_slice(self.bytes_of(self.number(index, rank)));
        }
    }

    /// Writes what no result is.
    pub(super) fn spoil(bytes: &mut [u8]) {
        bytes.fill(SPOILT);
    }

    /// The first element of a rank's result that is not the exact one, in words; `None` where all are.
    pub(super) fn first_difference(&self, result: &[u8], rank: u32) -> Option<String> {
        let width = width(self.element);
        let elements = result.len() / width;
        let exact = |index| self.exact(index, elements, rank);
        let wrong = |(index, chunk): &(usize, &[u8])| *chunk != self.bytes_of(exact(*index));
        let (index, chunk) = result.chunks_exact(width).enumerate().find(wrong)?;
        let exact = exact(index);
        Some(format!(
            "element {index} of {elements} is {} where {exact} is {} ({}, lowest byte first)",
            hex(chunk),
            hex(self.bytes_of(exact)),
            self.element
        ))
    }

    /// The exact result of a rank at a position.
    fn exact(&self, index: usize, elements: usize, rank: u32) -> u32 {
        let sum = |index| (0..self.ranks).map(|rank| self.number(index, rank)).sum();
        match self.operation {
            CollectiveKind::ReduceScatter => sum(rank as usize * elements + index),
            CollectiveKind::AllGather => {
                let each = (elements / self.ranks.max(1) as usize).max(1);
                let rank = u32::try_from(index / each).unwrap_or(u32::MAX);
                self.number(index % each, rank)
            }
            _ => sum(index),
        }
    }

    /// What a rank contributes at a position.
    fn number(&self, index: usize, rank: u32) -> u32 {
        let place = (index as u64)
            .wrapping_mul(u64::from(self.ranks.max(1)))
            .wrapping_add(u64::from(rank) + 1);
        mixed(place) % self.modulus
    }

    fn bytes_of(&self, number: u32) -> &[u8] {
        &self.words[number as usize][..width(self.element)]
    }
}

/// Two rounds of multiply and xorshift (those of splitmix64): after one alone numbers that follow each other are spread so evenly
/// that their sums are nearly the same everywhere.
fn mixed(place: u64) -> u32 {
    let once = place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let twice = (once ^ (once >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((twice ^ (twice >> 27)) >> 32) as u32
}

/// The bytes of a whole number that the type holds.
fn word(element: ElementType, number: u32) -> [u8; 4] {
    let mut word = [0; 4];
    encode(element, &[number as f32], &mut word);
    word
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_the_bytes_of_their_type() {
        // IEEE 754: 1.0 is 0x3f800000 and 0x3c00, 3.0 is 0x40400000 and 0x4200, 256.0 is 0x43800000 and 0x5c00, 0.0 is 0.
        for (number, single, half) in [
            (0, 0_u32, 0_u16),
            (1, 0x3f80_0000, 0x3c00),
            (3, 0x4040_0000, 0x4200),
            (256, 0x4380_0000, 0x5c00),
        ] {
            assert_eq!(word(ElementType::F32, number), single.to_le_bytes());
            assert_eq!(word(ElementType::F16, number)[..2], half.to_le_bytes());
            // bfloat16 is the upper half of binary32.
            let upper = u16::try_from(single >> 16).unwrap();
            assert_eq!(word(ElementType::Bf16, number)[..2], upper.to_le_bytes());
        }
    }

    const ELEMENTS: usize = 64;

    /// Each rank's input of a kind in single precision, as plain numbers.
    fn inputs(operation: CollectiveKind, ranks: u32, elements: usize) -> (Sums, Vec<Vec<f32>>) {
        let sums = Sums::new(operation, ElementType::F32, ranks);
        let part = |rank| {
            let mut bytes = vec![0; elements * 4];
            sums.fill(&mut bytes, rank);
            let words = bytes.chunks_exact(4);
            words
                .map(|word| f32::from_le_bytes(word.try_into().unwrap()))
                .collect()
        };
        let parts = (0..ranks).map(part).collect();
        (sums, parts)
    }

    fn bytes(numbers: &[f32]) -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    }

    fn added_up(parts: &[Vec<f32>]) -> Vec<f32> {
        (0..parts[0].len())
            .map(|at| parts.iter().map(|part| part[at]).sum())
            .collect()
    }

    #[test]
    fn the_sum_that_is_added_up_is_the_exact_one_and_another_is_told() {
        for ranks in [2, 3, 8, 64] {
            let (sums, parts) = inputs(CollectiveKind::AllReduce, ranks, ELEMENTS);
            let mut sum = added_up(&parts);
            assert!(
                sum.iter().all(|sum| *sum <= 256.0),
                "{ranks} ranks: {sum:?}"
            );
            assert_eq!(sums.first_difference(&bytes(&sum), 0), None, "{ranks}");
            // One rank's part alone is not the sum, nor is a sum that is one off.
            assert!(sums.first_difference(&bytes(&parts[0]), 0).is_some());
            sum[63] += 1.0;
            let told = sums.first_difference(&bytes(&sum), 0).unwrap();
            assert!(told.starts_with("element 63 of 64"), "{told}");
        }
    }

    #[test]
    fn what_is_gathered_is_in_rank_order() {
        let (sums, parts) = inputs(CollectiveKind::AllGather, 2, ELEMENTS);
        let whole = [parts[0].clone(), parts[1].clone()].concat();
        assert_eq!(sums.first_difference(&bytes(&whole), 1), None);
        let swapped = [parts[1].clone(), parts[0].clone()].concat();
        assert!(sums.first_difference(&bytes(&swapped), 1).is_some());
    }
}
