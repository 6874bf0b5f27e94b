//! Floating types of 8 bits (Open Compute Project, OFP8): the numbers of their bits, and the nearest bits of a number.

/// A type of a sign, an exponent and a fraction.
pub(crate) struct Eight {
    /// Bits of the fraction.
    fraction: u32,
    /// What the exponent's bits are more than the exponent.
    bias: u32,
    /// The bits above those of the largest number: of infinity, or of no number where there is none.
    beyond: u32,
    /// Whether those are infinity's.
    has_infinity: bool,
}

/// Four bits of exponent; all bits set are no number, and there is no infinity.
pub(crate) const E4M3: Eight = Eight {
    fraction: 3,
    bias: 7,
    beyond: 0x7f,
    has_infinity: false,
};

/// Five bits of exponent, and all else as IEEE 754 has it.
pub(crate) const E5M2: Eight = Eight {
    fraction: 2,
    bias: 15,
    beyond: 0x7c,
    has_infinity: true,
};

impl Eight {
    /// The number of some bits.
    pub(crate) fn read(&self, byte: u8) -> f32 {
        let bits = u32::from(byte & 0x7f);
        let magnitude = if bits == self.beyond && self.has_infinity {
            f32::INFINITY
        } else if bits >= self.beyond {
            f32::NAN
        } else if bits >> self.fraction == 0 {
            bits as f32 * self.step()
        } else {
            // The exponent and the fraction stand side by side as in binary32.
            f32::from_bits((bits << (23 - self.fraction)) + ((127 - self.bias) << 23))
        };
        if byte & 0x80 == 0 {
            magnitude
        } else {
            -magnitude
        }
    }

    /// The nearest bits, ties to even. What is nearer to the number that would follow the largest becomes infinity, or no number
    /// where there is none.
    pub(crate) fn round(&self, value: f32) -> u8 {
        let sign = (value.to_bits() >> 24) as u8 & 0x80;
        let magnitude = value.abs();
        let bits = magnitude.to_bits();
        let rounded = if value.is_nan() {
            0x7f
        } else if magnitude < self.step() * (1 << self.fraction) as f32 {
            (magnitude / self.step()).round_ties_even() as u32
        } else {
            let dropped = 23 - self.fraction;
            // Half of the last kept bit less one, and one more where that bit is set; a carry goes into the exponent.
            let even =
                u64::from(bits) + ((1 << (dropped - 1)) - 1) + u64::from(bits >> dropped & 1);
            let kept = (even >> dropped) as u32 - ((127 - self.bias) << self.fraction);
            kept.min(self.beyond)
        };
        sign | rounded as u8
    }

    /// The smallest number above 0, of which those without a leading one are multiples.
    fn step(&self) -> f32 {
        f32::from_bits((127 + 1 - self.bias - self.fraction) << 23)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_have_the_numbers_of_the_standard() {
        // OFP8 table 1. E4M3: 448 = 1.75 x 2^8 is the largest, 2^-9 the smallest; E5M2: 57344 = 1.75 x 2^15, 2^-16.
        let numbers = |format: &Eight, bits: [u8; 5]| bits.map(|byte| format.read(byte));
        assert_eq!(
            numbers(&E4M3, [0x7e, 0x01, 0x08, 0x38, 0xc0]),
            [448.0, 1.0 / 512.0, 1.0 / 64.0, 1.0, -2.0]
        );
        assert_eq!(
            numbers(&E5M2, [0x7b, 0x01, 0x04, 0x3c, 0xc0]),
            [57344.0, 1.0 / 65536.0, 1.0 / 16384.0, 1.0, -2.0]
        );
        assert_eq!(E5M2.read(0xfc), f32::NEG_INFINITY);
        assert!(E4M3.read(0x7f).is_nan() && E4M3.read(0xff).is_nan() && E5M2.read(0x7d).is_nan());
    }

    #[test]
    fn every_number_comes_back() {
        for format in [E4M3, E5M2] {
            for byte in 0..=u8::MAX {
                let value = format.read(byte);
                if !value.is_nan() {
                    assert_eq!(format.round(value), byte, "{value}");
                }
            }
        }
    }

    #[test]
    fn numbers_between_go_to_the_nearest_and_to_even() {
        // Steps of E4M3 are 2 from 16 on: 17 is a tie and goes to 16 = 0x58, 19 to 20 = 0x5a; 21.5 to 22 = 0x5b.
        assert_eq!(
            [17.0, 19.0, 21.5].map(|value| E4M3.round(value)),
            [0x58, 0x5a, 0x5b]
        );
        // 464 is in the middle of 448 and 480, which is none: to even, 448; more is no number.
        assert_eq!(
            [464.0, 465.0, 1e9].map(|value| E4M3.round(value)),
            [0x7e, 0x7f, 0x7f]
        );
        // Half of the smallest goes to 0, more to the smallest.
        let (half, more) = (1.0 / 1024.0, 1.1 / 1024.0);
        assert_eq!(
            [half, more, -more].map(|value| E4M3.round(value)),
            [0, 1, 0x81]
        );
        // Steps of E5M2 are 4 from 16 on: 18 is a tie and goes to 16 = 0x4c, 22 to 24 = 0x4e; 61440 goes to infinity.
        assert_eq!(
            [18.0, 22.0, 61440.0].map(|value| E5M2.round(value)),
            [0x4c, 0x4e, 0x7c]
        );
        assert!(E5M2.read(E5M2.round(f32::NAN)).is_nan());
    }
}
