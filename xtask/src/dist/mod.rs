//! `cargo xtask dist`: one archive that runs on a machine without Rust: programs, soft libraries, shims, boxes, profiles, recipes, shell
//! completions, licence texts, checksums, and a manifest that says what the programs need.
//!
//! It builds for this machine's target only, signs nothing and uploads nothing.

mod archive;
mod elf;
mod licences;
mod manifest;
mod stage;
mod sums;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{cargo, programs};

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Where the archive goes; without it, `dist` in the target folder.
    out: Option<PathBuf>,
    /// Whether the programs are built for use, and not for trying this command.
    release: bool,
}

impl Options {
    /// Reads the arguments; `None` where they are not understood.
    pub(crate) fn parse(arguments: &[OsString]) -> Option<Self> {
        let mut options = Self {
            out: None,
            release: true,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.to_str()? {
                "--out" => options.out = Some(PathBuf::from(arguments.next()?)),
                // For trying this command; not in the usage text, as nobody should hand such programs on.
                "--profile" => {
                    options.release = match arguments.next()?.to_str()? {
                        "release" => true,
                        "dev" => false,
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Programs that are in the archive: those that commands run.
fn packages() -> Vec<&'static str> {
    let mut packages: Vec<&str> = programs::PROGRAMS
        .iter()
        .map(|program| program.package)
        .chain(["accept"])
        .collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// Makes the archive and says where it is.
pub(crate) fn run(out: &mut impl Write, options: &Options) -> Result<()> {
    let metadata = cargo::metadata()?;
    let about = manifest::About::of(&metadata, options.release)?;
    let target = cargo::target_directory()?;
    let folder = options.out.clone().unwrap_or_else(|| target.join("dist"));
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let root = folder.join(about.archive_name());
    if root.exists() {
        fs::remove_dir_all(&root)
            .with_context(|| format!("{} cannot be replaced", root.display()))?;
    }
    let packages = packages();
    let binaries = stage::programs(&root, &packages, options.release)?;
    stage::files(&root)?;
    stage::completions(&root, &binaries)?;
    let needs = elf::Needs::of_all(&stage::elf_files(&root)?)?;
    licences::write(&root, &metadata, &stage::built_packages(&packages))?;
    let versions = stage::versions(&binaries)?;
    manifest::write(&root, &about, &needs, &versions)?;
    sums::write(&root)?;
    let archive = archive::pack(&folder, &about)?;
    let bytes = fs::metadata(&archive)
        .with_context(|| format!("{} is gone", archive.display()))?
        .len();
    writeln!(
        out,
        "{} ({:.1} MiB), needs {}",
        archive.display(),
        mebibytes(bytes),
        needs.words()
    )?;
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a file's size to a tenth of a MiB"
)]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_understood_or_refused() {
        let parse =
            |words: &[&str]| Options::parse(&words.iter().map(Into::into).collect::<Vec<_>>());
        assert_eq!(
            parse(&[]),
            Some(Options {
                out: None,
                release: true
            })
        );
        let out = Some(PathBuf::from("there"));
        assert_eq!(
            parse(&["--out", "there"]),
            Some(Options { out, release: true })
        );
        assert_eq!(
            parse(&["--profile", "dev"]),
            Some(Options {
                out: None,
                release: false
            })
        );
        for wrong in [&["--out"][..], &["there"], &["--profile", "bench"]] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn every_program_is_in_the_archive_once() {
        assert_eq!(
            packages(),
            ["accept", "allreduce-bench", "p2p-bw", "serve-bench"]
        );
    }
}
