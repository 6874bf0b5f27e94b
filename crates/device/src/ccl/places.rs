//! Where a library of collectives is looked for.

use std::env;
use std::path::{Path, PathBuf};

use super::table::Table;
use crate::places::{files_of, in_packages, installations};

/// Files to try, in this order: of a path that was named, or that the vendor's variable names, and of nothing else; else the usual
/// ones. A name without a folder is the loader's to find.
///
/// # Errors
/// The folder that was named has none, in words.
pub(super) fn candidates(table: &Table, path: Option<&Path>) -> Result<Vec<PathBuf>, String> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    let variable = || set(table.variable).map(PathBuf::from);
    let Some(named) = path.map(Path::to_owned).or_else(variable) else {
        return Ok(usual(
            table,
            table.beside.variable.and_then(set).map(PathBuf::from),
            set("VIRTUAL_ENV").map(PathBuf::from),
            Path::new("/"),
        ));
    };
    if !named.is_dir() {
        // A name without a folder would be the loader's to find, and another file than the one that stands here.
        let absolute = named.is_file().then(|| std::path::absolute(&named).ok());
        return Ok(vec![absolute.flatten().unwrap_or(named)]);
    }
    let found = in_folder(table, &named);
    if found.is_empty() {
        let packages = table
            .packages
            .iter()
            .map(|package| format!(", nor {package} in the site-packages of a Python there"));
        return Err(format!(
            "{} has no {}* itself, nor in its lib or lib64{}",
            named.display(),
            table.prefix,
            packages.collect::<String>()
        ));
    }
    Ok(found)
}

/// The loader's names, the folders of installations, and those of a Python environment.
fn usual(
    table: &Table,
    installed: Option<PathBuf>,
    environment: Option<PathBuf>,
    root: &Path,
) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = table.files.iter().map(PathBuf::from).collect();
    let beside = installations(table.beside.folders, installed, root);
    found.extend(
        beside
            .iter()
            .flat_map(|folder| files_of(&folder.join("lib"), table.prefix)),
    );
    found.extend(
        environment
            .iter()
            .flat_map(|folder| in_packages(folder, table.packages, table.prefix)),
    );
    found
}

/// The library's files in a folder: in itself, as an installation, as a Python environment, its `lib`, or its site-packages.
fn in_folder(table: &Table, folder: &Path) -> Vec<PathBuf> {
    let own = ["", "lib", "lib64"].iter().map(|part| folder.join(part));
    let mut found: Vec<PathBuf> = own
        .flat_map(|folder| files_of(&folder, table.prefix))
        .collect();
    found.extend(in_packages(folder, table.packages, table.prefix));
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::table::Vendor;
    use super::*;
    use crate::vendors::{Nccl, Rccl};

    /// A folder with empty files; removed when dropped.
    struct Tree(PathBuf);

    impl Tree {
        fn of(name: &str, files: &[&str]) -> Self {
            let root = env::temp_dir().join(format!("device-ccl-{name}-{}", std::process::id()));
            for file in files {
                let file = root.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "").unwrap();
            }
            fs::create_dir_all(&root).unwrap();
            Self(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn the_wheel_of_an_environment_comes_after_the_loaders_names() {
        let names = ["libnccl.so.2", "libnccl.so"].map(PathBuf::from);
        let root = Path::new("/");
        assert_eq!(usual(Nccl::TABLE, None, None, root), names);
        let wheel = "lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2";
        let tree = Tree::of("wheel", &[wheel, "lib/other/libnccl.so.2"]);
        let found = usual(Nccl::TABLE, None, Some(tree.0.clone()), root);
        assert_eq!(found, [&names[..], &[tree.0.join(wheel)]].concat());
    }

    #[test]
    fn a_folder_may_be_an_environment_its_lib_its_packages_or_an_installation() {
        let wheel = "lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2";
        let tree = Tree::of(
            "folders",
            &[wheel, "cuda/lib64/libnccl.so.2", "own/libnccl.so"],
        );
        for (folder, file) in [
            ("", wheel),
            ("lib", wheel),
            ("lib/python3.11/site-packages", wheel),
            ("cuda", "cuda/lib64/libnccl.so.2"),
            ("own", "own/libnccl.so"),
        ] {
            let found = candidates(Nccl::TABLE, Some(&tree.0.join(folder)));
            assert_eq!(found.unwrap(), [tree.0.join(file)], "{folder}");
        }
    }

    #[test]
    fn rccl_is_found_in_torch_in_the_wheels_of_rocm_and_in_its_installation() {
        let packages = "lib/python3.12/site-packages";
        let files = [
            format!("{packages}/torch/lib/librccl.so"),
            format!("{packages}/_rocm_sdk_libraries_gfx120X_all/lib/librccl.so.1"),
            "opt/rocm-7.1.0/lib/librccl.so.1".to_owned(),
            "opt/rocm-7.1.0/lib/librccl.so.1.0.70100".to_owned(),
        ];
        let tree = Tree::of("rccl", &files.each_ref().map(String::as_str));
        let [torch, rocm, plain, full] = files.map(|file| tree.0.join(file));
        let environment = candidates(Rccl::TABLE, Some(&tree.0));
        assert_eq!(environment.unwrap(), [torch, rocm]);
        let installed = usual(Rccl::TABLE, None, None, &tree.0);
        let names = ["librccl.so.1", "librccl.so"].map(PathBuf::from);
        assert_eq!(installed, [&names[..], &[plain, full]].concat());
    }
}
