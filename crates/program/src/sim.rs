//! `--sim`: starts this program again on a simulated machine, with the simulated drivers first in the loader's path.
//!
//! Which of them a program needs, the program says; nothing here loads one.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, anyhow};
use boxfile::{BoxFile, Vendor};
use record::private;
use record::{FolderError, ResultFolder};

use crate::command_line;
use crate::stop::{OTHER_FOLDER, Stop};

/// Set in the restarted program: the folder with the simulated machine.
const FOLDER: &str = "TPLENS_SIM_FOLDER";

/// Set in the restarted program: its process, and whether it made the result folder, too. A restart keeps the process,
/// so what another process was told is not taken for its own.
const MADE: &str = "TPLENS_SIM_MADE";

/// The simulated driver's names of the box file and of the generated sysfs tree.
const BOX: &str = "TPLENS_SOFT_BOX";
const SYSFS: &str = "TPLENS_SOFT_SYSFS";

/// The end of the variables by which the vendors' drivers are told what devices to show.
const VISIBLE: &str = "_VISIBLE_DEVICES";

/// Where the simulated drivers are, if not beside the program.
const SOFT_FOLDER: &str = "TPLENS_SOFT_DIR";

/// The root of the generated tree, in a program that was restarted on a simulated machine.
#[must_use]
pub fn sysfs_root() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(|folder| Path::new(&folder).join("sysfs"))
}

/// The result folder of a program that was restarted on a simulated machine.
#[must_use]
pub fn result_folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).and_then(|folder| Path::new(&folder).parent().map(Path::to_owned))
}

/// The name of the simulated machine, in a program that was restarted on one.
#[must_use]
pub fn box_name() -> Option<String> {
    let file = std::env::var_os(FOLDER).map(|folder| Path::new(&folder).join("box.toml"))?;
    BoxFile::read(&file).ok().map(|described| described.name)
}

/// The vendor of a box's GPUs, which says what libraries [`restart`] needs.
///
/// # Errors
/// No such box, a file that describes none, or a box without GPU.
pub fn vendor(name: &str) -> Result<Vendor, Stop> {
    described(name).map(|described| described.vendor)
}

fn described(name: &str) -> Result<BoxFile, Stop> {
    let described = BoxFile::resolve(name).map_err(|error| Stop::Usage(error.to_string()))?;
    if described.vendor == Vendor::HOST {
        return Err(Stop::Usage(format!(
            "the box `{}` has no GPU that a simulated driver could play; choose another one for --sim",
            described.name
        )));
    }
    Ok(described)
}

/// Restarts this program on a box; returns only where it cannot.
///
/// The box file and the tree go into the result folder; `libraries` are the files of the simulated drivers that must be there.
#[must_use]
pub fn restart(name: &str, results: &Path, libraries: &[&str]) -> Stop {
    match prepare(name, results, libraries) {
        Err(stop) => stop,
        Ok((mut command, made)) => {
            let error = command.exec();
            made.remove();
            Stop::Internal(anyhow!("cannot restart on the simulated machine: {error}"))
        }
    }
}

/// What a soft run made on the disk; nothing else is ever removed.
struct Made {
    /// The folder with the simulated machine, below the result folder.
    sim: PathBuf,
    /// Whether the result folder was not there before.
    results: bool,
}

impl Made {
    /// Makes the result folder where it is missing, and the folder of the box, which must be new.
    fn folders(results: &Path) -> Result<Self, Stop> {
        let sim = results.join("sim");
        let failed = |error: std::io::Error| {
            let folder = sim.display();
            Stop::Internal(anyhow!(
                "cannot make the folder {folder}: {error}; {OTHER_FOLDER}"
            ))
        };
        if let Some(parent) = results.parent() {
            private::make_folders(parent).map_err(failed)?;
        }
        let is_new = match private::make_new_folder(results) {
            Ok(()) => true,
            Err(_) if results.is_dir() => false,
            Err(error) => return Err(failed(error)),
        };
        match private::make_new_folder(&sim) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(Stop::Usage(format!(
                    "{} exists already; choose another folder with --out",
                    sim.display()
                )));
            }
            Err(error) => return Err(failed(error)),
        }
        let sim = sim
            .canonicalize()
            .with_context(|| format!("cannot find {}", sim.display()))?;
        Ok(Self {
            sim,
            results: is_new,
        })
    }

    /// What this process was reported.
    fn told() -> Option<Self> {
        let sim = PathBuf::from(std::env::var_os(FOLDER)?);
        let told = std::env::var(MADE).ok()?;
        let mut words = told.split(' ');
        let is_own = words.next() == Some(std::process::id().to_string().as_str());
        is_own.then(|| Self {
            sim,
            results: words.next() == Some("results"),
        })
    }

    /// Removes it; what cannot be removed is of no harm, and a result folder that holds something else stays.
    fn remove(&self) {
        drop(std::fs::remove_dir_all(&self.sim));
        if let (true, Some(results)) = (self.results, self.sim.parent()) {
            drop(std::fs::remove_dir(results));
        }
    }
}

fn prepare(name: &str, results: &Path, libraries: &[&str]) -> Result<(Command, Made), Stop> {
    if ResultFolder::is_taken(results) {
        return Err(Stop::Usage(
            FolderError::Taken(results.to_owned()).to_string(),
        ));
    }
    let described = described(name)?;
    let soft = soft_folder(libraries)?;
    let made = Made::folders(results)?;
    match restarted(&described, &soft, &made) {
        Ok(command) => Ok((command, made)),
        Err(stop) => {
            made.remove();
            Err(stop)
        }
    }
}

/// The program on this box, as a command.
fn restarted(described: &BoxFile, soft: &Path, made: &Made) -> Result<Command, Stop> {
    let folder = &made.sim;
    let (file, tree) = (folder.join("box.toml"), folder.join("sysfs"));
    let text = described.to_toml().map_err(|error| anyhow!("{error}"))?;
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    boxfile::sysfs::write_tree(described, &tree)
        .map_err(|error| anyhow!("writing the box's sysfs tree: {error}"))?;

    let mut path = OsString::from(soft);
    if let Some(before) = std::env::var_os("LD_LIBRARY_PATH").filter(|before| !before.is_empty()) {
        path.push(":");
        path.push(before);
    }
    let program = std::env::current_exe().context("finding this program")?;
    let results = if made.results { " results" } else { "" };
    let mut command = Command::new(program);
    command
        .args(command_line::words().into_iter().skip(1))
        .env("LD_LIBRARY_PATH", path)
        .env(FOLDER, folder)
        .env(MADE, format!("{}{results}", std::process::id()))
        .env(BOX, &file)
        .env(SYSFS, &tree);
    // Which devices the real machine shows has no meaning on the box.
    let variables = std::env::vars_os().map(|(name, _)| name);
    for name in variables.filter(|name| name.to_string_lossy().ends_with(VISIBLE)) {
        command.env_remove(name);
    }
    Ok(command)
}

/// Takes back what [`restart`] put into a result folder in which no run began.
pub fn forget() {
    let made = Made::told();
    let unused = |made: &Made| !made.sim.parent().is_some_and(ResultFolder::is_taken);
    if let Some(made) = made.filter(unused) {
        made.remove();
    }
}

/// `$TPLENS_SOFT_DIR`; `soft` beside the program's folder, as in an archive and in `target`; `share/tplens/soft` there, as a wheel has it.
fn soft_folder(libraries: &[&str]) -> Result<PathBuf, Stop> {
    let program = std::env::current_exe().context("finding this program")?;
    let above = program.ancestors().nth(2);
    let asked = std::env::var_os(SOFT_FOLDER).map(PathBuf::from);
    let candidates: Vec<PathBuf> = match asked {
        Some(asked) => vec![asked],
        None => above
            .into_iter()
            .flat_map(|above| [above.join("soft"), above.join("share/tplens/soft")])
            .collect(),
    };
    let complete = |folder: &&PathBuf| {
        libraries
            .iter()
            .all(|library| folder.join(library).is_file())
    };
    candidates.iter().find(complete).cloned().ok_or_else(|| {
        let looked: Vec<String> = candidates
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        Stop::Usage(format!(
            "the simulated libraries {} are not in {}; a checkout makes them with `cargo xtask soft`, and TPLENS_SOFT_DIR names another folder",
            libraries.join(", "),
            looked.join(" or ")
        ))
    })
}
