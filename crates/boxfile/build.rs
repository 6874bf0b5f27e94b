//! Collects the box files that are compiled in: every `boxes/NAME.toml`, by name. It does not read them.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> io::Result<()> {
    let variable = |name: &str| {
        env::var_os(name).ok_or_else(|| io::Error::other(format!("cargo sets {name}")))
    };
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../../boxes");
    let folder = folder.canonicalize()?;
    let mut files = fs::read_dir(&folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<PathBuf>>>()?;
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "toml")
    });
    files.sort();
    let mut table = "&[\n".to_owned();
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        // Writing to a String cannot fail.
        let _ = writeln!(table, "    ({name:?}, include_str!({file:?})),");
    }
    table.push_str("]\n");
    fs::write(Path::new(&variable("OUT_DIR")?).join("boxes.rs"), table)?;
    tell(&format!("cargo::rerun-if-changed={}", folder.display()))
}

/// An instruction to cargo.
fn tell(instruction: &str) -> io::Result<()> {
    io::Write::write_all(&mut io::stdout(), format!("{instruction}\n").as_bytes())
}
