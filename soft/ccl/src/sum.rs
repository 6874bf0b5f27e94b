//! Adding up what the ranks bring: in binary32, in the order of the ranks, rounded once.
//!
//! A line of the cache at a time goes from where it lies to where it is wanted. The loops over a line are compiled for each type
//! with a fixed length, and but for the types of 8 bits they have no branches, so that they become vectors.
#![expect(unsafe_code, reason = "reads and writes device and shared memory")]

use crate::element::Element;

/// Bytes that are added at once.
const LINE: usize = 64;

/// What is added, and where the sum goes.
///
/// Invariant: the caller of [`add_up`] promises that what it says of these places holds.
struct Places<'a> {
    first: *const u8,
    others: &'a [*const u8],
    to: *mut u8,
}

/// Writes to one place the sum of as many bytes, whole elements, of each source.
///
/// # Safety
/// Every source is valid for reading so many bytes and the target for writing them, and nobody writes the sources meanwhile. The
/// target overlaps none of them.
pub(crate) unsafe fn add_up(element: Element, sources: &[*const u8], to: *mut u8, bytes: usize) {
    let Some((first, others)) = sources.split_first() else {
        return;
    };
    let places = Places {
        first: *first,
        others,
        to,
    };
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor was asked.
        unsafe { add_all_avx2(&places, element, bytes) };
        return;
    }
    places.add_all(element, bytes);
}

/// As [`Places::add_all`], with the wider vectors of processors that have them.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_all_avx2(places: &Places<'_>, element: Element, bytes: usize) {
    places.add_all(element, bytes);
}

impl Places<'_> {
    /// Each arm is compiled for its type.
    #[inline(always)]
    fn add_all(&self, element: Element, bytes: usize) {
        match element {
            Element::F32 => self.add_lines::<16, 4>(Element::F32, bytes),
            Element::F16 => self.add_lines::<32, 2>(Element::F16, bytes),
            Element::Bf16 => self.add_lines::<32, 2>(Element::Bf16, bytes),
        }
    }

    /// `LANES` elements are a line, `WIDTH` bytes an element.
    #[inline(always)]
    fn add_lines<const LANES: usize, const WIDTH: usize>(&self, element: Element, bytes: usize) {
        let whole = bytes - bytes % LINE;
        for at in (0..whole).step_by(LINE) {
            self.add::<LINE, LANES>(element, at);
        }
        for at in (whole..bytes).step_by(WIDTH) {
            self.add::<WIDTH, 1>(element, at);
        }
    }

    #[inline(always)]
    fn add<const BYTES: usize, const LANES: usize>(&self, element: Element, at: usize) {
        let mut sum = [0.0; LANES];
        element.read(&read::<BYTES>(self.first, at), &mut sum);
        for other in self.others {
            element.add(&read::<BYTES>(*other, at), &mut sum);
        }
        let mut bytes = [0; BYTES];
        element.write(&sum, &mut bytes);
        // SAFETY: the invariant; `at` and what follows lie within the bytes that the caller named.
        unsafe {
            self.to
                .wrapping_add(at)
                .cast::<[u8; BYTES]>()
                .write_unaligned(bytes)
        };
    }
}

/// Some bytes of a source of [`Places`].
#[inline(always)]
fn read<const BYTES: usize>(source: *const u8, at: usize) -> [u8; BYTES] {
    // SAFETY: the invariant; `at` and what follows lie within the bytes that the caller named.
    unsafe {
        source
            .wrapping_add(at)
            .cast::<[u8; BYTES]>()
            .read_unaligned()
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
