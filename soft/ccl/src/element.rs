//! The element types that are summed, and their bytes as numbers.

/// A floating type that can be summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    F32,
    Bf16,
}

impl Element {
    /// By its number in `nccl.h`, enum `ncclDataType_t`.
    pub(crate) fn of(data_type: i32) -> Option<Self> {
        match data_type {
            6 => Some(Self::F16),
            7 => Some(Self::F32),
            9 => Some(Self::Bf16),
            _ => None,
        }
    }

    /// Bytes of one.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// Reads numbers; as many as both have.
    ///
    /// Of bf16 the numbers in the lower halves of words come first, then those in the upper halves, and then the last one of an odd
    /// count: nothing has to change its place within a vector. [`Element::add`] and [`Element::write`] have the same order.
    #[inline(always)]
    pub(crate) fn read(self, bytes: &[u8], sum: &mut [f32]) {
        self.each(bytes, sum, |_, number| number);
    }

    /// Adds numbers to a sum; as many as both have.
    #[inline(always)]
    pub(crate) fn add(self, bytes: &[u8], sum: &mut [f32]) {
        self.each(bytes, sum, |sum, number| sum + number);
    }

    #[inline(always)]
    fn each(self, bytes: &[u8], sum: &mut [f32], next: impl Fn(f32, f32) -> f32) {
        match self {
            Self::F32 => update(bytes, sum, |sum, word| next(sum, f32::from_ne_bytes(word))),
            Self::F16 => update(bytes, sum, |sum, word| {
                next(sum, from_f16(u16::from_ne_bytes(word)))
            }),
            Self::Bf16 => {
                let (pairs, last) = bytes.as_chunks();
                let (lower, sum) = sum.split_at_mut(pairs.len());
                let (upper, sum) = sum.split_at_mut(pairs.len());
                for ((pair, lower), upper) in pairs.iter().zip(lower).zip(upper) {
                    let pair = u32::from_ne_bytes(*pair);
                    *lower = next(*lower, f32::from_bits(pair << 16));
                    *upper = next(*upper, f32::from_bits(pair & UPPER));
                }
                update(last, sum, |sum, word| {
                    next(
                        sum,
                        f32::from_bits(u32::from(u16::from_ne_bytes(word)) << 16),
                    )
                });
            }
        }
    }

    /// Writes a sum, rounded to the nearest, ties to even; as many numbers as both have.
    #[inline(always)]
    pub(crate) fn write(self, sum: &[f32], bytes: &mut [u8]) {
        match self {
            Self::F32 => put(sum, bytes, f32::to_ne_bytes),
            Self::F16 => put(sum, bytes, |sum| to_f16(sum).to_ne_bytes()),
            Self::Bf16 => {
                let (pairs, last) = bytes.as_chunks_mut();
                let (lower, sum) = sum.split_at(pairs.len());
                let (upper, sum) = sum.split_at(pairs.len());
                for ((pair, lower), upper) in pairs.iter_mut().zip(lower).zip(upper) {
                    let (lower, upper) = (round_to_bf16(*lower), round_to_bf16(*upper));
                    *pair = (lower >> 16 | upper & UPPER).to_ne_bytes();
                }
                put(sum, last, |sum| {
                    ((round_to_bf16(sum) >> 16) as u16).to_ne_bytes()
                });
            }
        }
    }
}

#[inline(always)]
fn update<const N: usize>(bytes: &[u8], sum: &mut [f32], next: impl Fn(f32, [u8; N]) -> f32) {
    for (sum, word) in sum.iter_mut().zip(bytes.as_chunks().0) {
        *sum = next(*sum, *word);
    }
}

#[inline(always)]
fn put<const N: usize>(sum: &[f32], bytes: &mut [u8], round: impl Fn(f32) -> [u8; N]) {
    for (sum, word) in sum.iter().zip(bytes.as_chunks_mut().0) {
        *word = round(*sum);
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

// Of what follows every part is computed for every number, and one of them taken: a line of numbers is done at once that way.

#[inline(always)]
fn from_f16(bits: u16) -> f32 {
    const REBIAS: f32 = f32::from_bits((127 + 127 - 15) << 23);
    let (sign, magnitude) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
    // Shifted into place, the number is 2^(127 - 15) too small, also where it has no leading one.
    let scaled = f32::from_bits(magnitude << 13) * REBIAS;
    // Infinity, and what is no number.
    let special = if magnitude >= 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(sign | special | scaled.to_bits())
}

#[inline(always)]
fn to_f16(value: f32) -> u16 {
    let sign = (value.to_bits() >> 16) as u16 & 0x8000;
    let magnitude = value.abs();
    let bits = magnitude.to_bits();
    // Half of the last kept bit less one, and one more where that bit is set; a carry goes into the exponent.
    let even = bits.wrapping_add(0xfff + (bits >> 13 & 1));
    let normal = (even >> 13).wrapping_sub((127 - 15) << 10);
    // The last bit of a number from 1/2 on is worth 2^-24, and so the addition rounds where it must be rounded here.
    let subnormal = (magnitude + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let finite = if magnitude < 1.0 / 16_384.0 {
        subnormal
    } else {
        normal
    };
    // 65520 is the middle between the largest number, 65504, and the next power of two.
    let rounded = if magnitude >= 65_520.0 {
        0x7c00
    } else {
        finite
    };
    sign | if value.is_nan() {
        0x7e00
    } else {
        rounded as u16
    }
}

/// The bits of a bf16, which it shares with a binary32; those below say what it was rounded from.
const UPPER: u32 = 0xffff_0000;

/// Bits of a binary32 whose upper half is the nearest bf16, ties to even.
#[inline(always)]
fn round_to_bf16(value: f32) -> u32 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    let quiet = bits | 0x0040_0000;
    if value.is_nan() { quiet } else { rounded }
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
        let to_bf16 = |value| round_to_bf16(value) >> 16;
        // Steps of bf16 are 2 from 256 on: 257 is a tie and goes to 256 = 0x4380, 259 to 260 = 0x4382.
        assert_eq!([257.0, 259.0, -1.0].map(to_bf16), [0x4380, 0x4382, 0xbf80]);
        assert!(f32::from_bits(round_to_bf16(f32::NAN) & UPPER).is_nan());
    }
}
