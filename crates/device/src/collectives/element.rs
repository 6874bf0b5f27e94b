//! The element types of collectives and their bytes: what a value is in memory, and how a sum is rounded to it.

use half::{bf16, f16};
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
pub fn encode(element: Element, values: &[f32], bytes: &mut [u8]) {
    match element {
        Element::F32 => put(values, bytes, f32::to_ne_bytes),
        Element::F16 => put(values, bytes, |value| f16::from_f32(value).to_ne_bytes()),
        Element::Bf16 => put(values, bytes, |value| bf16::from_f32(value).to_ne_bytes()),
        Element::F8E4m3 | Element::F8E5m2 => {}
    }
}

/// Reads values in the machine's byte order, without loss. As many as [`encode`] writes.
pub fn decode(element: Element, bytes: &[u8], values: &mut [f32]) {
    match element {
        Element::F32 => take(bytes, values, f32::from_ne_bytes),
        Element::F16 => take(bytes, values, |word| f16::from_ne_bytes(word).to_f32()),
        Element::Bf16 => take(bytes, values, |word| bf16::from_ne_bytes(word).to_f32()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_and_read_in_every_type() {
        for element in ELEMENTS {
            let mut bytes = vec![0; 3 * width(element)];
            encode(element, &[1.5, -2.0, 96.0], &mut bytes);
            let mut values = [0.0; 3];
            decode(element, &bytes, &mut values);
            assert_eq!(values, [1.5, -2.0, 96.0], "{element:?}");
        }
        // A tie goes to the even neighbour: 2049 lies between 2048 and 2050, and bf16 has 8 bits.
        let mut bytes = [0; 2];
        encode(Element::F16, &[2049.0], &mut bytes);
        let mut value = [0.0];
        decode(Element::F16, &bytes, &mut value);
        assert_eq!(value, [2048.0]);
        encode(Element::Bf16, &[257.0], &mut bytes);
        decode(Element::Bf16, &bytes, &mut value);
        assert_eq!(value, [256.0]);
    }
}
