//! Where NCCL is looked for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable that names the file to load.
const VARIABLE: &str = "TPLENS_NCCL";

/// What to try, in this order; a file that was named is the only one. A name without a folder is the loader's to find.
pub(super) fn candidates(file: Option<&Path>) -> Vec<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    let named = file
        .map(Path::to_owned)
        .or_else(|| set(VARIABLE).map(PathBuf::from));
    named.map_or_else(
        || usual(set("VIRTUAL_ENV").map(PathBuf::from)),
        |file| vec![file],
    )
}

/// The usual names, and the wheel that engines bring into a Python environment.
fn usual(environment: Option<PathBuf>) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("libnccl.so.2"), PathBuf::from("libnccl.so")];
    let lib = environment.map(|folder| folder.join("lib"));
    let entries = lib
        .and_then(|lib| fs::read_dir(lib).ok())
        .into_iter()
        .flatten();
    let mut wheels: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .map(|entry| {
            entry
                .path()
                .join("site-packages/nvidia/nccl/lib/libnccl.so.2")
        })
        .collect();
    wheels.sort();
    found.append(&mut wheels);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_file_is_the_only_one() {
        let named = Path::new("/opt/nccl/libnccl.so.2");
        assert_eq!(candidates(Some(named)), [named]);
    }

    #[test]
    fn the_wheel_of_an_environment_comes_after_the_loaders_names() {
        let names = ["libnccl.so.2", "libnccl.so"].map(PathBuf::from);
        assert_eq!(usual(None), names);
        let folder = env::temp_dir().join(format!("device-nccl-places-{}", std::process::id()));
        fs::create_dir_all(folder.join("lib/python3.12")).unwrap();
        fs::create_dir_all(folder.join("lib/other")).unwrap();
        let found = usual(Some(folder.clone()));
        fs::remove_dir_all(&folder).unwrap();
        let wheel = "lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2";
        assert_eq!(found, [&names[..], &[folder.join(wheel)]].concat());
    }
}
