//! The functions that a library's file exports, of which the shim must not miss one without a word.
//!
//! Read from the file: the loader has no way to list them. Of ELF only what is needed: 64 bits, little-endian.

use crate::table::Library;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The names that shims forward, without prefix.
const KNOWN: &[&[&str]] = &[
    crate::names! { nccl list! { } },
    crate::names! { rccl list! { } },
    crate::names! { mccl list! { } },
];

/// The names of rows.
#[doc(hidden)]
#[macro_export]
macro_rules! list {
    (; $($name:literal => $answer:ident $(, $operation:ident at $stream_at:literal)?;)+) => {
        &[$($name),+]
    };
}

/// The functions under the library's prefix that a file exports and the shim does not have; none where the file cannot be read.
pub(crate) fn unknown(file: &Path, library: &Library) -> Vec<String> {
    let exported = functions(file).unwrap_or_default();
    let is_unknown = |name: &String| {
        let plain = name.strip_prefix('p').unwrap_or(name);
        let end = plain.strip_prefix(library.prefix);
        end.is_some_and(|end| !KNOWN.iter().any(|list| list.contains(&end)))
    };
    exported.into_iter().filter(is_unknown).collect()
}

/// Names of functions in the dynamic symbols of a file (elf.h: Elf64_Ehdr, Elf64_Shdr, Elf64_Sym).
fn functions(file: &Path) -> Option<BTreeSet<String>> {
    const DYNAMIC_SYMBOLS: u64 = 11;
    let file = File::open(file).ok()?;
    let header = read(&file, 0, 64)?;
    if header.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (sections, size, count) = (
        number(&header, 0x28, 8)?,
        number(&header, 0x3a, 2)?,
        number(&header, 0x3c, 2)?,
    );
    let table = read(&file, sections, size * count)?;
    let section = |index: u64| {
        let start = usize::try_from(index * size).ok()?;
        table.get(start..)?.get(..usize::try_from(size).ok()?)
    };
    let symbols = (0..count)
        .filter_map(section)
        .find(|found| number(found, 4, 4) == Some(DYNAMIC_SYMBOLS))?;
    let names = section(number(symbols, 0x28, 4)?)?;
    let content =
        |section: &[u8]| read(&file, number(section, 0x18, 8)?, number(section, 0x20, 8)?);
    let (symbols, names) = (content(symbols)?, content(names)?);
    let exported = symbols.chunks_exact(24).filter_map(|symbol| {
        // STT_FUNC, or STT_GNU_IFUNC; a symbol of section 0 is only used.
        let kind = symbol[4] & 15;
        let is_defined = number(symbol, 6, 2)? != 0;
        let name = names.get(usize::try_from(number(symbol, 0, 4)?).ok()?..)?;
        let name = name.split(|byte| *byte == 0).next()?;
        ((kind == 2 || kind == 10) && is_defined)
            .then(|| String::from_utf8_lossy(name).into_owned())
    });
    Some(exported.collect())
}

fn read(file: &File, at: u64, bytes: u64) -> Option<Vec<u8>> {
    // A table of symbols is far smaller; a header that says more is broken.
    let bytes = usize::try_from(bytes)
        .ok()
        .filter(|bytes| *bytes <= 64 << 20)?;
    let mut read = vec![0; bytes];
    file.read_exact_at(&mut read, at).ok()?;
    Some(read)
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.get(..width)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    )
}
