//! Words of source text: where one stands that is no part of a longer one.

/// Tells whether the line holds the word, not as a part of a longer one.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    word_starts(line, word).next().is_some()
}

/// Where the word stands in the text, not as a part of a longer one.
pub(crate) fn word_starts<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> {
    text.match_indices(word)
        .map(|(start, _)| start)
        .filter(|start| {
            !text[..*start].ends_with(in_word) && !text[start + word.len()..].starts_with(in_word)
        })
}

/// Tells whether the character can stand in a name.
pub(crate) fn in_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
