//! The element types that are summed, and their bytes as numbers.

use crate::eight::{E4M3, E5M2, Eight};

/// A floating type that can be summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    F32,
    Bf16,
    F8E4m3,
    F8E5m2,
}

impl Element {
    /// By its number in `nccl.h`, enum `ncclDataType_t`.
    pub(crate) fn of(data_type: i32) -> Option<Self> {
        match data_type {
            6 => Some(Self::F16),
            7 => Some(Self::F32),
            9 => Some(Self::Bf16),
            10 => Some(Self::F8E4m3),
            11 => Some(Self::F8E5m2),
            _ => None,
        }
    }

    /// Bytes of one.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::F8E4m3 | Self::F8E5m2 => 1,
        }
    }

    /// Adds numbers to a sum; as many as both have.
    pub(crate) fn add(self, sum: &mut [f32], bytes: &[u8]) {
        match self {
            Self::F32 => {
                for (sum, word) in sum.iter_mut().zip(bytes.as_chunks().0) {
                    *sum += f32::from_ne_bytes(*word);
                }
            }
            Self::F16 => {
                for (sum, word) in sum.iter_mut().zip(bytes.as_chunks().0) {
                    *sum += from_f16(u16::from_ne_bytes(*word));
                }
            }
            Self::Bf16 => {
                for (sum, word) in sum.iter_mut().zip(bytes.as_chunks().0) {
                    *sum += f32::from_bits(u32::from(u16::from_ne_bytes(*word)) << 16);
                }
            }
            Self::F8E4m3 => add_eights(&E4M3, sum, bytes),
            Self::F8E5m2 => add_eights(&E5M2, sum, bytes),
        }
    }

    /// Writes a sum, rounded to the nearest, ties to even; as many numbers as both have.
    pub(crate) fn write(self, sum: &[f32], bytes: &mut [u8]) {
        match self {
            Self::F32 => {
                for (sum, word) in sum.iter().zip(bytes.as_chunks_mut().0) {
                    *word = sum.to_ne_bytes();
                }
            }
            Self::F16 => {
                for (sum, word) in sum.iter().zip(bytes.as_chunks_mut().0) {
                    *word = to_f16(*sum).to_ne_bytes();
                }
            }
            Self::Bf16 => {
                for (sum, word) in sum.iter().zip(bytes.as_chunks_mut().0) {
                    *word = to_bf16(*sum).to_ne_bytes();
                }
            }
            Self::F8E4m3 => write_eights(&E4M3, sum, bytes),
            Self::F8E5m2 => write_eights(&E5M2, sum, bytes),
        }
    }
}

fn add_eights(format: &Eight, sum: &mut [f32], bytes: &[u8]) {
    for (sum, byte) in sum.iter_mut().zip(bytes) {
        *sum += format.read(*byte);
    }
}

fn write_eights(format: &Eight, sum: &[f32], bytes: &mut [u8]) {
    for (sum, byte) in sum.iter().zip(bytes) {
        *byte = format.round(*sum);
    }
}

/// Bytes of one element of a type, by its number in `nccl.h`; `None` for a number that is none.
pub(crate) fn bytes_of(data_type: i32) -> Option<usize> {
    match data_type {
        0 | 1 | 10 | 11 => Some(1), // int8, uint8, float8e4m3, float8e5m2
        6 | 9 => Some(2),           // float16, bfloat16
        2 | 3 | 7 => Some(4),       // int32, uint32, float32
        4 | 5 | 8 => Some(8),       // int64, uint64, float64
        _ => None,
    }
}

fn from_f16(bits: u16) -> f32 {
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    let magnitude = match exponent {
        // Subnormal: steps of 2^-24.
        0 => fraction as f32 / 16_777_216.0,
        31 => f32::from_bits(0x7f80_0000 | fraction << 13),
        _ => f32::from_bits((exponent + 127 - 15) << 23 | fraction << 13),
    };
    if bits & 0x8000 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

fn to_f16(value: f32) -> u16 {
    let sign = (value.to_bits() >> 16) as u16 & 0x8000;
    let magnitude = value.abs();
    let bits = magnitude.to_bits();
    let rounded = if value.is_nan() {
        0x7e00
    } else if magnitude >= 65_520.0 {
        // The middle between the largest number, 65504, and the next power of two.
        0x7c00
    } else if magnitude < 1.0 / 16_384.0 {
        (magnitude * 16_777_216.0).round_ties_even() as u16
    } else {
        // Half of the last kept bit less one, and one more where that bit is set; a carry goes into the exponent.
        let even = bits + 0xfff + (bits >> 13 & 1);
        ((even >> 13) - ((127 - 15) << 10)) as u16
    };
    sign | rounded
}

fn to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f16_comes_back() {
        for bits in 0..=u16::MAX {
            let value = from_f16(bits);
            if value.is_nan() {
                assert!(from_f16(to_f16(value)).is_nan(), "{bits:04x}");
            } else {
                assert_eq!(to_f16(value), bits, "{value}");
            }
        }
        // IEEE 754 binary16: 0x3c00 is 1, 0xc000 -2, 0x7bff 65504, 0x0001 2^-24, 0x0400 2^-14.
        let known = [0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400].map(from_f16);
        assert_eq!(known, [1.0, -2.0, 65504.0, 2f32.powi(-24), 2f32.powi(-14)]);
    }

    #[test]
    fn sums_are_rounded_to_the_nearest_and_to_even() {
        // Steps of f16 are 2 from 2048 on: 2049 is a tie and goes to 2048 (even), 2051 to 2052; 65520 is out of range.
        let rounded = [2049.0, 2051.0, 65519.0, 65520.0].map(to_f16);
        assert_eq!(rounded, [0x6800, 0x6802, 0x7bff, 0x7c00]);
        // Steps of bf16 are 2 from 256 on: 257 is a tie and goes to 256 = 0x4380, 259 to 260 = 0x4382.
        assert_eq!([257.0, 259.0, -1.0].map(to_bf16), [0x4380, 0x4382, 0xbf80]);
        assert!(f32::from_bits(u32::from(to_bf16(f32::NAN)) << 16).is_nan());
    }
}
