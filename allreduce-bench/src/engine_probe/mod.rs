//! The program that is a rank of a serving engine: a script of ours in the Python that the engine runs in.
//!
//! It says what to start and with which words; the script answers the requests of [`crate::messages`] as a rank of this program
//! does. The environment of the engine is inherited and nothing of it is kept.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use runner::WorkerSpec;

use crate::cli::EngineArg;

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
        let named = interpreter(path, std::env::var_os("PATH"));
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
fn interpreter(path: &Path, search: Option<OsString>) -> Result<PathBuf, String> {
    let is_word = path.components().count() == 1 && !path.exists();
    if is_word {
        let folders = search.iter().flat_map(std::env::split_paths);
        let found = folders
            .map(|folder| folder.join(path))
            .find(|file| file.is_file());
        return found.ok_or_else(|| {
            "there is no such file, and no such program in PATH; name the Python that runs the engine".to_owned()
        });
    }
    let absolute = std::path::absolute(path).map_err(|error| error.to_string())?;
    if absolute.is_dir() {
        let mut inside = INTERPRETERS.iter().map(|name| absolute.join(name));
        return inside.find(|file| file.is_file()).ok_or_else(|| {
            "this folder has no bin/python; name the folder of a Python environment or its interpreter".to_owned()
        });
    }
    if absolute.is_file() {
        Ok(absolute)
    } else {
        Err("there is no such file; name the Python that runs the engine".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_a_file_a_word_of_path_or_a_folders() {
        let folder = std::env::temp_dir().join(format!("engine-probe-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        let file = folder.join("bin/python3");
        std::fs::write(&file, "").unwrap();
        let of = |path: &Path, search: Option<&Path>| {
            interpreter(path, search.map(|folder| folder.as_os_str().to_owned()))
        };
        assert_eq!(of(&folder, None), Ok(file.clone()));
        assert_eq!(of(&file, None), Ok(file.clone()));
        let bin = folder.join("bin");
        assert_eq!(of(Path::new("python3"), Some(&bin)), Ok(file.clone()));
        let says = |path: &Path, words: &str| {
            let error = of(path, Some(&bin)).unwrap_err();
            assert!(error.contains(words), "{error}");
        };
        says(Path::new("no-such-python"), "PATH");
        says(&folder.join("no/python"), "no such file");
        says(&bin, "no bin/python");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
