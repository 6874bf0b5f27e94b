//! What the programs are made of beside our own code, under which licences, with the texts that those ask to be handed on.
//!
//! It does not judge whether licences fit together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The file that is written.
const FILE: &str = "THIRD-PARTY.txt";

/// How the files begin in which packages keep their licences, in capitals.
const TEXTS: &[&str] = &[
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];

/// A package of somebody else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    licence: String,
    repository: String,
    folder: String,
}

/// Writes the list and the texts of all that the packages of ours are made of.
pub(super) fn write(root: &Path, metadata: &Value, ours: &[&str]) -> Result<()> {
    let packages = foreign(metadata, ours)?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for package in &packages {
        let name = format!("{} {}", package.name, package.version);
        let found = texts_in(Path::new(&package.folder))?;
        if found.is_empty() {
            without.push(name.clone());
        }
        for text in found {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    let path = root.join(FILE);
    fs::write(&path, document(&packages, &without, &texts))
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// The list, then each text once with the packages that it is of.
fn document(
    packages: &BTreeSet<Package>,
    without: &[String],
    texts: &BTreeMap<String, Vec<String>>,
) -> String {
    let mut document = String::from(
        "The programs and libraries in this archive contain the packages below, each under its own licence, and Rust's standard library\n\
         (MIT or Apache-2.0, https://github.com/rust-lang/rust). The texts that the packages carry follow the list.\n\n",
    );
    for package in packages {
        let Package {
            name,
            version,
            licence,
            repository,
            ..
        } = package;
        document.push_str(&format!("{name} {version}: {licence}; {repository}\n"));
    }
    if !without.is_empty() {
        document.push_str(&format!(
            "\nWithout a text in their package: {}\n",
            without.join(", ")
        ));
    }
    for (text, of) in texts {
        document.push_str(&format!(
            "\n{}\n{}\n\n{}\n",
            "-".repeat(80),
            of.join(", "),
            text.trim_end()
        ));
    }
    document
}

/// Texts of licences in a package's folder, in the order of their names.
fn texts_in(folder: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("{} cannot be listed", folder.display()))?
    {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if entry.file_type()?.is_file()
            && TEXTS.iter().any(|start| name.starts_with(start))
            && !name.ends_with(".RS")
        {
            let bytes = fs::read(entry.path())
                .with_context(|| format!("{} cannot be read", entry.path().display()))?;
            found.insert(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"));
        }
    }
    Ok(found)
}

/// Packages of others that are part of ours when they run: what only builds or tests them is left out.
fn foreign(metadata: &Value, ours: &[&str]) -> Result<BTreeSet<Package>> {
    let rows = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let packages: HashMap<String, Value> = rows(&metadata["packages"])
        .into_iter()
        .filter_map(|package| Some((word(&package["id"])?, package)))
        .collect();
    let uses: HashMap<String, Vec<String>> = rows(&metadata["resolve"]["nodes"])
        .iter()
        .filter_map(|node| {
            let used = rows(&node["deps"]);
            let at_run_time = used.iter().filter(|used| {
                rows(&used["dep_kinds"])
                    .iter()
                    .any(|kind| kind["kind"].is_null())
            });
            Some((
                word(&node["id"])?,
                at_run_time.filter_map(|used| word(&used["pkg"])).collect(),
            ))
        })
        .collect();
    let is_ours = |package: &Value| package["source"].is_null();
    let mut open: Vec<&String> = packages
        .iter()
        .filter(|(_, package)| is_ours(package) && ours.iter().any(|name| package["name"] == *name))
        .map(|(id, _)| id)
        .collect();
    if open.len() < ours.iter().collect::<BTreeSet<_>>().len() {
        bail!("cargo metadata does not know all of {}", ours.join(", "));
    }
    let mut seen: BTreeSet<&String> = open.iter().copied().collect();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        let package = packages
            .get(id)
            .with_context(|| format!("cargo metadata uses {id} and does not describe it"))?;
        if !is_ours(package) {
            found.insert(described(package)?);
        }
        open.extend(
            uses.get(id)
                .into_iter()
                .flatten()
                .filter(|used| seen.insert(used)),
        );
    }
    Ok(found)
}

fn described(package: &Value) -> Result<Package> {
    let word = |key: &str| package[key].as_str().map(str::to_owned);
    let name = word("name").context("a package without a name")?;
    let licence = match (word("license"), word("license_file")) {
        (Some(licence), _) => licence,
        (None, Some(file)) => format!("see its {file}"),
        (None, None) => bail!("{name} names no licence; look it up before anything is handed on"),
    };
    let manifest = word("manifest_path").context("a package without a manifest")?;
    let folder = Path::new(&manifest)
        .parent()
        .context("a manifest without a folder")?;
    Ok(Package {
        version: word("version").context("a package without a version")?,
        repository: word("repository").unwrap_or_else(|| "no repository named".to_owned()),
        folder: folder.display().to_string(),
        licence,
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, source: Option<&str>, licence: Option<&str>) -> Value {
        json!({"id": name, "name": name, "version": "1.0.0", "source": source, "license": licence, "manifest_path": format!("/p/{name}/Cargo.toml")})
    }

    fn node(name: &str, uses: &[(&str, Option<&str>)]) -> Value {
        let deps: Vec<Value> = uses
            .iter()
            .map(|(used, kind)| json!({"pkg": used, "dep_kinds": [{"kind": kind}]}))
            .collect();
        json!({"id": name, "deps": deps})
    }

    fn metadata() -> Value {
        json!({
            "packages": [
                package("ours", None, Some("MIT")),
                package("library", None, Some("MIT")),
                package("far", Some("registry"), Some("ISC")),
                package("near", Some("registry"), Some("MIT OR Apache-2.0")),
                package("tests", Some("registry"), Some("GPL-3.0")),
                package("builds", Some("registry"), None),
                package("unused", Some("registry"), None),
            ],
            "resolve": {"nodes": [
                node("ours", &[("library", None), ("tests", Some("dev")), ("builds", Some("build"))]),
                node("library", &[("near", None), ("library", None)]),
                node("near", &[("far", None)]),
                node("far", &[]),
                node("unused", &[]),
            ]},
        })
    }

    #[test]
    fn what_runs_is_listed_and_what_tests_or_builds_is_not() {
        let found = foreign(&metadata(), &["ours"]).unwrap();
        let names: Vec<&str> = found.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["far", "near"]);
        assert!(foreign(&metadata(), &["ours", "gone"]).is_err());
    }

    #[test]
    fn a_package_without_a_licence_stops_it() {
        let refused = foreign(&metadata(), &["ours"])
            .and_then(|_| described(&package("x", Some("registry"), None)));
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("names no licence")
        );
    }

    #[test]
    fn a_text_stands_once_with_all_that_carry_it() {
        let packages = foreign(&metadata(), &["ours"]).unwrap();
        let of = vec!["far 1.0.0".to_owned(), "near 1.0.0".to_owned()];
        let document = document(
            &packages,
            &["none 1.0.0".to_owned()],
            &BTreeMap::from([("Permission\n".to_owned(), of)]),
        );
        assert!(
            document.contains("near 1.0.0: MIT OR Apache-2.0; no repository named\n"),
            "{document}"
        );
        assert!(document.contains("far 1.0.0, near 1.0.0\n\nPermission\n"));
        assert!(document.contains("Without a text in their package: none 1.0.0\n"));
    }
}
