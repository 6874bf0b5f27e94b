//! `cargo xtask kernels [--check]`: makes the PTX that is kept, and shows that NVIDIA's compilers take the kernels.
//!
//! The PTX comes from an old NVRTC and its version is lowered, so that old drivers take it. `--check` writes nothing and
//! compares; either way ptxas assembles the PTX for each chip. No GPU is needed, and nothing is run on one. AMD's form is compiled
//! on the user's machine. The tests of the crate `kernels` judge what is kept without any of these tools.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use walkdir::WalkDir;

use crate::files::{make, read, write};
use crate::{cargo, python};

/// NVRTC, old on purpose, and ptxas, new enough for the newest chip.
const WHEELS: &[&str] = &[
    "nvidia-cuda-nvrtc-cu12==12.1.105",
    "nvidia-cuda-nvcc-cu12==12.9.86",
];
/// Where the wheels have ptxas.
const PTXAS: &str = "site-packages/nvidia/cuda_nvcc/bin/ptxas";
/// Compiles CUDA C++ with the wheel's library.
const NVRTC: &str = include_str!("kernels/nvrtc.py");
/// What it compiles for: the oldest chip that has all the instructions of the kernels.
const VIRTUAL: &str = "compute_75";
/// The version that it writes.
const WRITTEN: &str = ".version 8.1\n";
/// The version that is kept: CUDA 10.1's, whose driver is older than any that is met. What ptxas takes with this line, it
/// takes as code of that version.
const KEPT: &str = ".version 6.4\n";
/// Chips that the PTX is assembled for: Turing, A100, Ada, Hopper, both Blackwells.
const NVIDIA: &[&str] = &["sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"];

/// Makes all kernels, or compares what is kept where `check`; tells whether nothing differs and every compiler took everything.
pub(crate) fn run(out: &mut impl Write, check: bool) -> Result<bool> {
    let folder = cargo::root()?.join("kernels");
    let scratch = cargo::target_directory()?.join("kernels");
    make(&scratch)?;
    let tools = Tools::install(out)?;
    let mut clean = true;
    for name in names(&folder)? {
        let source = read(&folder.join("cu/preludes/cuda.h"))?
            + &read(&folder.join("cu").join(&name).with_extension("cu"))?;
        let ptx = kept(&name, &tools.compile(&source)?)?;
        let place = folder.join("ptx").join(&name).with_extension("ptx");
        if !check {
            write(&place, &ptx)?;
        } else if fs::read_to_string(&place).ok().as_ref() != Some(&ptx) {
            clean = false;
            writeln!(
                out,
                "kernels: {name}: ptx/{name}.ptx is not what the compiler makes of the source; run `cargo xtask kernels`"
            )?;
        }
        let stem = scratch.join(&name);
        for chip in NVIDIA {
            let outcome = tools.assemble(&stem, &ptx, chip);
            clean &= outcome.is_ok();
            let words =
                outcome.map_or_else(|why| format!("{why:#}"), |size| format!("{size} bytes"));
            writeln!(out, "kernels: {name}: {chip}: {words}")?;
        }
    }
    let verdict = if clean { "clean" } else { "not clean" };
    writeln!(out, "kernels: {verdict}")?;
    Ok(clean)
}

/// The kernels, by the names of their sources.
fn names(folder: &Path) -> Result<Vec<String>> {
    let sources = WalkDir::new(folder.join("cu")).max_depth(1);
    let mut names = Vec::new();
    for entry in sources.sort_by_file_name() {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy();
        names.extend(file.strip_suffix(".cu").map(str::to_owned));
    }
    Ok(names)
}

/// The text that is kept, of the text that the compiler wrote.
fn kept(name: &str, written: &str) -> Result<String> {
    let line = WRITTEN.trim_end();
    let is_one = written.matches(WRITTEN).count() == 1;
    ensure!(is_one, "{name}: not one line `{line}` was written");
    Ok(format!(
        "// Made by `cargo xtask kernels` of cu/preludes/cuda.h and cu/{name}.cu; change those and make this again.\n\
         // The version is lowered from the compiler's, so that old drivers take it.\n\
         {}",
        written.replace(WRITTEN, KEPT)
    ))
}

/// NVIDIA's compilers.
struct Tools {
    python: PathBuf,
    ptxas: PathBuf,
}

impl Tools {
    /// Installs them where they are not there yet.
    fn install(out: &mut impl Write) -> Result<Self> {
        let folder = python::environment(out, WHEELS)?;
        // The name of the folder in between is that of Python's release.
        let mut releases = fs::read_dir(folder.join("lib"))?;
        let library = releases.next().context("an environment without library")?;
        Ok(Self {
            python: folder.join("bin/python"),
            ptxas: library?.path().join(PTXAS),
        })
    }

    /// Compiles CUDA C++ to PTX.
    fn compile(&self, source: &str) -> Result<String> {
        let mut command = Command::new(&self.python);
        command.args(["-c", NVRTC, VIRTUAL]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("python did not start")?;
        // It reads all before it writes anything, so neither waits for the other.
        let mut input = child.stdin.take().context("python has no input")?;
        let written = input.write_all(source.as_bytes());
        written.context("python took no source")?;
        drop(input);
        let output = child.wait_with_output().context("python was lost")?;
        let status = output.status;
        ensure!(status.success(), "NVRTC refused a kernel ({status})");
        String::from_utf8(output.stdout).context("the PTX is no text")
    }

    /// Assembles PTX for a chip; the size of the code.
    fn assemble(&self, stem: &Path, ptx: &str, chip: &str) -> Result<u64> {
        let (from, to) = (stem.with_extension("ptx"), stem.with_extension(chip));
        write(&from, ptx)?;
        let mut command = Command::new(&self.ptxas);
        command.args(["--warning-as-error", "-arch", chip]);
        python::done(command.arg(&from).arg("-o").arg(&to))?;
        let facts = fs::metadata(&to).with_context(|| format!("{} was not made", to.display()))?;
        Ok(facts.len())
    }
}
