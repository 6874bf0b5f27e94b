//! The paths within its crate that a source text names, as segments.
//!
//! They are found in text, in `use` trees and wherever `crate::` or `super::` stands; no macro is expanded.

use std::collections::BTreeSet;

use crate::tidy::code::{in_word, word_starts};

/// The segments of a path.
pub(super) type Segments = Vec<String>;

/// What `use` statements that begin with `crate`, `super` or `self` import, and all other paths from `crate::` and `super::`.
pub(super) fn named(text: &str) -> BTreeSet<Segments> {
    let mut found = BTreeSet::new();
    for (_, tree) in uses(text) {
        if ["crate", "super", "self"].contains(&first_word(tree)) {
            flatten(&[], tree, &mut found);
        }
    }
    for head in ["crate", "super"] {
        for start in word_starts(text, head) {
            let path = path_at(&text[start..]);
            // After `super::` it is the middle of a path that was read from its beginning.
            if path.len() > 1 && !text[..start].ends_with("super::") {
                found.insert(path);
            }
        }
    }
    found
}

/// What the file exports again of the modules below it; the segments begin there, a glob ends with `*`.
pub(super) fn reexported(text: &str) -> BTreeSet<Segments> {
    let mut found = BTreeSet::new();
    for (_, tree) in uses(text).filter(|(public, _)| *public) {
        match first_word(tree) {
            "crate" | "super" => {}
            "self" => flatten(
                &[],
                tree["self".len()..].trim_start_matches("::"),
                &mut found,
            ),
            _ => flatten(&[], tree, &mut found),
        }
    }
    found
}

/// Every `use` statement: whether it is public to anybody, and its tree.
fn uses(text: &str) -> impl Iterator<Item = (bool, &str)> {
    word_starts(text, "use").filter_map(|start| {
        let (tree, _) = text[start + "use".len()..].split_once(';')?;
        let before = text[..start].trim_end();
        let scope = before
            .strip_suffix(')')
            .and_then(|before| before.rsplit_once('('));
        let public = scope.map_or(before, |(before, _)| before).ends_with("pub");
        tree.starts_with(char::is_whitespace)
            .then(|| (public, tree.trim()))
    })
}

/// Adds every path of a `use` tree, without the names that they get with `as`.
fn flatten(prefix: &[String], tree: &str, found: &mut BTreeSet<Segments>) {
    let (head, list) = tree.split_once('{').unwrap_or((tree, ""));
    let head = head.split_whitespace().next().unwrap_or_default();
    let mut path = prefix.to_vec();
    path.extend(
        head.split("::")
            .filter(|part| !part.is_empty())
            .map(str::to_owned),
    );
    let Some((list, _)) = list.rsplit_once('}') else {
        found.insert(path);
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

fn first_word(text: &str) -> &str {
    text.split(|character| !in_word(character))
        .next()
        .unwrap_or_default()
}

/// The path of plain names with which the text begins.
fn path_at(text: &str) -> Segments {
    let mut path = vec![first_word(text)];
    let mut rest = &text[path[0].len()..];
    while let Some(after) = rest.strip_prefix("::") {
        let name = first_word(after);
        if name.is_empty() {
            break;
        }
        path.push(name);
        rest = &after[name.len()..];
    }
    path.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(paths: BTreeSet<Segments>) -> Vec<String> {
        paths.iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn trees_are_flattened_and_paths_in_expressions_found() {
        for (text, expected) in [
            ("use crate::a::B;", &["crate::a::B"][..]),
            (
                "use super::{a::{self, B as C}, d::*};",
                &["super::a::B", "super::a::self", "super::d::*"],
            ),
            (
                "pub(in crate::x) use self::y::Z;",
                &["crate::x", "self::y::Z"],
            ),
            (
                "f(super::super::a::g(1), $crate::b!())",
                &["crate::b", "super::super::a::g"],
            ),
            (
                "use std::fs; use supervisor::x; fn used() {} crate_x::y()",
                &[],
            ),
        ] {
            assert_eq!(joined(named(text)), expected, "{text}");
        }
    }
}
