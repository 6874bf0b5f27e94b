//! Control characters out of texts that others wrote: an escape sequence or a line break in a name could else draw what was
//! never measured.

use std::borrow::Cow;

/// Escapes what [`is_unseen`], except line ends and tabs, as JSON does: `\u001b`.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| is_unseen(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_escaped(c) {
            // All of them are below U+10000.
            true => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// A word as a part of a file's name: `-` for a slash and `_` for what [`is_unseen`], cut to so many bytes; a whole name has 255.
#[must_use]
pub fn file_word(word: &str, most_bytes: usize) -> String {
    let mut kept = String::new();
    for c in word.chars() {
        let c = match c {
            '/' => '-',
            unseen if is_unseen(unseen) => '_',
            other => other,
        };
        if kept.len() + c.len_utf8() > most_bytes {
            break;
        }
        kept.push(c);
    }
    kept
}

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
        Some((end, _)) => format!("`{}`{}", replaced(&text[..end]), More(text.len() - end)),
    }
}

/// The text as [`replaced`], cut to that many characters.
#[must_use]
pub fn first(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => replaced(text),
        Some((end, _)) => format!("{}{}", replaced(&text[..end]), More(text.len() - end)),
    }
}

/// How many bytes of a text are not shown.
struct More(usize);

impl std::fmt::Display for More {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "… ({} more bytes)", self.0)
    }
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
    fn a_terminal_gets_no_control_and_nothing_that_turns_a_line() {
        assert!(matches!(visible("Qwen2.5 · ü\n\t"), Cow::Borrowed(_)));
        // ESC, CSI in one byte, NUL, DEL, a carriage return, and a right-to-left override.
        assert_eq!(
            visible("a\u{1b}[2J\u{9b}\0\u{7f}\r\u{202e}b\n"),
            "a\\u001b[2J\\u009b\\u0000\\u007f\\u000d\\u202eb\n"
        );
        // A string of JSON stays what it is.
        let name = "m\u{202e}\u{9b}";
        let json = serde_json::to_string(name).unwrap();
        assert!(json.contains('\u{202e}'));
        let read: String = serde_json::from_str(&visible(&json)).unwrap();
        assert_eq!(read, name);
    }

    #[test]
    fn a_word_in_a_file_name_leads_nowhere_and_draws_nothing() {
        assert_eq!(file_word("Qwen2.5-72B", 100), "Qwen2.5-72B");
        assert_eq!(file_word("../a\u{1b}\0\u{202e}b\n", 100), "..-a___b_");
        // 50 of two bytes each.
        assert_eq!(file_word(&"ü".repeat(200), 101), "ü".repeat(50));
    }

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
