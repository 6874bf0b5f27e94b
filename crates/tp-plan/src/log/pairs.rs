//! Values of keys in one line, as Python prints them: `key=value`, `'key': value` and `"key":value`.

/// The value of a key, without its quotes; `None` where the key is not there or Python's `None`.
pub(super) fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mut from = 0;
    loop {
        let at = from + line.get(from..)?.find(key)?;
        from = at + key.len();
        let before = line.get(..at)?.chars().next_back();
        let after = line.get(from..)?;
        // Part of a longer key, such as `decode_attention_backend` of `attention_backend`.
        if before.is_some_and(|sign| sign.is_alphanumeric() || sign == '_') {
            continue;
        }
        let rest = match before {
            Some(quote @ ('\'' | '"')) => after
                .strip_prefix(quote)
                .and_then(|rest| rest.trim_start().strip_prefix(':')),
            _ => after.strip_prefix('='),
        };
        if let Some(rest) = rest {
            return Some(first(rest.trim_start())).filter(|value| *value != "None");
        }
    }
}

/// The value that a text begins with.
fn first(text: &str) -> &str {
    let mut signs = text.char_indices();
    let end = match signs.next() {
        Some((_, quote @ ('\'' | '"'))) => {
            let end = signs.find(|(_, sign)| *sign == quote);
            let end = end.map_or(text.len(), |(at, _)| at);
            return text.get(1..end).unwrap_or_default();
        }
        Some((_, open @ ('[' | '{' | '(' | '<'))) => {
            let close = match open {
                '[' => ']',
                '{' => '}',
                '(' => ')',
                _ => '>',
            };
            let mut depth = 1_u32;
            signs
                .find(|(_, sign)| {
                    if *sign == open {
                        depth += 1;
                    } else if *sign == close {
                        depth -= 1;
                    }
                    depth == 0
                })
                .map_or(text.len(), |(at, _)| at + 1)
        }
        _ => text
            .find(|sign: char| matches!(sign, ',' | ')' | '}' | ']') || sign.is_whitespace())
            .unwrap_or(text.len()),
    };
    text.get(..end).unwrap_or_default()
}

/// A whole number with or without commas at the beginning of a text.
pub(super) fn number(text: &str) -> Option<u64> {
    let digits: String = text
        .chars()
        .take_while(|sign| sign.is_ascii_digit() || *sign == ',')
        .filter(char::is_ascii_digit)
        .take(20)
        .collect();
    digits.parse().ok()
}

/// As [`number`], where it fits.
pub(super) fn small(text: &str) -> Option<u32> {
    number(text).and_then(|number| u32::try_from(number).ok())
}

/// `True` or `False`, also as JSON writes them.
pub(super) fn flag(text: &str) -> Option<bool> {
    match text {
        "True" | "true" => Some(true),
        "False" | "false" => Some(false),
        _ => None,
    }
}

/// The numbers of a list, ascending and once each; `None` where it is not one of numbers.
pub(super) fn sizes(text: &str) -> Option<Vec<u32>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let numbers = inner
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    let mut sizes = numbers
        .map(|word| word.parse().ok())
        .collect::<Option<Vec<u32>>>()?;
    sizes.sort_unstable();
    sizes.dedup();
    Some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_as_python_and_json_write_them() {
        let line = "config: model='a=b, tp_size=9', tp_size=2, dtype=torch.bfloat16, cc={'mode': <Mode.X: 3>, 'sizes': [4, 2, 1], \"n\":[8,1]}, q=None)";
        // The first `tp_size` stands inside a text and is taken; keys that matter do not occur in names of models.
        assert_eq!(value("a, tp_size=2", "tp_size"), Some("2"));
        assert_eq!(value(line, "model"), Some("a=b, tp_size=9"));
        assert_eq!(value(line, "dtype"), Some("torch.bfloat16"));
        assert_eq!(value(line, "mode"), Some("<Mode.X: 3>"));
        assert_eq!(value(line, "sizes").and_then(sizes), Some(vec![1, 2, 4]));
        assert_eq!(value(line, "n").and_then(sizes), Some(vec![1, 8]));
        assert_eq!(value(line, "q"), None);
        assert_eq!(
            value("decode_attention_backend=x", "attention_backend"),
            None
        );
    }

    #[test]
    fn what_is_cut_off_is_no_list_and_no_panic() {
        assert_eq!(value("sizes=[1, 2, ", "sizes").and_then(sizes), None);
        assert_eq!(value("key='open", "key"), Some("open"));
        assert_eq!(value("key", "key"), None);
        assert_eq!(value("key=", "key"), Some(""));
        assert_eq!(number("767,552 tokens"), Some(767_552));
        assert_eq!(number("x"), None);
        assert_eq!(number("99999999999999999999999"), None);
    }
}
