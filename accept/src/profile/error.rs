//! Why a profile cannot be used.

/// A profile was refused; exit code 2.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProfileError {
    /// Neither a profile that came with the program nor a file.
    #[error(
        "there is no profile or file `{name}`; {next}, and `accept profile list` shows those that came with the program"
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest name, or what to give.
        next: String,
    },
    /// The file cannot be read.
    #[error(
        "{origin} cannot be read ({source}); give a file of at most 256 KiB that this user may read"
    )]
    Io {
        /// The file.
        origin: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is no TOML of this form.
    #[error("{origin}, line {line}: {problem}")]
    At {
        /// The file.
        origin: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A value is wrong whose line is not known.
    #[error("{origin}: {problem}")]
    Invalid {
        /// The file.
        origin: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

/// The line of a byte, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    1 + before.filter(|byte| **byte == b'\n').count()
}

/// The word that is nearest to one, where one is near enough to be meant: at most a third of its letters differ, and one always may.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far_enough = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|known| (edits(word, known), known))
        .filter(|(edits, _)| *edits <= far_enough)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, known)| known)
}

/// How many letters must be put in, left out or changed to make one word of the other (Levenshtein).
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_near_where_a_third_of_its_letters_differ_at_most() {
        // widht to width: two letters changed; of five letters one may differ, so that it is not near, but with six it is.
        assert_eq!(edits("widht", "width"), 2);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(
            nearest("generaton", ["width", "generation"]),
            Some("generation")
        );
        assert_eq!(nearest("sourc", ["width", "source"]), Some("source"));
        assert_eq!(nearest("lanes", ["width", "generation"]), None);
    }

    #[test]
    fn lines_count_from_one() {
        assert_eq!((line_of("a\nb\n", 0), line_of("a\nb\n", 2)), (1, 2));
    }
}
