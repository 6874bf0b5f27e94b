//! Text inside HTML and XML.

use record::control::is_unseen;

/// Text that is safe between tags and inside quoted attributes; control characters, and those that turn the direction of what
/// stands beside them, become a replacement mark.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push(' '),
            unseen if is_unseen(unseen) => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_can_become_an_element() {
        assert_eq!(
            escape("<script a='b\"&\u{1b}\n>"),
            "&lt;script a=&#39;b&quot;&amp;\u{fffd} &gt;"
        );
        // A right-to-left override would turn the numbers behind a name around.
        assert_eq!(escape("a\u{202e}1.5\u{2066}"), "a\u{fffd}1.5\u{fffd}");
    }
}
