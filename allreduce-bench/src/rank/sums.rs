//! What each rank contributes, and the exact results: small whole numbers by position and rank, whose sum every type holds.
//!
//! bfloat16 has 8 significant bits, so whole numbers up to 256 are exact in it and in the wider types, and every partial sum stays
//! within that whatever the order. The number at a position is a hash of position and rank, so that data which was dropped, shifted
//! or taken from another rank is seen.

use measure::record::{CollectiveKind, ElementType};

/// The largest sum.
const LARGEST: u32 = 256;

/// What lies in a result before a call: in each of the types the bytes of not-a-number.
const SPOILT: u8 = 0xff;

/// The numbers of one call.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    kind: CollectiveKind,
    element: ElementType,
    ranks: u32,
    /// Each number is below this, so that the sum over all ranks is at most [`LARGEST`].
    modulus: u32,
    /// The bytes of each whole number up to [`LARGEST`], of which the element's width counts.
    words: Vec<[u8; 4]>,
}

impl Sums {
    /// For one operation among so many ranks.
    pub(super) fn new(kind: CollectiveKind, element: ElementType, ranks: u32) -> Self {
        Self {
            kind,
            element,
            ranks,
            modulus: LARGEST / ranks.max(1) + 1,
            words: (0..=LARGEST).map(|number| word(element, number)).collect(),
        }
    }

    /// Writes what a rank contributes.
    pub(super) fn fill(&self, bytes: &mut [u8], rank: u32) {
        let width = self.width();
        for (index, chunk) in bytes.chunks_exact_mut(width).enumerate() {
            chunk.copy_from_slice(self.bytes_of(self.number(index, rank)));
        }
    }

    /// Writes what no result is.
    pub(super) fn spoil(bytes: &mut [u8]) {
        bytes.fill(SPOILT);
    }

    /// The first element of a result that is not the exact one, in words; `None` where all are.
    pub(super) fn first_difference(&self, result: &[u8]) -> Option<String> {
        let width = self.width();
        let elements = result.len() / width;
        let wrong =
            |(index, chunk): &(usize, &[u8])| *chunk != self.bytes_of(self.exact(*index, elements));
        let (index, chunk) = result.chunks_exact(width).enumerate().find(wrong)?;
        let exact = self.exact(index, elements);
        Some(format!(
            "element {index} of {elements} is {} where {exact} is {} ({}, lowest byte first)",
            hex(chunk),
            hex(self.bytes_of(exact)),
            self.element
        ))
    }

    /// The exact result at a position.
    fn exact(&self, index: usize, elements: usize) -> u32 {
        match self.kind {
            CollectiveKind::AllReduce => (0..self.ranks).map(|rank| self.number(index, rank)).sum(),
            CollectiveKind::AllGather => {
                let each = (elements / self.ranks.max(1) as usize).max(1);
                let rank = u32::try_from(index / each).unwrap_or(u32::MAX);
                self.number(index % each, rank)
            }
        }
    }

    /// What a rank contributes at a position: a multiply-xorshift of both.
    fn number(&self, index: usize, rank: u32) -> u32 {
        let place = (index as u64)
            .wrapping_mul(u64::from(self.ranks))
            .wrapping_add(u64::from(rank) + 1);
        let mixed = place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let upper = ((mixed ^ (mixed >> 29)) >> 32) as u32;
        upper % self.modulus
    }

    #[expect(clippy::cast_possible_truncation, reason = "it is 2 or 4")]
    fn width(&self) -> usize {
        self.element.bytes() as usize
    }

    fn bytes_of(&self, number: u32) -> &[u8] {
        &self.words[number as usize][..self.width()]
    }
}

/// The bytes of a whole number up to [`LARGEST`] as the host and its devices hold it: the lowest first.
fn word(element: ElementType, number: u32) -> [u8; 4] {
    #[expect(clippy::cast_precision_loss, reason = "256 at most")]
    let single = (number as f32).to_bits();
    match element {
        ElementType::F32 => single,
        // bfloat16 is the upper half of binary32.
        ElementType::Bf16 => single >> 16,
        // binary16: 10 bits of fraction where binary32 has 23, and an exponent of bias 15 instead of 127.
        ElementType::F16 if number == 0 => 0,
        ElementType::F16 => (((single >> 23) - 127 + 15) << 10) | ((single >> 13) & 0x3ff),
    }
    .to_le_bytes()
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

    /// Each rank's part in single precision, as plain numbers.
    fn parts(kind: CollectiveKind, ranks: u32) -> (Sums, Vec<Vec<f32>>) {
        let sums = Sums::new(kind, ElementType::F32, ranks);
        let part = |rank| {
            let mut bytes = vec![0; 64 * 4];
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

    #[test]
    fn the_sum_that_is_added_up_is_the_exact_one_and_another_is_told() {
        for ranks in [2, 3, 8, 64] {
            let (sums, parts) = parts(CollectiveKind::AllReduce, ranks);
            let mut sum: Vec<f32> = (0..64)
                .map(|at| parts.iter().map(|part| part[at]).sum())
                .collect();
            assert!(
                sum.iter().all(|sum| *sum <= 256.0),
                "{ranks} ranks: {sum:?}"
            );
            assert_eq!(sums.first_difference(&bytes(&sum)), None, "{ranks} ranks");
            // One rank's part alone is not the sum, nor is a sum that is one off.
            assert!(sums.first_difference(&bytes(&parts[0])).is_some());
            sum[63] += 1.0;
            let told = sums.first_difference(&bytes(&sum)).unwrap();
            assert!(told.starts_with("element 63 of 64"), "{told}");
        }
    }

    #[test]
    fn what_is_gathered_is_in_rank_order() {
        let (sums, parts) = parts(CollectiveKind::AllGather, 2);
        let whole = [parts[0].clone(), parts[1].clone()].concat();
        assert_eq!(sums.first_difference(&bytes(&whole)), None);
        let swapped = [parts[1].clone(), parts[0].clone()].concat();
        assert!(sums.first_difference(&bytes(&swapped)).is_some());
    }

    #[test]
    fn a_spoilt_result_is_no_result() {
        let sums = Sums::new(CollectiveKind::AllReduce, ElementType::Bf16, 2);
        let mut result = vec![0; 8];
        Sums::spoil(&mut result);
        assert!(sums.first_difference(&result).unwrap().contains("ffff"));
    }
}
