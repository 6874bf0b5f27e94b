//! Control characters out of texts that others wrote: an escape sequence or a line break in a name could else draw what was
//! never measured.

/// The text with line breaks as spaces and other control characters as U+FFFD.
#[must_use]
pub fn replaced(text: &str) -> String {
    text.replace("\r\n", " ")
        .replace('\n', " ")
        .replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_are_spaces_and_escapes_are_marked() {
        assert_eq!(replaced("a\r\nb\nc"), "a b c");
        assert_eq!(
            replaced("\u{1b}[31mred\r\t\u{9b}"),
            "\u{fffd}[31mred\u{fffd}\u{fffd}\u{fffd}"
        );
        assert_eq!(replaced("Qwen2.5-72B · ü"), "Qwen2.5-72B · ü");
    }
}
