//! The numbers that ranks bring to collectives, and their bytes by the definition of each type.

use std::ops::Range;

use device::collectives::{Element, width};

/// Whole numbers from minus this to this are taken: the sums of four ranks, and four times those, have as many binary digits as a type
/// holds (8 in bfloat16).
const REACH: i32 = 15;

/// The whole number of a rank at an index.
pub(crate) fn number(rank: u32, index: usize) -> i32 {
    (index * 7 + rank as usize * 13) as i32 % (2 * REACH + 1) - REACH
}

/// The bytes of a whole number below 2048, after IEEE 754: sign, power of two of the first digit, the digits behind it.
fn bytes_of(element: Element, value: i32) -> Vec<u8> {
    let magnitude = value.unsigned_abs();
    let bits = |exponent_bits: u32, fraction_bits: u32| {
        let sign = u32::from(value < 0) << (exponent_bits + fraction_bits);
        let Some(power) = magnitude.checked_ilog2() else {
            return sign;
        };
        let bias = (1 << (exponent_bits - 1)) - 1;
        let fraction = (magnitude << fraction_bits >> power) & ((1 << fraction_bits) - 1);
        sign | (power + bias) << fraction_bits | fraction
    };
    match element {
        Element::F32 => bits(8, 23).to_ne_bytes().to_vec(),
        Element::F16 => (bits(5, 10) as u16).to_ne_bytes().to_vec(),
        Element::Bf16 => (bits(8, 7) as u16).to_ne_bytes().to_vec(),
        other => panic!("{other} is not reduced"),
    }
}

/// The bytes of many numbers; tables, because these are millions.
pub(crate) fn bytes_at(
    element: Element,
    indices: Range<usize>,
    number: impl Fn(usize) -> i32,
) -> Vec<u8> {
    // Of four ranks, and of four times their sum.
    let most = REACH * 16;
    let known: Vec<Vec<u8>> = (-most..=most)
        .map(|value| bytes_of(element, value))
        .collect();
    let mut bytes = Vec::with_capacity(indices.len() * width(element));
    for index in indices {
        bytes.extend_from_slice(&known[(number(index) + most) as usize]);
    }
    bytes
}

/// The bytes of one rank's numbers.
pub(crate) fn of_rank(element: Element, rank: u32, indices: Range<usize>) -> Vec<u8> {
    bytes_at(element, indices, |index| number(rank, index))
}
