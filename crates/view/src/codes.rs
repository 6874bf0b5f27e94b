//! The page of each code: a line, then what it means, why it matters, what to do, and a source. `help CODE` prints it, and the
//! meaning of a word of the field.

/// All pages: a head of two number signs and the code, its line, and the page.
const PAGES: &str = include_str!("codes.md");

/// The field's words that screens use, in the same form.
const WORDS: &str = include_str!("words.md");

/// Every code with its page, in the order of the file.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    pages(PAGES)
}

fn pages(of: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    of.split("\n## ").skip(1).map(|page| {
        let (code, page) = page.split_once('\n').unwrap_or((page, ""));
        (code.trim(), page.trim())
    })
}

/// The page of a code, of a class of paths, a grade or a word such as TPOT, in any case; `None` where there is none.
#[must_use]
pub fn page(code: &str) -> Option<&'static str> {
    let code = code.to_ascii_lowercase();
    let code = match code.trim_start_matches("grade-") {
        "node" | "phb" | "pxb" | "pix" => "sys",
        "a" | "b" | "c" | "d" => "grade",
        code => code,
    };
    all()
        .chain(pages(WORDS))
        .find(|(known, _)| *known == code)
        .map(|(_, page)| page)
}

/// The line of a code, at most 100 characters; empty where there is no such code.
#[must_use]
pub fn line(code: &str) -> &'static str {
    page(code)
        .and_then(|page| page.lines().next())
        .unwrap_or("")
}

/// How the paragraph of a page begins that says what to do.
const TODO: &str = "What to do: ";

/// What to do, as the page of a code says in its paragraph of that name, on one line.
#[must_use]
pub fn todo(code: &str) -> Option<String> {
    let (_, rest) = page(code)?.split_once(TODO)?;
    let (todo, _) = rest.split_once("\nSource: ")?;
    Some(todo.replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_explained_and_hide_no_code() {
        assert!(line("TPOT").starts_with("Time per output token, ms"));
        for (word, page) in pages(WORDS) {
            assert!(all().all(|(code, _)| code != word), "{word}");
            assert!(
                page.lines().all(|line| line.chars().count() <= 100),
                "{word}"
            );
        }
    }

    #[test]
    fn each_code_is_there_once_and_its_lines_fit() {
        let mut codes: Vec<&str> = all().map(|(code, _)| code).collect();
        let of = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), of);
        assert!(of > 0);
        for (code, page) in all() {
            let is_kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(code.chars().all(is_kebab), "{code}");
            assert!(!line(code).is_empty() && page.lines().count() > 2, "{code}");
            for line in page.lines() {
                assert!(line.chars().count() <= 100, "{code}: {line}");
            }
        }
    }
}
