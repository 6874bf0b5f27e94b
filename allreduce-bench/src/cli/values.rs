//! Values of the command line: choices by name, which are those of records and may be written with hyphens, and the grammar of
//! `--sizes`, which is that of all programs with ranges that are denser where a library changes its protocol.

use std::fmt::Display;
use std::ops::Range;

use clap::ValueEnum;
use program::command_line::Sizes;
use record::CollectiveKind;
use record::unit::{ByteCount, SizeError, parse_sizes};

/// A serving engine by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
}

/// The operations that one word names.
#[derive(Debug, Clone)]
pub(crate) struct Kinds(pub(crate) Vec<CollectiveKind>);

/// One of several by its name.
pub(crate) fn one_of<T: Display + Copy>(all: &[T], name: &str) -> Result<T, String> {
    let is_it = |one: &&T| one.to_string() == name.replace('-', "_");
    all.iter().find(is_it).copied().ok_or_else(|| {
        let names: Vec<String> = all.iter().map(T::to_string).collect();
        format!("one of {}", names.join(", "))
    })
}

/// Operations that are measured, for clap.
pub(super) fn kinds(name: &str) -> Result<Kinds, String> {
    use CollectiveKind::{AllGather, AllReduce, ReduceScatter};
    let all = [AllReduce, AllGather, ReduceScatter];
    match name {
        "all" => Ok(Kinds(all.to_vec())),
        _ => one_of(&all, name).map(|kind| Kinds(vec![kind])),
    }
}

/// Where a range has a size between two powers of two: from 16 KiB to 1 MiB libraries change algorithm and protocol, and decoding of
/// few sequences sends such sizes.
const DENSE: Range<u64> = 16 << 10..1 << 20;

/// A size between two powers of two is a multiple of this many bytes, which whole elements of every type make up.
const WHOLE: u64 = 16;

/// Parses sizes, lists and ranges, for clap; a list stays as it is.
///
/// # Errors
/// Says what is wrong with the text.
pub(crate) fn message_sizes(text: &str) -> Result<Sizes, String> {
    dense(text).map(Sizes).map_err(|error| error.to_string())
}

fn dense(text: &str) -> Result<Vec<ByteCount>, SizeError> {
    let mut sizes = parse_sizes(text)?;
    for range in text.split(',').filter(|part| part.contains("..")) {
        let Some((_, end)) = range.split_once("..") else {
            continue;
        };
        let end: ByteCount = end.parse()?;
        let doubled = parse_sizes(range)?;
        let between = doubled
            .iter()
            .filter(|size| DENSE.contains(&size.0))
            .map(|size| half_an_octave_above(*size));
        sizes.extend(between.filter(|size| *size <= end));
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// The square root of 2 times as many bytes, to the nearest multiple of [`WHOLE`].
fn half_an_octave_above(size: ByteCount) -> ByteCount {
    let root = (2 * size.0 * size.0).isqrt();
    ByteCount((root + WHOLE / 2) / WHOLE * WHOLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Vec<u64> {
        let sizes = message_sizes(text).unwrap().0;
        sizes.into_iter().map(|size| size.0).collect()
    }

    #[test]
    fn a_range_has_two_sizes_an_octave_from_16_kib_to_1_mib() {
        // 16384 * 1.41421 = 23170.5, whose nearest multiple of 16 is 1448 * 16 = 23168; 32768 * 1.41421 = 46340.95: 2896 * 16 = 46336.
        assert_eq!(sizes("8K..64K"), [8192, 16384, 23168, 32768, 46336, 65536]);
        // From 16 KiB to 1 MiB are 6 octaves: 7 powers of two and 6 sizes between; 8 B to 8 MiB are 21 powers of two.
        assert_eq!(sizes("16K..1M").len(), 13);
        assert_eq!(sizes("8..8M").len(), 27);
        // 2 MiB * 1.41421 would be beyond 1 MiB.
        assert_eq!(sizes("1M..4M"), [1 << 20, 2 << 20, 4 << 20]);
        for size in sizes("8..8M").iter().filter(|size| !size.is_power_of_two()) {
            assert!(size.is_multiple_of(16), "{size}");
        }
    }
}
