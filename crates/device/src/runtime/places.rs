//! Where a vendor's library is looked for.

use std::env;
use std::path::{Path, PathBuf};

use super::table::Table;
use crate::places::{files_of, in_packages, installations};

/// What to try, in this order: the loader's names, the folder that the vendor's variable names, the usual folders, the wheels of the
/// Python environment that is active.
///
/// The loader comes first because a simulated machine stands there, and because a user's `LD_LIBRARY_PATH` is the more special wish.
pub(in crate::runtime) fn candidates(table: &Table) -> Vec<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    let named = set(table.variable).map(PathBuf::from);
    let folders = folders(table, named, Path::new("/"));
    let mut found = usual(table.files, table.library, &folders);
    let environment = set("VIRTUAL_ENV").map(PathBuf::from);
    let wheels = |folder: PathBuf| in_packages(&folder, table.packages, table.library);
    found.extend(environment.map(wheels).unwrap_or_default());
    found
}

/// Where those are that cannot be found, in words.
pub(in crate::runtime) fn looked(table: &Table) -> String {
    let mut looked = format!("in the loader's path as {}", table.files.join(", "));
    if !table.variable.is_empty() {
        looked.push_str(&format!(", in ${}/lib", table.variable));
        let usual = table.folders.iter().map(|folder| format!("{folder}/lib"));
        let usual: Vec<String> = usual.collect();
        looked.push_str(&format!(" and in {}", usual.join(", ")));
        if !table.packages.is_empty() {
            looked.push_str(", and in the active Python environment");
        }
    }
    looked
}

/// The names, and then the files that begin with `prefix` in folders.
pub(in crate::runtime) fn usual(names: &[&str], prefix: &str, folders: &[PathBuf]) -> Vec<PathBuf> {
    let names = names.iter().map(PathBuf::from);
    names
        .chain(folders.iter().flat_map(|folder| files_of(folder, prefix)))
        .collect()
}

/// The `lib` folders of installations, the named one first.
fn folders(table: &Table, named: Option<PathBuf>, root: &Path) -> Vec<PathBuf> {
    let found = installations(table.folders, named, root);
    found.iter().map(|folder| folder.join("lib")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::runtime::Vendor;
    use crate::vendors::Amd;

    #[test]
    fn the_loaders_names_come_first_then_the_named_folder_then_the_usual_ones() {
        let root = env::temp_dir().join(format!("device-runtime-places-{}", std::process::id()));
        for file in [
            "own/lib/libamdhip64.so.7",
            "opt/rocm-6.4.1/lib/libamdhip64.so.6",
            "opt/rocm-7.1.0/lib/libamdhip64.so.7.1.70100",
            "opt/rocm-7.1.0/lib/libamdhip64.so.7",
            "opt/rocm-7.1.0/lib/libamdhip64.so",
            "opt/rocm-7.1.0/lib/libamdhip64.sources",
            "opt/rocm-7.1.0/lib/libhiprtc.so.7",
        ] {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let folders = folders(Amd::TABLE, Some(root.join("own")), &root);
        let found = usual(Amd::TABLE.files, Amd::TABLE.library, &folders);
        fs::remove_dir_all(&root).unwrap();
        let expected = [
            "own/lib/libamdhip64.so.7",
            "opt/rocm-7.1.0/lib/libamdhip64.so",
            "opt/rocm-7.1.0/lib/libamdhip64.so.7",
            "opt/rocm-7.1.0/lib/libamdhip64.so.7.1.70100",
            "opt/rocm-6.4.1/lib/libamdhip64.so.6",
        ];
        let (names, files) = found.split_at(4);
        let loaders: Vec<PathBuf> = Amd::TABLE.files.iter().map(PathBuf::from).collect();
        assert_eq!(names, loaders);
        assert_eq!(files, expected.map(|file| root.join(file)));
    }
}
