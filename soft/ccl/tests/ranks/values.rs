//! Small whole numbers as elements of every type, written by their definitions.

use crate::rank::{BF16, F16, F32};

/// What a rank brings at a place: whole numbers so small that every sum of up to 4 ranks is exact in every type.
pub(crate) fn brought(rank: usize, at: usize) -> f32 {
    (at % 13) as f32 - 4.0 * rank as f32
}

/// A whole number by a sign, an exponent with its bias and the upper bits of the fraction.
fn written(value: f32, exponent_bits: u32, fraction_bits: u32) -> u32 {
    let (sign, exponent) = (value.to_bits() >> 31, (value.to_bits() >> 23 & 0xff) as i32);
    let fraction = (value.to_bits() & 0x7f_ffff) >> (23 - fraction_bits);
    let bias = (1 << (exponent_bits - 1)) - 1;
    let magnitude = match value == 0.0 {
        true => 0,
        false => ((exponent - 127 + bias) as u32) << fraction_bits | fraction,
    };
    sign << (exponent_bits + fraction_bits) | magnitude
}

/// The bytes of whole numbers that the type holds.
pub(crate) fn bytes(kind: i32, values: impl Iterator<Item = f32>) -> Vec<u8> {
    values
        .flat_map(|value| match kind {
            F32 => value.to_ne_bytes().to_vec(),
            F16 => (written(value, 5, 10) as u16).to_ne_bytes().to_vec(),
            BF16 => (written(value, 8, 7) as u16).to_ne_bytes().to_vec(),
            other => panic!("no numbers of type {other} here"),
        })
        .collect()
}
