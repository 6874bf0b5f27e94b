//! Floating point in 8 bits: OCP OFP8 E4M3 and E5M2 (OCP 8-bit Floating Point Specification, revision 1.0).

/// A layout of 8 bits: a sign, an exponent and a fraction.
pub(super) struct Eight {
    /// Bits of the fraction.
    fraction: u32,
    /// What is subtracted from the exponent.
    bias: i32,
    /// The largest finite value.
    largest: f32,
    /// Bits of what is larger: infinity, or not-a-number where there is none.
    beyond: u8,
    /// Bits of a not-a-number.
    nan: u8,
}

/// 4 bits of exponent and 3 of fraction; no infinity, and the one not-a-number has all bits set.
pub(super) const E4M3: Eight = Eight {
    fraction: 3,
    bias: 7,
    largest: 448.0,
    beyond: 0x7f,
    nan: 0x7f,
};

/// 5 bits of exponent and 2 of fraction, with infinity and not-a-number as IEEE 754 has them.
pub(super) const E5M2: Eight = Eight {
    fraction: 2,
    bias: 15,
    largest: 57344.0,
    beyond: 0x7c,
    nan: 0x7e,
};

impl Eight {
    /// The value of these bits.
    pub(super) fn value(&self, bits: u8) -> f32 {
        let magnitude = bits & 0x7f;
        let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
        if magnitude == self.beyond && self.beyond != self.nan {
            return sign * f32::INFINITY;
        }
        if magnitude >= self.beyond {
            return f32::NAN;
        }
        sign * self.finite(magnitude)
    }

    fn finite(&self, magnitude: u8) -> f32 {
        let steps = 1_u32 << self.fraction;
        let exponent = i32::from(magnitude >> self.fraction);
        let part = u32::from(magnitude) & (steps - 1);
        let (whole, exponent) = if exponent == 0 {
            (0, 1)
        } else {
            (steps, exponent)
        };
        #[expect(clippy::cast_precision_loss, reason = "16 at most")]
        let fraction = (whole + part) as f32;
        #[expect(clippy::cast_possible_wrap, reason = "3 at most")]
        let power = exponent - self.bias - self.fraction as i32;
        fraction * f32::powi(2.0, power)
    }

    /// The nearest value, ties to even; what lies beyond the largest by half a step or more has the bits for it.
    pub(super) fn bits(&self, value: f32) -> u8 {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        if value.is_nan() {
            return sign | self.nan;
        }
        let magnitude = value.abs();
        // Magnitudes ascend with their bits: the first that is not below.
        let (mut low, mut high) = (0_u8, self.top());
        if magnitude >= self.largest {
            let below = self.finite(high - 1);
            let half = self.largest + (self.largest - below) / 2.0;
            let is_beyond = magnitude > half || (magnitude == half && high % 2 == 1);
            return sign | if is_beyond { self.beyond } else { high };
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.finite(middle) < magnitude {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == 0 {
            return sign;
        }
        let (above, below) = (
            self.finite(low) - magnitude,
            magnitude - self.finite(low - 1),
        );
        let takes_lower = below < above || (below == above && low % 2 == 1);
        sign | if takes_lower { low - 1 } else { low }
    }

    /// Bits of the largest finite value.
    fn top(&self) -> u8 {
        self.beyond - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bits_have_the_values_of_the_specification() {
        // OFP8, tables 1 and 2: largest, smallest normal, smallest subnormal, one.
        for (bits, value) in [
            (0x7e, 448.0),
            (0x08, 2f32.powi(-6)),
            (0x01, 2f32.powi(-9)),
            (0x38, 1.0),
            (0xb8, -1.0),
        ] {
            assert_eq!(E4M3.value(bits), value, "{bits:02x}");
        }
        for (bits, value) in [
            (0x7b, 57344.0),
            (0x04, 2f32.powi(-14)),
            (0x01, 2f32.powi(-16)),
            (0x3c, 1.0),
            (0xfc, f32::NEG_INFINITY),
        ] {
            assert_eq!(E5M2.value(bits), value, "{bits:02x}");
        }
        assert!(E4M3.value(0x7f).is_nan() && E5M2.value(0x7d).is_nan());
    }

    #[test]
    fn every_value_comes_back_and_between_two_the_nearer_and_even_is_taken() {
        for of in [E4M3, E5M2] {
            for bits in 0..=u8::MAX {
                let value = of.value(bits);
                if value.is_nan() {
                    assert!(of.value(of.bits(value)).is_nan());
                } else if value.is_finite() {
                    assert_eq!(of.bits(value), bits, "{value}");
                }
            }
            for lower in 0..of.top() {
                let middle = (of.finite(lower) + of.finite(lower + 1)) / 2.0;
                let even = if lower % 2 == 0 { lower } else { lower + 1 };
                assert_eq!(of.bits(middle), even, "{middle}");
                assert_eq!(of.bits(-middle), even | 0x80);
            }
        }
        // Half a step beyond 448 (step 32, even) and 57344 (step 8192, odd).
        assert_eq!([464.0, 465.0].map(|value| E4M3.bits(value)), [0x7e, 0x7f]);
        assert_eq!(
            [61439.0, 61440.0].map(|value| E5M2.bits(value)),
            [0x7b, 0x7c]
        );
    }
}
