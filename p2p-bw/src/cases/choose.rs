//! Which cases `--cases` means: named sets and globs.

use super::{ALL, Case};

/// The set that runs where `--cases` does not say.
pub(crate) const DEFAULT: &str = "core";

/// The set of every case.
const EVERY: &str = "all";

/// Whether one word of the list means a case: a set, or else a glob.
fn means(word: &str, case: &Case) -> bool {
    match word {
        DEFAULT => case.core,
        EVERY => true,
        glob => glob_matches(glob, case.key),
    }
}

/// The cases that a list of sets and globs (`*` and `?`) means, in table order.
///
/// # Errors
/// Names the first glob that matches nothing.
pub(crate) fn matching(list: &str) -> Result<Vec<&'static Case>, String> {
    let words: Vec<&str> = list
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return Err("an empty list of cases; see --list".to_owned());
    }
    if let Some(unknown) = words
        .iter()
        .find(|word| !ALL.iter().any(|case| means(word, case)))
    {
        let beginning = ALL.iter().any(|case| case.key.starts_with(unknown));
        let next = if beginning {
            format!("write `{unknown}*` for all that begin so")
        } else {
            format!("see --list for the {} cases", ALL.len())
        };
        return Err(format!("no case matches `{unknown}`; {next}"));
    }
    Ok(ALL
        .iter()
        .filter(|case| words.iter().any(|word| means(word, case)))
        .collect())
}

/// Whether a glob of `*` and `?` matches all of a text.
fn glob_matches(glob: &str, text: &str) -> bool {
    let mut glob_chars = glob.chars();
    match glob_chars.next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = glob_chars.as_str();
            (0..=text.len()).any(|at| text.is_char_boundary(at) && glob_matches(rest, &text[at..]))
        }
        Some(wanted) => {
            let mut chars = text.chars();
            chars
                .next()
                .is_some_and(|found| wanted == '?' || wanted == found)
                && glob_matches(glob_chars.as_str(), chars.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(list: &str) -> Vec<&'static str> {
        let cases = matching(list).unwrap();
        cases.into_iter().map(|case| case.key).collect()
    }

    #[test]
    fn globs_choose_cases_in_table_order() {
        assert_eq!(
            keys("d2h_p*_ce,h2d_pinned_ce"),
            ["h2d_pinned_ce", "d2h_pinned_ce", "d2h_pageable_ce"]
        );
        assert_eq!(keys("local?ce"), ["local_ce"]);
        assert_eq!(keys("*staged*"), ["d2d_staged_ce", "d2d_driver_staged_ce"]);
    }

    #[test]
    fn sets_are_words_of_the_list() {
        assert_eq!(keys("all"), keys("*"));
        assert_eq!(keys("*").len(), ALL.len());
        let (core, more) = (keys("core"), keys("ring_sm, core"));
        assert!(!core.contains(&"ring_sm") && more.contains(&"ring_sm"));
        assert_eq!(more.len(), core.len() + 1);
    }

    #[test]
    fn an_unknown_case_is_named() {
        assert!(
            matching("h2d_pinned_ce,nonsense")
                .unwrap_err()
                .contains("`nonsense`")
        );
        assert!(matching("h2d").unwrap_err().contains("`h2d*`"));
        assert!(matching(" , ").is_err());
    }
}
