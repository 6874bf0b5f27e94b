//! The program that is a rank of a serving engine: a script of ours in the Python that the engine runs in.
//!
//! It says what to start and with which words; the script answers the requests of [`crate::messages`] as a rank of this program
//! does. The environment of the engine is inherited and nothing of it is kept.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use runner::WorkerSpec;

use crate::values::EngineArg;

/// What a rank runs.
const SCRIPT: &str = include_str!("probe.py");

/// Where a Python environment has its interpreter.
const INTERPRETERS: [&str; 2] = ["bin/python", "bin/python3"];

/// A serving engine and the Python that it runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Probe {
    /// The interpreter.
    pub(crate) python: PathBuf,
    engine: EngineArg,
}

impl Probe {
    /// The engine in an environment: `path` is its interpreter, the name of one in `PATH`, or the environment's folder.
    ///
    /// # Errors
    /// Says what is not there.
    pub(crate) fn of(path: &Path, engine: EngineArg) -> Result<Self, String> {
        let named = interpreter(path);
        let python =
            named.map_err(|reason| format!("--engine-python {}: {reason}", path.display()))?;
        Ok(Self { python, engine })
    }

    /// The engine by the name of its package.
    pub(crate) fn name(&self) -> &'static str {
        match self.engine {
            EngineArg::Vllm => "vllm",
            EngineArg::Sglang => "sglang",
        }
    }

    /// The process of a rank on a device, which has this number among those that the process sees.
    pub(crate) fn rank(&self, rank: usize, ordinal: usize) -> WorkerSpec {
        let words = ["-c", SCRIPT, self.name(), &ordinal.to_string()].map(OsString::from);
        WorkerSpec::new(
            format!("rank {rank} of {}", self.name()),
            &self.python,
            words,
        )
    }
}

/// The interpreter that is meant. Links are kept, since an environment's interpreter is one and finds its packages by it.
fn interpreter(path: &Path) -> Result<PathBuf, String> {
    let absolute = std::path::absolute(path).map_err(|error| error.to_string())?;
    let inside = INTERPRETERS.iter().map(|name| absolute.join(name));
    // A word alone may also name a program.
    let search = std::env::var_os("PATH").filter(|_| path.components().count() == 1);
    let folders = search.iter().flat_map(std::env::split_paths);
    let found = folders.map(|folder| folder.join(path));
    let mut files = std::iter::once(absolute.clone()).chain(inside).chain(found);
    files.find(|file| file.is_file()).ok_or_else(|| {
        "there is no such file, Python environment or program in PATH; name the Python that runs the engine, or its environment's folder"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_a_file_a_word_or_a_folders() {
        let folder = std::env::temp_dir().join(format!("engine-probe-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        let file = folder.join("bin/python3");
        std::fs::write(&file, "").unwrap();
        assert_eq!(interpreter(&folder), Ok(file.clone()));
        assert_eq!(interpreter(&file), Ok(file.clone()));
        assert!(interpreter(Path::new("sh")).is_ok_and(|file| file.ends_with("sh")));
        assert!(interpreter(Path::new("no-such-python")).is_err());
        assert!(interpreter(&folder.join("no/python")).is_err());
        assert!(interpreter(&folder.join("bin")).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
