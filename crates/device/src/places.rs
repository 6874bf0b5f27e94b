//! Files of libraries in folders: which there are, and in which order they are tried.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders of installations: the named one first, then each pattern's, the plain name before its versions, of which the last
/// by name comes first.
pub(crate) fn installations(
    patterns: &[&str],
    named: Option<PathBuf>,
    root: &Path,
) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = named.into_iter().collect();
    for pattern in patterns {
        let Some(beginning) = pattern.strip_suffix('*') else {
            found.push(root.join(pattern.trim_start_matches('/')));
            continue;
        };
        let plain = root.join(beginning.trim_start_matches('/'));
        let mut versions = beginning_with(&plain);
        versions.retain(|folder| *folder != plain);
        versions.reverse();
        found.push(plain);
        found.append(&mut versions);
    }
    found
}

/// The files of a library in a folder: `libx.so` before `libx.so.7` before `libx.so.7.1.2`.
pub(crate) fn files_of(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let plain = folder.join(prefix);
    let mut files = beginning_with(&plain);
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let rest = name.strip_prefix(prefix).unwrap_or_default();
        rest.is_empty() || rest.starts_with('.')
    });
    files.sort_by_key(|file| file.as_os_str().len());
    files
}

/// What is in a path's folder and begins with its name, by name.
pub(crate) fn beginning_with(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&*name))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// The files that begin with `prefix` in Python packages below a folder: an environment, its `lib`, or its packages. A `*` in the name of
/// a package stands for the rest of it.
pub(crate) fn in_packages(folder: &Path, packages: &[&str], prefix: &str) -> Vec<PathBuf> {
    let versions = ["lib/python3", "lib64/python3", "python3"];
    let mut installed: Vec<PathBuf> = versions
        .iter()
        .flat_map(|python| beginning_with(&folder.join(python)))
        .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
        .collect();
    installed.push(folder.to_owned());
    let folders = installed.iter().flat_map(|within| {
        let packages = packages.iter();
        packages.flat_map(|package| matching(within, package))
    });
    folders
        .flat_map(|folder| files_of(&folder, prefix))
        .collect()
}

/// A folder within another one, or those that it stands for where one of its names ends in `*`.
fn matching(within: &Path, pattern: &str) -> Vec<PathBuf> {
    match pattern.split_once('*') {
        None => vec![within.join(pattern)],
        Some((beginning, rest)) => beginning_with(&within.join(beginning))
            .iter()
            .map(|folder| folder.join(rest.trim_start_matches('/')))
            .collect(),
    }
}
