//! Control characters out of texts that others wrote: an escape sequence or a line break in a name could else draw what was
//! never measured.

/// The text with line breaks as spaces and other control characters as U+FFFD.
#[must_use]
pub fn replaced(text: &str) -> String {
    text.replace("\r\n", " ")
        .replace('\n', " ")
        .replace(is_unseen, "\u{fffd}")
}

/// How many characters of a file a message quotes.
const QUOTED: usize = 80;

/// The text as [`replaced`], cut to what a message can quote of a file: a line of one may be as long as the file.
#[must_use]
pub fn shortened(text: &str) -> String {
    first(text, QUOTED)
}

/// As [`shortened`], between backticks.
#[must_use]
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        None => format!("`{}`", replaced(text)),
        Some((end, _)) => format!("`{}`{}", replaced(&text[..end]), more(text, end)),
    }
}

/// The text as [`replaced`], cut to that many characters.
#[must_use]
pub fn first(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => replaced(text),
        Some((end, _)) => format!("{}{}", replaced(&text[..end]), more(text, end)),
    }
}

/// How much more stands behind a place of a text.
fn more(text: &str, end: usize) -> String {
    format!("… ({} more bytes)", text.len() - end)
}

/// Whether a character is a control character, or one of those that turn the direction of what stands beside them (Unicode's
/// `Bidi_Control`): neither is seen, and both change what is read.
#[must_use]
pub fn is_unseen(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    c.is_control() || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_quotes_is_cut_and_says_what_is_left_out() {
        let whole = "ü".repeat(80);
        assert_eq!(shortened(&whole), whole);
        assert_eq!(quoted(&whole), format!("`{whole}`"));
        // 20 more of two bytes each.
        let long = "ü".repeat(100);
        assert_eq!(shortened(&long), format!("{whole}… (40 more bytes)"));
        assert_eq!(quoted(&long), format!("`{whole}`… (40 more bytes)"));
        assert_eq!(first("a\u{1b}bc", 3), "a\u{fffd}b… (1 more bytes)");
    }

    #[test]
    fn line_breaks_are_spaces_and_escapes_are_marked() {
        assert_eq!(replaced("a\r\nb\nc"), "a b c");
        assert_eq!(
            replaced("\u{1b}[31mred\r\t\u{9b}"),
            "\u{fffd}[31mred\u{fffd}\u{fffd}\u{fffd}"
        );
        assert_eq!(replaced("Qwen2.5-72B · ü"), "Qwen2.5-72B · ü");
        // A right-to-left override would draw `4 > 2` of `2 < 4`.
        assert_eq!(replaced("a\u{202e}b\u{2066}"), "a\u{fffd}b\u{fffd}");
    }
}
