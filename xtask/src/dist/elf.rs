//! What a built file needs of the machine that it runs on, read from the file itself: versions of the C library, other libraries, and the
//! page size that its segments are laid out for.
//!
//! Only what the supported targets have is read: ELF of 64 bits, least byte first (System V ABI; Linux Standard Base, "Symbol Versioning").

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

/// `sh_type` of a section of needed versions, `SHT_GNU_verneed`.
const NEEDED_VERSIONS: u32 = 0x6fff_fffe;
/// `sh_type` of the dynamic section.
const DYNAMIC: u32 = 6;
/// `d_tag` of a needed library.
const NEEDED: u64 = 1;
/// `p_type` of a segment that is loaded.
const LOAD: u32 = 1;
/// `vna_flags` of a version without which a program still starts.
const WEAK: u16 = 2;
/// Names of versions that are no number, with the glibc that has them first (its NEWS files).
const NAMED: &[(&str, Version)] = &[
    ("ABI_DT_RELR", (2, 36, 0)),
    ("ABI_DT_X86_64_PLT", (2, 42, 0)),
];

/// A version of glibc.
type Version = (u32, u32, u32);

/// What files need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Needs {
    /// The oldest glibc that has all of it; `None` where no version is asked for.
    pub(super) glibc: Option<Version>,
    /// Libraries that the loader must find.
    pub(super) libraries: BTreeSet<String>,
    /// The largest page that the segments allow, in bytes.
    pub(super) page_bytes: u64,
}

impl Needs {
    /// What all of these files need together.
    pub(super) fn of_all(files: &[PathBuf]) -> Result<Self> {
        let mut all: Option<Self> = None;
        for file in files {
            let bytes =
                fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
            let one = Self::of(&bytes)
                .with_context(|| format!("{} is not understood", file.display()))?;
            all = Some(match all {
                None => one,
                Some(all) => Self {
                    glibc: all.glibc.max(one.glibc),
                    libraries: all.libraries.union(&one.libraries).cloned().collect(),
                    page_bytes: all.page_bytes.min(one.page_bytes),
                },
            });
        }
        all.context("nothing was built")
    }

    /// What one file needs.
    fn of(bytes: &[u8]) -> Result<Self> {
        if bytes.get(..6) != Some(b"\x7fELF\x02\x01") {
            bail!("it is no ELF file of 64 bits, least byte first");
        }
        let file = Elf(bytes);
        let mut needs = Self {
            glibc: None,
            libraries: BTreeSet::new(),
            page_bytes: file.page_bytes()?,
        };
        let sections = file.sections()?;
        for section in &sections {
            let texts = sections
                .get(section.link as usize)
                .map_or(0, |texts| texts.offset);
            match section.kind {
                NEEDED_VERSIONS => {
                    for name in file.versions(section, texts)? {
                        needs.glibc = needs.glibc.max(version(&name)?);
                    }
                }
                DYNAMIC => needs.libraries.extend(file.needed(section, texts)?),
                _ => {}
            }
        }
        Ok(needs)
    }

    /// As a reader reads it.
    pub(super) fn words(&self) -> String {
        let glibc = self.glibc_text().map_or_else(
            || "no particular glibc".to_owned(),
            |version| format!("glibc {version} or newer"),
        );
        format!("{glibc}, pages of at most {} KiB", self.page_bytes >> 10)
    }

    /// The oldest glibc as it is written.
    pub(super) fn glibc_text(&self) -> Option<String> {
        self.glibc.map(|version| match version {
            (major, minor, 0) => format!("{major}.{minor}"),
            (major, minor, patch) => format!("{major}.{minor}.{patch}"),
        })
    }
}

/// The glibc that a version's name asks for; `None` for one of another library.
fn version(name: &str) -> Result<Option<Version>> {
    let Some(rest) = name.strip_prefix("GLIBC_") else {
        return Ok(None);
    };
    if let Some((_, version)) = NAMED.iter().find(|(named, _)| *named == rest) {
        return Ok(Some(*version));
    }
    let parts: Result<Vec<u32>, _> = rest.split('.').map(str::parse).collect();
    match parts.as_deref() {
        Ok([major, minor]) => Ok(Some((*major, *minor, 0))),
        Ok([major, minor, patch]) => Ok(Some((*major, *minor, *patch))),
        _ => bail!("it needs {name}, of which nobody here knows the glibc; add it to NAMED"),
    }
}

struct Elf<'a>(&'a [u8]);

struct Section {
    kind: u32,
    offset: usize,
    size: usize,
    link: u32,
}

impl Elf<'_> {
    fn sections(&self) -> Result<Vec<Section>> {
        let (start, size, count) = (self.u64(0x28)?, self.u16(0x3a)?, self.u16(0x3c)?);
        (0..usize::from(count))
            .map(|index| {
                let at = usize::try_from(start)? + index * usize::from(size);
                Ok(Section {
                    kind: self.u32(at + 4)?,
                    offset: usize::try_from(self.u64(at + 0x18)?)?,
                    size: usize::try_from(self.u64(at + 0x20)?)?,
                    link: self.u32(at + 0x28)?,
                })
            })
            .collect()
    }

    /// The smallest alignment of the segments that are loaded: a larger page could not hold two of them apart.
    fn page_bytes(&self) -> Result<u64> {
        let (start, size, count) = (self.u64(0x20)?, self.u16(0x36)?, self.u16(0x38)?);
        let mut least: Option<u64> = None;
        for index in 0..usize::from(count) {
            let at = usize::try_from(start)? + index * usize::from(size);
            if self.u32(at)? == LOAD {
                let align = self.u64(at + 0x30)?;
                least = Some(least.map_or(align, |least| least.min(align)));
            }
        }
        least.context("it has no segment to load")
    }

    /// Names of the versions without which the file does not start.
    fn versions(&self, section: &Section, texts: usize) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let mut library = section.offset;
        loop {
            let mut at = library + self.u32(library + 8)? as usize;
            for _ in 0..self.u16(library + 2)? {
                if self.u16(at + 4)? & WEAK == 0 {
                    names.push(self.text(texts + self.u32(at + 8)? as usize)?);
                }
                at += self.u32(at + 12)? as usize;
            }
            match self.u32(library + 12)? {
                0 => return Ok(names),
                next => library += next as usize,
            }
        }
    }

    fn needed(&self, section: &Section, texts: usize) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for at in (section.offset..section.offset + section.size).step_by(16) {
            if self.u64(at)? == NEEDED {
                names.push(self.text(texts + usize::try_from(self.u64(at + 8)?)?)?);
            }
        }
        Ok(names)
    }

    fn text(&self, at: usize) -> Result<String> {
        let rest = self.0.get(at..).context("a name lies beyond its end")?;
        let end = rest
            .iter()
            .position(|byte| *byte == 0)
            .context("a name does not end")?;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    fn bytes<const N: usize>(&self, at: usize) -> Result<[u8; N]> {
        let found = self
            .0
            .get(at..at + N)
            .and_then(|found| found.try_into().ok());
        found.context("it ends too early")
    }

    fn u16(&self, at: usize) -> Result<u16> {
        self.bytes(at).map(u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> Result<u32> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> Result<u64> {
        self.bytes(at).map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn versions_are_ordered_as_numbers_and_unknown_names_are_refused() {
        assert_eq!(version("GLIBC_2.2.5").unwrap(), Some((2, 2, 5)));
        assert!(version("GLIBC_2.34").unwrap() > version("GLIBC_2.4").unwrap());
        assert_eq!(version("GLIBC_ABI_DT_RELR").unwrap(), Some((2, 36, 0)));
        assert_eq!(version("GCC_3.0").unwrap(), None);
        assert!(version("GLIBC_PRIVATE").is_err());
    }

    #[test]
    fn what_is_no_elf_file_is_refused_at_every_length() {
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        for end in [0, 5, 6, 63, 64, own.len() / 2] {
            assert!(Needs::of(&own[..end]).is_err(), "{end}");
        }
        assert!(Needs::of(b"#!/bin/sh\n").is_err());
    }

    #[test]
    fn what_a_program_needs_is_what_readelf_says() {
        // readelf is another reader of the same file; where it is not installed, what every Rust program needs is known.
        let own = std::env::current_exe().unwrap();
        let needs = Needs::of_all(std::slice::from_ref(&own)).unwrap();
        assert!(needs.libraries.contains("libc.so.6"), "{needs:?}");
        let Ok(read) = Command::new("readelf")
            .args(["--wide", "--version-info", "--dynamic", "--segments"])
            .arg(&own)
            .output()
        else {
            return;
        };
        let text = String::from_utf8_lossy(&read.stdout);
        let mut glibc: Option<Version> = None;
        for line in text
            .lines()
            .filter(|line| line.contains("Name: GLIBC_") && line.contains("Flags: none"))
        {
            let name = line
                .split("Name: ")
                .nth(1)
                .unwrap()
                .split_whitespace()
                .next()
                .unwrap();
            glibc = glibc.max(version(name).unwrap());
        }
        assert!(glibc.is_some());
        assert_eq!(needs.glibc, glibc);
        let named = |line: &str| {
            Some(
                line.split_once("(NEEDED)")?
                    .1
                    .split(['[', ']'])
                    .nth(1)?
                    .to_owned(),
            )
        };
        assert_eq!(needs.libraries, text.lines().filter_map(named).collect());
        let aligned = text
            .lines()
            .filter(|line| line.trim_start().starts_with("LOAD"));
        let aligned = aligned
            .filter_map(|line| u64::from_str_radix(line.rsplit("0x").next()?.trim(), 16).ok());
        assert_eq!(Some(needs.page_bytes), aligned.min());
    }
}
