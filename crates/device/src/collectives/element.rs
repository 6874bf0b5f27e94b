//! The element types of collectives and their bytes: what a value is in memory, and how a sum is rounded to it.

pub use record::ElementType as Element;

/// The types that are reduced here.
pub const ELEMENTS: [Element; 3] = [Element::F32, Element::F16, Element::Bf16];

/// Bytes of one element.
#[must_use]
pub fn width(element: Element) -> usize {
    usize::try_from(element.bytes()).unwrap_or(usize::MAX)
}

/// Writes values in the machine's byte order, each rounded to the nearest, ties to even. As many as both have; none of a type that is
/// not one of [`ELEMENTS`].
#[inline]
pub fn encode(element: Element, values: &[f32], bytes: &mut [u8]) {
    match element {
        Element::F32 => put(values, bytes, |value| value.to_ne_bytes()),
        Element::F16 => put(values, bytes, |value| f16_bits(value).to_ne_bytes()),
        Element::Bf16 => put(values, bytes, |value| bf16_bits(value).to_ne_bytes()),
        Element::F8E4m3 | Element::F8E5m2 => {}
    }
}

/// Reads values in the machine's byte order, without loss. As many as [`encode`] writes.
#[inline]
pub fn decode(element: Element, bytes: &[u8], values: &mut [f32]) {
    match element {
        Element::F32 => take(bytes, values, f32::from_ne_bytes),
        Element::F16 => take(bytes, values, |word| f16_value(u16::from_ne_bytes(word))),
        Element::Bf16 => take(bytes, values, |word| bf16_value(u16::from_ne_bytes(word))),
        Element::F8E4m3 | Element::F8E5m2 => {}
    }
}

fn put<const N: usize>(values: &[f32], bytes: &mut [u8], word: impl Fn(f32) -> [u8; N]) {
    for (value, bytes) in values.iter().zip(bytes.as_chunks_mut().0) {
        *bytes = word(*value);
    }
}

fn take<const N: usize>(bytes: &[u8], values: &mut [f32], value_of: impl Fn([u8; N]) -> f32) {
    for (value, bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = value_of(*bytes);
    }
}

#[inline]
fn bf16_value(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Round to nearest even by adding just under half of the last kept bit; a NaN keeps its sign and becomes quiet.
#[inline]
fn bf16_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let upper = (bits >> 16) as u16;
    if value.is_nan() {
        return upper | 0x0040;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[inline]
fn f16_value(bits: u16) -> f32 {
    /// 2^112: moves an exponent with bias 15 to bias 127, and makes subnormals normal.
    const REBIAS: f32 = f32::from_bits((127 + 112) << 23);
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let scaled = (f32::from_bits(magnitude) * REBIAS).to_bits();
    // Infinity and NaN have the largest exponent in both types.
    let special = if bits & 0x7c00 == 0x7c00 {
        0x7f80_0000
    } else {
        0
    };
    f32::from_bits(sign | scaled | special)
}

/// Round to nearest even; beyond the largest value infinity, below the smallest normal in steps of 2^-24.
#[inline]
fn f16_bits(value: f32) -> u16 {
    /// From here on a value rounds to infinity: halfway between 65504 and 65536.
    const OVERFLOW: f32 = 65520.0;
    /// The smallest normal, 2^-14.
    const NORMAL: f32 = f32::from_bits((127 - 14) << 23);
    /// With exponent of this number the last bit of a binary32 is worth 2^-24.
    const STEP: f32 = 0.5;
    let sign = (value.to_bits() >> 16 & 0x8000) as u16;
    let magnitude = value.abs();
    let bits = magnitude.to_bits();
    let rounded = if magnitude.is_nan() {
        0x7e00 | (bits >> 13 & 0x3ff)
    } else if magnitude >= OVERFLOW {
        0x7c00
    } else if magnitude < NORMAL {
        // The sum is rounded where a subnormal must be, by the processor.
        (magnitude + STEP).to_bits() - STEP.to_bits()
    } else {
        // The exponent goes from bias 127 to bias 15; a carry out of the fraction belongs into it.
        (bits - (112 << 23) + 0xfff + (bits >> 13 & 1)) >> 13
    };
    sign | rounded as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of finite binary16 bits by the definition in IEEE 754: sign, power of two, fraction of 10 bits.
    fn f16_by_definition(bits: u16) -> f64 {
        let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
        let (exponent, fraction) = (
            i32::from(bits >> 10 & 0x1f),
            f64::from(bits & 0x3ff) / 1024.0,
        );
        if exponent == 0 {
            sign * fraction * 2f64.powi(-14)
        } else {
            sign * (1.0 + fraction) * 2f64.powi(exponent - 15)
        }
    }

    #[test]
    fn every_f16_has_the_value_of_its_definition_and_comes_back() {
        for bits in 0..=u16::MAX {
            let value = f16_value(bits);
            if bits & 0x7c00 != 0x7c00 {
                assert_eq!(f64::from(value), f16_by_definition(bits), "{bits:04x}");
                assert_eq!(f16_bits(value), bits, "{bits:04x}");
            } else if bits & 0x3ff == 0 {
                assert!(value.is_infinite() && value.is_sign_negative() == (bits & 0x8000 != 0));
                assert_eq!(f16_bits(value), bits);
            } else {
                assert!(
                    value.is_nan() && f16_value(f16_bits(value)).is_nan(),
                    "{bits:04x}"
                );
            }
        }
    }

    #[test]
    fn between_two_f16_the_nearer_is_taken_and_the_even_one_in_the_middle() {
        for lower in 0..0x7bff_u16 {
            let (below, above) = (f16_by_definition(lower), f16_by_definition(lower + 1));
            // Neighbours have 11 significant bits, so that their middle is exact in 24.
            let middle = (0.5 * (below + above)) as f32;
            let even = if lower % 2 == 0 { lower } else { lower + 1 };
            let next = |step: i32| f32::from_bits(middle.to_bits().wrapping_add_signed(step));
            let got = [next(-1), middle, next(1)].map(f16_bits);
            assert_eq!(got, [lower, even, lower + 1], "{middle}");
            assert_eq!(f16_bits(-middle), even | 0x8000);
        }
        // 65504 is the largest; 65520 lies in the middle of it and the power of two that there would be next.
        let at_the_end = [65504.0, 65519.99, 65520.0, f32::MAX].map(f16_bits);
        assert_eq!(at_the_end, [0x7bff, 0x7bff, 0x7c00, 0x7c00]);
    }

    #[test]
    fn a_bf16_is_rounded_to_the_nearest_and_to_even() {
        for (bits, rounded) in [
            (0x3f80_0000_u32, 0x3f80_u16), // 1.0
            (0x3f80_8000, 0x3f80),         // a tie, 3f80 is even
            (0x3f81_8000, 0x3f82),         // a tie, 3f82 is even
            (0x3f80_8001, 0x3f81),         // above a tie
            (0x3f80_7fff, 0x3f80),         // below one
            (0x7f7f_ffff, 0x7f80),         // the largest f32 rounds to infinity
            (0x8000_0001, 0x8000),         // the smallest negative to -0
            (0xff80_0000, 0xff80),         // -infinity
        ] {
            assert_eq!(bf16_bits(f32::from_bits(bits)), rounded, "{bits:08x}");
        }
        // A NaN whose fraction is in the lower half only must not become infinity.
        assert!(bf16_value(bf16_bits(f32::from_bits(0x7f80_0001))).is_nan());
    }

    #[test]
    fn values_are_written_and_read_in_every_type() {
        for element in ELEMENTS {
            let mut bytes = vec![0; 3 * width(element)];
            encode(element, &[1.5, -2.0, 96.0], &mut bytes);
            let mut values = [0.0; 3];
            decode(element, &bytes, &mut values);
            assert_eq!(values, [1.5, -2.0, 96.0], "{element:?}");
        }
    }
}
