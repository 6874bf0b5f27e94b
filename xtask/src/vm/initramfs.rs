//! What a guest holds: tools of Debian, a program of ours, the libraries that they name, and what runs them.
//!
//! It reads no machine and holds no answer that is compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::cpio::Archive;
use super::packages::Tree;

/// The shell and its tools, linked statically.
const SHELL: &str = "bin/busybox";
/// Tools, by their places in Debian's tree. In the guest all are in `/bin`.
const TOOLS: &[&str] = &[
    "usr/bin/bwrap",
    "usr/bin/lspci",
    "usr/bin/lstopo-no-graphics",
    "usr/bin/numactl",
];
/// Names of PCI vendors and devices, which lspci and lstopo look up.
const PCI_NAMES: &str = "usr/share/misc/pci.ids";
/// Where the loader, and what it loads, are looked for.
const LOADER: &str = "lib64/ld-linux-x86-64.so.2";
const LIBRARIES: &str = "lib/x86_64-linux-gnu";
/// Folders that the guest's scripts mount on.
const FOLDERS: &[&str] = &["dev", "host", "proc", "sys", "tmp"];
/// The first process, and what it runs.
const INIT: &str = include_str!("guest/init.sh");
const GUEST: &str = include_str!("guest/guest.sh");

/// The calls that a container without CAP_SYS_NICE may not make (numbers of x86_64, asm/unistd_64.h): `mbind`, `set_mempolicy`,
/// `get_mempolicy`, `migrate_pages`, `move_pages`.
const REFUSED: &[u32] = &[237, 238, 239, 256, 279];
/// What Docker's own filter still refuses with CAP_SYS_NICE: `move_pages`.
const REFUSED_WITH_SYS_NICE: &[u32] = &[279];
/// Both calls that say where a page is: `get_mempolicy`, `move_pages`.
const REFUSED_QUESTIONS: &[u32] = &[239, 279];

/// Packs everything; `program` is ours.
pub(super) fn pack(tree: &Tree, program: &Path) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in FOLDERS {
        archive.folder(folder);
    }
    archive.program(SHELL, &read(&tree.file(SHELL))?);
    let mut libraries = BTreeMap::new();
    let tools = TOOLS.iter().map(|tool| tree.file(tool));
    for file in tools.chain([program.to_owned()]) {
        libraries.extend(needed(tree, &file)?);
        archive.program(&format!("bin/{}", name(&file)?), &read(&file)?);
    }
    for (name, file) in libraries {
        archive.program(&format!("{LIBRARIES}/{name}"), &read(&file)?);
    }
    archive.program(LOADER, &read(&tree.loader()?)?);
    archive.file(PCI_NAMES, &read(&tree.file(PCI_NAMES))?);
    archive.file("seccomp.bpf", &filter(REFUSED));
    archive.file("sys-nice.bpf", &filter(REFUSED_WITH_SYS_NICE));
    archive.file("questions.bpf", &filter(REFUSED_QUESTIONS));
    archive.file("guest.sh", GUEST.as_bytes());
    archive.program("init", INIT.as_bytes());
    Ok(archive.finish())
}

/// The libraries of a program, as the tree's own loader finds them.
fn needed(tree: &Tree, program: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let output = tree
        .loaded(Command::new(tree.loader()?))
        .arg("--list")
        .arg(program)
        .output()
        .context("the loader of Debian's tree did not start")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{}: the loader ended with {}: {}",
            program.display(),
            output.status,
            why.trim()
        );
    }
    libraries(&text).with_context(|| format!("the libraries of {}", program.display()))
}

/// Reads the loader's list: `libm.so.6 => /a/libm.so.6 (0x...)`; a line without an arrow is the kernel's or the loader.
fn libraries(list: &str) -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for line in list.lines() {
        let Some((name, rest)) = line.trim().split_once(" => ") else {
            continue;
        };
        let file = rest.split(" (").next().unwrap_or_default();
        if !file.starts_with('/') {
            bail!("{name} is {file}");
        }
        if !name.starts_with('/') {
            found.insert(name.to_owned(), PathBuf::from(file));
        }
    }
    Ok(found)
}

/// A filter that refuses these calls with EPERM and lets all others be made (linux/filter.h, linux/seccomp.h).
///
/// It does not look at the architecture, which a wall against an enemy would have to do.
fn filter(refused: &[u32]) -> Vec<u8> {
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const EPERM: u32 = 0x0005_0001;
    // Load the number; compare it with each; the last but one allows, the last refuses.
    let mut program = vec![(LOAD, 0, 0)];
    for (left, &call) in (1..=refused.len()).rev().zip(refused) {
        // Past the comparisons that follow, which are `left - 1`, and past what allows.
        program.push((EQUAL, u8::try_from(left).unwrap_or(u8::MAX), call));
    }
    program.push((RETURN, 0, ALLOW));
    program.push((RETURN, 0, EPERM));
    let mut bytes = Vec::new();
    for (code, skipped_if_equal, value) in program {
        bytes.extend(u16::to_le_bytes(code));
        bytes.extend([skipped_if_equal, 0]);
        bytes.extend(u32::to_le_bytes(value));
    }
    bytes
}

fn name(file: &Path) -> Result<String> {
    let name = file.file_name().context("a program has a name")?;
    Ok(name.to_string_lossy().into_owned())
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("{} cannot be read", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_and_a_missing_one_is_an_error() {
        let found = libraries(concat!(
            "\tlinux-vdso.so.1 (0x00007ffd)\n",
            "\tlibm.so.6 => /t/lib/libm.so.6 (0x00007f29)\n",
            "\t/lib64/ld-linux-x86-64.so.2 => /t/lib/ld-linux-x86-64.so.2 (0x00007f2a)\n",
        ))
        .unwrap();
        assert_eq!(
            found,
            BTreeMap::from([("libm.so.6".to_owned(), PathBuf::from("/t/lib/libm.so.6"))])
        );
        let error = libraries("\tlibnuma.so.1 => not found\n").unwrap_err();
        assert_eq!(error.to_string(), "libnuma.so.1 is not found");
    }

    /// What the kernel would do with a call, by the meaning of the three instructions.
    fn verdict(filter: &[u8], call: u32) -> u32 {
        let mut at = 0;
        loop {
            let instruction = &filter[at * 8..at * 8 + 8];
            let value = u32::from_le_bytes(instruction[4..].try_into().unwrap());
            match (instruction[0], value) {
                (0x06, value) => return value,
                (0x15, value) if value == call => at += usize::from(instruction[2]),
                _ => {}
            }
            at += 1;
        }
    }

    #[test]
    fn the_filter_refuses_what_it_names_and_nothing_else() {
        let filter = filter(&[237, 238, 279]);
        // One load, three comparisons, two answers, of 8 bytes each.
        assert_eq!(filter.len(), 48);
        for (call, answer) in [
            (237, 0x0005_0001),
            (238, 0x0005_0001),
            (279, 0x0005_0001),
            (0, 0x7fff_0000),
            (240, 0x7fff_0000),
        ] {
            assert_eq!(verdict(&filter, call), answer, "{call}");
        }
    }
}
