//! The other programs of this repository: where they stand, and what one that ended said last. Nothing is started here.

use std::path::PathBuf;

/// The file of a program that stands beside this one.
///
/// # Errors
/// It is not there; the error says how to build it, `built_by` being the command that builds all that this program starts.
pub fn beside(program: &str, built_by: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe()
        .map_err(|error| format!("cannot find this program's own file: {error}"))?;
    let file = own.with_file_name(program);
    if file.is_file() {
        Ok(file)
    } else {
        Err(format!(
            "{} is not there; `{built_by}` builds all programs, or build it with `cargo build --release -p {program}`",
            file.display()
        ))
    }
}

/// The line that says what went wrong, or else the last one.
#[must_use]
pub fn last_error(text: &str) -> String {
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .rev();
    let is_error = |line: &&str| {
        let begins = ["error:", "nothing was measured", "INVALID:"];
        begins.iter().any(|begin| line.starts_with(begin))
    };
    let said = lines.clone().find(is_error).or_else(|| lines.next());
    said.unwrap_or("it said nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_the_error_is_told_and_not_the_one_after_it() {
        assert_eq!(last_error("a\nerror: b\nresult: c\n"), "error: b");
        assert_eq!(last_error("INVALID: a\ncomplete\n"), "INVALID: a");
        assert_eq!(last_error("a\nb\n\n"), "b");
        assert_eq!(last_error(""), "it said nothing");
    }

    #[test]
    fn a_program_that_is_not_there_is_named_with_how_to_build_it() {
        let told = beside("no-such-program", "cargo xtask study").unwrap_err();
        assert!(told.contains("no-such-program is not there"), "{told}");
        assert!(told.contains("`cargo xtask study`"), "{told}");
    }
}
