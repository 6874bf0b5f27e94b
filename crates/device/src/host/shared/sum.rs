//! Adding up what the ranks contributed: in f32, in the order given, rounded once.
//!
//! A line of the cache at a time, from where it lies to where it goes, so that nothing is copied on the way. The loops over a
//! line have fixed lengths and no branches: the compiler makes vectors of them.

use super::ffi::Range;
use crate::collectives::Element;

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Writes the sum of as many bytes as the target has, of all sources, to the target.
///
/// The target may be one of the sources: each line is read from all before it is written.
pub(super) fn add_up(element: Element, sources: &[Range<'_>], target: &Range<'_>) {
    // Each arm is compiled for its element.
    match element {
        Element::F32 => lines::<16>(Element::F32, sources, target),
        Element::F16 => lines::<32>(Element::F16, sources, target),
        Element::Bf16 => lines::<32>(Element::Bf16, sources, target),
    }
}

/// `LANES` elements are a line.
#[inline(always)]
fn lines<const LANES: usize>(element: Element, sources: &[Range<'_>], target: &Range<'_>) {
    let Some((first, rest)) = sources.split_first() else {
        return;
    };
    let bytes = target.bytes();
    let whole = bytes - bytes % LINE;
    for at in (0..whole).step_by(LINE) {
        piece::<LINE, LANES>(element, first, rest, target, at);
    }
    match element.bytes() {
        4 => (whole..bytes)
            .step_by(4)
            .for_each(|at| piece::<4, 1>(element, first, rest, target, at)),
        _ => (whole..bytes)
            .step_by(2)
            .for_each(|at| piece::<2, 1>(element, first, rest, target, at)),
    }
}

#[inline(always)]
fn piece<const BYTES: usize, const LANES: usize>(
    element: Element,
    first: &Range<'_>,
    rest: &[Range<'_>],
    target: &Range<'_>,
    at: usize,
) {
    let mut sums = [0.0; LANES];
    element.decode(&first.get::<BYTES>(at), &mut sums);
    for source in rest {
        element.add(&source.get::<BYTES>(at), &mut sums);
    }
    let mut bytes = [0; BYTES];
    element.encode(&sums, &mut bytes);
    target.set(at, bytes);
}
