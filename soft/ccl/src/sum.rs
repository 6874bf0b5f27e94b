//! The element types that are summed, and adding up what the ranks bring: in binary32, in the order of the ranks, rounded once to the
//! nearest, ties to even.
#![expect(unsafe_code, reason = "reads and writes device and shared memory")]

use half::{bf16, f16};

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
}

/// Writes to one place the sum of as many bytes, whole elements, of each source.
///
/// # Safety
/// Every source is aligned to its elements and valid for reading so many bytes and the target for writing them, and nobody writes the
/// sources meanwhile. The target overlaps none of them.
pub(crate) unsafe fn add_up(element: Element, sources: &[*const u8], to: *mut u8, bytes: usize) {
    match element {
        // SAFETY: it has the width of its type, of which all bits are numbers; the caller promises the rest.
        Element::F32 => unsafe { sum(sources, to, bytes, |number| number, |sum| sum) },
        // SAFETY: as above.
        Element::F16 => unsafe { sum(sources, to, bytes, f16::to_f32, f16::from_f32) },
        // SAFETY: as above.
        Element::Bf16 => unsafe { sum(sources, to, bytes, bf16::to_f32, bf16::from_f32) },
    }
}

/// Elements whose sums are kept at a time: they stay in the cache.
const AT_ONCE: usize = 1024;

/// As [`add_up`], of one type.
///
/// # Safety
/// As [`add_up`] says.
unsafe fn sum<T: Copy>(
    sources: &[*const u8],
    to: *mut u8,
    bytes: usize,
    widen: impl Fn(T) -> f32,
    round: impl Fn(f32) -> T,
) {
    let count = bytes / size_of::<T>();
    for first in (0..count).step_by(AT_ONCE) {
        let length = AT_ONCE.min(count - first);
        // What every number stays that is added to it.
        let mut sums = [-0.0_f32; AT_ONCE];
        for source in sources {
            let part = source.cast::<T>().wrapping_add(first);
            // SAFETY: the caller promises it; `first` and what follows lie within the bytes.
            let part = unsafe { std::slice::from_raw_parts(part, length) };
            for (sum, number) in sums.iter_mut().zip(part) {
                *sum += widen(*number);
            }
        }
        for (at, sum) in (first..).zip(&sums[..length]) {
            let place = to.cast::<T>().wrapping_add(at);
            // SAFETY: as above.
            unsafe { place.write_unaligned(round(*sum)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of(element: Element, sources: &[Vec<u8>]) -> Vec<u8> {
        let places: Vec<*const u8> = sources.iter().map(|source| source.as_ptr()).collect();
        let mut to = vec![0xee; sources[0].len()];
        // SAFETY: vectors of one length, borrowed until it returns, and another one.
        unsafe { add_up(element, &places, to.as_mut_ptr(), to.len()) };
        to
    }

    #[test]
    fn lines_and_what_is_left_of_the_last_are_added_up() {
        // 37 elements: two lines of 16 and 5 more; 1 x i + 10 x i + 100 x i = 111 x i.
        let numbers = |factor: u32| {
            let of = |index| ((factor * index) as f32).to_ne_bytes();
            (0..37).flat_map(of).collect::<Vec<u8>>()
        };
        assert_eq!(
            sum_of(Element::F32, &[numbers(1), numbers(10), numbers(100)]),
            numbers(111)
        );
    }

    #[test]
    fn every_number_of_a_type_stays_at_its_place() {
        // 0..77, whole numbers that bf16 has, are a line of 32, another one and 13; twice as much is 0, 2, .. 152.
        let bf16 = |number: u16| ((f32::from(number).to_bits() >> 16) as u16).to_ne_bytes();
        let of = |factor: u16| {
            (0..77)
                .flat_map(|index| bf16(factor * index))
                .collect::<Vec<u8>>()
        };
        assert_eq!(sum_of(Element::Bf16, &[of(1), of(1)]), of(2));
    }

    #[test]
    fn a_sum_is_rounded_once_in_the_order_of_the_sources() {
        // bf16 has 8 bits of precision: 256 + 1 + 1 = 258 is one of its numbers, while 256 + 1 alone would go back to 256.
        let bf16 = |value: f32| ((value.to_bits() >> 16) as u16).to_ne_bytes().repeat(33);
        let sum = sum_of(Element::Bf16, &[bf16(256.0), bf16(1.0), bf16(1.0)]);
        assert_eq!(sum, bf16(258.0));
        // In binary32 2^24 + 1 is 2^24, so that the order shows: 2^24 + 1 - 2^24 = 0, 2^24 - 2^24 + 1 = 1.
        let f32 = |value: f32| value.to_ne_bytes().repeat(17);
        let large = 16_777_216.0;
        assert_eq!(
            sum_of(Element::F32, &[large, 1.0, -large].map(f32)),
            f32(0.0)
        );
        assert_eq!(
            sum_of(Element::F32, &[large, -large, 1.0].map(f32)),
            f32(1.0)
        );
    }

    #[test]
    fn one_source_is_its_own_sum() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(sum_of(Element::F32, std::slice::from_ref(&bytes)), bytes);
    }
}
