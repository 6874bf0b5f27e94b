//! What the lines of a source file are: product code, comments or tests.
//!
//! It reads text line by line and knows no Rust: braces in literals of a test count, too.

/// Folders of a crate that hold tests only.
const TEST_FOLDERS: &[&str] = &["tests", "benches", "examples"];

/// How many lines are what; blank ones count only in tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    /// Neither blank, comment nor test.
    pub(super) code: usize,
    /// Begin with `//`.
    pub(super) comments: usize,
    /// Stand below `#[cfg(test)]`, or in a file of tests.
    pub(super) tests: usize,
}

/// What the next line belongs to.
#[derive(Clone, Copy)]
enum Part {
    Product,
    /// `#[cfg(test)]` was read, the item that it stands before was not.
    Attribute,
    /// Inside the braces of a test item, so many deep.
    Tests(isize),
}

impl Part {
    fn after_test_line(self, line: &str) -> Part {
        let depth = match self {
            Part::Product => return Part::Attribute,
            Part::Attribute if line.ends_with(';') => return Part::Product,
            Part::Attribute if !line.ends_with('{') => return Part::Attribute,
            Part::Attribute => 0,
            Part::Tests(depth) => depth,
        };
        let braces = |brace: char| line.matches(brace).count().cast_signed();
        match depth + braces('{') - braces('}') {
            depth @ 1.. => Part::Tests(depth),
            _ => Part::Product,
        }
    }
}

/// Counts a file's lines and returns its product code.
pub(super) fn split(text: &str, lines: &mut Lines) -> String {
    let (mut product, mut part) = (String::new(), Part::Product);
    // Not `lines()`: a test item that never closes reaches to the end of the file, and that is a line.
    for line in text.split('\n') {
        let bare = line.trim();
        if !matches!(part, Part::Product) || bare.starts_with("#[cfg(test)]") {
            lines.tests += 1;
            part = part.after_test_line(bare);
        } else if bare.starts_with("//") {
            lines.comments += 1;
        } else if !bare.is_empty() {
            lines.code += 1;
            product.push_str(line);
            product.push('\n');
        }
    }
    product
}

/// Tells whether a file, by its path below the crate's folder, holds tests only.
pub(super) fn is_test(inner: &str) -> bool {
    let (folder, name) = inner.rsplit_once('/').unwrap_or(("", inner));
    let mut folders = folder.split('/');
    let first = folders.next().unwrap_or_default();
    TEST_FOLDERS.contains(&first)
        || folders.any(|folder| folder == "tests")
        || ["tests.rs", "test.rs"].contains(&name)
        || name.starts_with("test_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_count_in_tests_only() {
        for (text, expected) in [
            ("", [0, 0, 0]),
            (
                "fn f() {}\n\n  // Why.\n/// What.\nfn g() {} // Not a line of its own.\n",
                [2, 2, 0],
            ),
            // A module of 4 lines, one of them blank, and its attribute.
            (
                "a\n#[cfg(test)]\nmod tests {\n    fn t() {\n\n    }\n}\nb\n",
                [2, 0, 6],
            ),
            // Attributes between the mark and the item; an item that ends with a semicolon.
            (
                "#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests;\na\n",
                [1, 0, 3],
            ),
            // Never closed: to the end, and the empty line after the last end counts.
            ("#[cfg(test)]\nmod tests {\na\n", [0, 0, 4]),
            // Other conditions are no tests.
            ("#[cfg(not(test))]\na\n", [2, 0, 0]),
        ] {
            let mut lines = Lines::default();
            let product = split(text, &mut lines);
            assert_eq!(product.lines().count(), lines.code, "{text}");
            assert_eq!(
                [lines.code, lines.comments, lines.tests],
                expected,
                "{text}"
            );
        }
    }
}
