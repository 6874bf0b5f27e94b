//! Circles of a crate: files that import each other, directly or through others.
//!
//! A name that `mod.rs`, `lib.rs` or `main.rs` exports again counts as an import of the file that defines it; where several
//! exports may bring it, of each. Tests do not count. It reads text only: no macro is expanded, and an import by one is missed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

/// How many re-exports are followed behind each other.
const HOPS: usize = 3;

/// A `use` statement: whether it is public to anybody, and its tree.
static USE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);").expect("a pattern"));
/// A path in an expression.
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(?:crate|super)(?:::\w+)+").expect("a pattern"));
/// What is defined, and not only listed.
static DEFINES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(?:fn|struct|enum)\b").expect("a pattern"));

/// The segments of a path.
type Segments = Vec<String>;

/// The files of a crate by their module paths.
#[derive(Debug, Default)]
pub(super) struct Modules(BTreeMap<Segments, Module>);

#[derive(Debug, Default)]
struct Module {
    imports: BTreeSet<Segments>,
    /// Empty but for a `mod.rs`, `lib.rs` or `main.rs`; the segments begin there, a glob ends with `*`.
    exports: BTreeSet<Segments>,
}

impl Modules {
    /// Adds a file by its path below `src` and its product code. `lib.rs` must come before `main.rs`.
    pub(super) fn add(&mut self, path: &str, product: &str) {
        let mut module = segments(&path.trim_end_matches(".rs").replace('/', "::"));
        let is_list = |last: &mut String| ["mod", "lib", "main"].contains(&last.as_str());
        let lists = module.pop_if(is_list).is_some();
        let mut found = Module::default();
        // What only lists and exports has no imports of its own.
        let imports = !lists || DEFINES.is_match(product);
        for statement in USE.captures_iter(product) {
            let tree = statement.get(2).map_or("", |tree| tree.as_str());
            let head = tree.split("::").next().unwrap_or_default();
            if imports && ["crate", "super", "self"].contains(&head) {
                flatten("", tree, &mut found.imports);
            }
            if lists && statement.get(1).is_some() && !["crate", "super"].contains(&head) {
                flatten("", tree.trim_start_matches("self::"), &mut found.exports);
            }
        }
        if imports {
            let paths = PATH.find_iter(product).map(|path| segments(path.as_str()));
            found.imports.extend(paths);
        }
        self.0.insert(module, found);
    }

    /// The files that stand in circles, by their module paths.
    pub(super) fn in_circles(&self) -> Vec<String> {
        let edges: BTreeMap<&Segments, BTreeSet<&Segments>> =
            self.0.keys().map(|name| (name, self.uses(name))).collect();
        let comes_back = |start: &&&Segments| {
            let (mut reached, mut open) = (BTreeSet::new(), vec![**start]);
            while let Some(name) = open.pop() {
                open.extend(edges[name].iter().filter(|next| reached.insert(**next)));
            }
            reached.contains(**start)
        };
        let rings = edges.keys().filter(comes_back);
        rings.map(|name| name.join("/")).collect()
    }

    /// The other files that a file imports.
    fn uses(&self, user: &Segments) -> BTreeSet<&Segments> {
        let mut used = BTreeSet::new();
        for import in &self.0[user].imports {
            let mut path = user.clone();
            for segment in import {
                match segment.as_str() {
                    "crate" => path.clear(),
                    "super" => drop(path.pop()),
                    "self" | "*" => {}
                    name => path.push(name.to_owned()),
                }
            }
            self.defining(&path, HOPS, &mut used);
        }
        used.remove(user);
        used
    }

    /// Adds the files that a path means.
    fn defining<'a>(&'a self, path: &[String], hops: usize, found: &mut BTreeSet<&'a Segments>) {
        let mut ends = (0..=path.len()).rev();
        let known = ends.find_map(|end| self.0.get_key_value(&path[..end]));
        let Some((name, module)) = known else {
            return;
        };
        let mut exported = Vec::new();
        if let Some(wanted) = path.get(name.len()).filter(|_| hops > 0) {
            for export in &module.exports {
                let Some((last, parents)) = export.split_last() else {
                    continue;
                };
                let target = [name, parents, std::slice::from_ref(wanted)].concat();
                if (last == wanted || last == "*") && target != path {
                    exported.push(target);
                }
            }
        }
        if exported.is_empty() {
            found.insert(name);
        }
        for target in exported {
            self.defining(&target, hops - 1, found);
        }
    }
}

/// Adds every path of a `use` tree, without the names that they get with `as`.
fn flatten(prefix: &str, tree: &str, found: &mut BTreeSet<Segments>) {
    let (head, list) = tree.split_once('{').unwrap_or((tree, ""));
    let head = head.split_whitespace().next().unwrap_or_default();
    let path = format!("{prefix}{head}");
    let Some((list, _)) = list.rsplit_once('}') else {
        found.insert(segments(&path));
        return;
    };
    let mut depth = 0;
    let parts = list.split(|character| {
        depth += isize::from(character == '{') - isize::from(character == '}');
        character == ',' && depth == 0
    });
    for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
        flatten(&path, part, found);
    }
}

fn segments(path: &str) -> Segments {
    let parts = path.split("::").filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}
