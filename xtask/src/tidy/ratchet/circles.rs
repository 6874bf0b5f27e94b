//! Circles of a crate: files that import each other, directly or through others.
//!
//! A name that `mod.rs`, `lib.rs` or `main.rs` exports again counts as an import of the file that defines it; where several
//! exports may bring it, of each. Tests do not count. It reads text only, so an import by a macro is missed.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::{Segments, named, reexported};
use crate::tidy::code::has_word;

/// How many re-exports are followed behind each other.
const HOPS: usize = 3;

/// The files of a crate by their module paths.
#[derive(Debug, Default)]
pub(super) struct Modules(BTreeMap<Segments, Module>);

#[derive(Debug, Default)]
struct Module {
    imports: BTreeSet<Segments>,
    /// Empty but for a `mod.rs`, `lib.rs` or `main.rs`.
    exports: BTreeSet<Segments>,
}

impl Modules {
    /// Adds a file by its path below `src` and its product code.
    pub(super) fn add(&mut self, path: &str, product: &str) {
        let mut module: Segments = path
            .trim_end_matches(".rs")
            .split('/')
            .map(str::to_owned)
            .collect();
        let lists = module
            .pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()))
            .is_some();
        let mut defines = ["fn", "struct", "enum"].into_iter();
        let mut found = Module::default();
        // What only lists and exports has no imports of its own.
        if !lists || defines.any(|word| has_word(product, word)) {
            found.imports = named(product);
        }
        if lists {
            found.exports = reexported(product);
        }
        self.0.insert(module, found);
    }

    /// Returns how many circles there are and how many files stand in them.
    pub(super) fn circles(&self) -> (usize, usize) {
        let edges: BTreeMap<&Segments, BTreeSet<&Segments>> =
            self.0.keys().map(|name| (name, self.uses(name))).collect();
        let reached: BTreeMap<&Segments, BTreeSet<&Segments>> = edges
            .keys()
            .map(|start| (*start, reachable(start, &edges)))
            .collect();
        let (mut circles, mut files) = (0, 0);
        for (name, far) in &reached {
            if far.contains(name) {
                files += 1;
                // Each circle is counted at the first of its files.
                let mut ring = far.iter().filter(|other| reached[*other].contains(name));
                circles += usize::from(ring.next() == Some(name));
            }
        }
        (circles, files)
    }

    /// The other files that a file imports.
    fn uses(&self, user: &Segments) -> BTreeSet<&Segments> {
        let mut used = BTreeSet::new();
        for import in &self.0[user].imports {
            let mut base = user.as_slice();
            let mut path = import.as_slice();
            while let Some((first, rest)) = path.split_first() {
                match first.as_str() {
                    "crate" => base = &[],
                    "super" => base = &base[..base.len().saturating_sub(1)],
                    "self" => {}
                    _ => break,
                }
                path = rest;
            }
            let names = path.iter().filter(|name| *name != "*");
            let path: Segments = base.iter().chain(names).cloned().collect();
            self.defining(&path, HOPS, &mut used);
        }
        used.remove(user);
        used
    }

    /// Adds the files that a path means.
    fn defining<'a>(&'a self, path: &[String], hops: usize, found: &mut BTreeSet<&'a Segments>) {
        let known = (0..=path.len())
            .rev()
            .find_map(|end| self.0.get_key_value(&path[..end]));
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

/// Everything that can be reached over the edges; the start only where a way leads back to it.
fn reachable<'a>(
    start: &'a Segments,
    edges: &BTreeMap<&'a Segments, BTreeSet<&'a Segments>>,
) -> BTreeSet<&'a Segments> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(name) = open.pop() {
        open.extend(edges[name].iter().filter(|next| reached.insert(**next)));
    }
    reached
}
