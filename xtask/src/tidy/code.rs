//! Source text without its comments and literals, line by line, so that a word in them breaks no rule.
//!
//! It is no parser: it knows comments, strings, raw strings, characters and lifetimes, and nothing else of Rust.

/// Blanks comments and the contents of literals, and keeps every line end where it was.
pub(crate) fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = skip(bytes, at);
        if end > at {
            code.extend(
                bytes[at..end]
                    .iter()
                    .filter(|byte| **byte == b'\n')
                    .map(|_| '\n'),
            );
            code.push(' ');
            at = end;
        } else {
            code.push(char::from(bytes[at]));
            at += 1;
        }
    }
    code
}

/// Returns the end of the comment or literal that starts here, or `at` where none does.
fn skip(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        return at
            + rest
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        return at + block_comment(rest);
    }
    match rest[0] {
        b'"' => at + quoted(rest, b'"'),
        b'\'' if is_character(rest) => at + quoted(rest, b'\''),
        b'r' if !continues_a_word(bytes, at) => at + raw_string(rest),
        _ => at,
    }
}

/// A block comment; Rust lets them nest.
fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// A literal from its opening quote to its closing one; a backslash hides the byte after it.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `'a'` and `'\n'` are characters, `'a` in `&'a str` is a lifetime.
fn is_character(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        // A character takes up to four bytes of UTF-8.
        Some(first) if !first.is_ascii() => true,
        _ => rest.get(2) == Some(&b'\''),
    }
}

/// `r"..."` and `r##"..."##`; 0 where it is a plain word that begins with r.
fn raw_string(rest: &[u8]) -> usize {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let mut closing = vec![b'"'];
    closing.resize(1 + hashes, b'#');
    let body = &rest[hashes + 2..];
    let length = body
        .windows(closing.len())
        .position(|window| window == closing)
        .unwrap_or(body.len());
    (hashes + 2 + length + closing.len()).min(rest.len())
}

fn continues_a_word(bytes: &[u8], at: usize) -> bool {
    // `br"..."` and `cr"..."` end here too and are then blanked from their `r` on.
    let before = at.checked_sub(1).map(|before| bytes[before]);
    before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !matches!(before, Some(b'b' | b'c'))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_lines_stay() {
        for (text, code) in [
            ("a // unsafe\nb", "a  \nb"),
            ("a /* x /* y */ z\n */ b", "a \n  b"),
            (r#"f("un\"safe") + g"#, "f( ) + g"),
            ("f(r#\"a \" b\"#) + g", "f( ) + g"),
            ("f(br\"a\\\") + g", "f(b ) + g"),
            ("x('\\'', '\"', 'a') y", "x( ,  ,  ) y"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            ("for r in rows", "for r in rows"),
            ("\"one\ntwo\" three", "\n  three"),
        ] {
            assert_eq!(code_only(text), code, "{text}");
        }
    }

    #[test]
    fn a_word_is_not_found_inside_a_longer_one() {
        assert!(has_word("let x = unsafe { f() };", "unsafe"));
        assert!(!has_word("forbid(unsafe_code)", "unsafe"));
        assert!(!has_word("not_unsafe", "unsafe"));
    }
}
