//! What the values of a JSON text may take in memory, told from its bytes before it is parsed.

/// The most that they may take, bytes: with a text of up to [`RESULT`](crate::RESULT), and beside a program of 50 MiB, below 500 MB.
pub const MOST_VALUES: u64 = 256 << 20;

/// Bytes in memory of one value of a kind.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    number: u64,
    other: u64,
    key: u64,
    list: u64,
    object: u64,
}

/// Values of a type of ours: a number in a list of numbers, a field of a struct, and what else stands in a list.
///
/// A struct takes what its fields do: an object that only names what it holds takes nothing.
pub const TYPED: Weights = Weights {
    number: 8,
    other: 32,
    key: 16,
    list: 16,
    object: 0,
};

/// A tree of any values: `serde_json::Value` takes 32 bytes, a list begins with four of them, an object with eleven and their keys.
pub const TREE: Weights = Weights {
    number: 32,
    other: 64,
    key: 64,
    list: 144,
    object: 640,
};

/// Whether the values of a JSON text, or of several in one file, fit into the memory that is left for them.
#[must_use]
pub fn fits(json: &[u8], weights: &Weights) -> bool {
    weight(json, weights) <= MOST_VALUES
}

/// Bytes that the values of a JSON text take.
#[must_use]
pub fn weight(json: &[u8], weights: &Weights) -> u64 {
    let (mut bytes, mut in_text, mut escaped) = (0_u64, false, false);
    let (mut after_comma, mut after_text) = (false, false);
    for byte in json {
        if in_text {
            in_text = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        if byte.is_ascii_whitespace() {
            continue;
        }
        if after_text {
            after_text = false;
            bytes += match byte {
                b':' => weights.key,
                _ => weights.other,
            };
        }
        if after_comma {
            after_comma = false;
            match byte {
                b'-' | b'0'..=b'9' => bytes += weights.number,
                b'"' => after_text = true,
                _ => bytes += weights.other,
            }
        }
        match byte {
            b'"' => in_text = true,
            b',' => after_comma = true,
            b'[' => bytes += weights.list,
            b'{' => bytes += weights.object,
            _ => {}
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_by_what_they_take_and_texts_are_not_looked_into() {
        // 256 MiB / 8 bytes = 33,554,432 numbers of a type, and a quarter of them in a tree.
        let numbers = |count: usize| format!("[0{}]", ", 0".repeat(count));
        assert!(fits(numbers(9_000_000).as_bytes(), &TYPED));
        assert!(!fits(numbers(9_000_000).as_bytes(), &TREE));
        assert!(fits(numbers(8_000_000).as_bytes(), &TREE));
        // 256 MiB / 704 bytes = 381,300 objects between commas.
        assert!(!fits("{},".repeat(390_000).as_bytes(), &TREE));
        let text = format!("[\"\\\"{}\"]", "{},".repeat(390_000));
        assert!(fits(text.as_bytes(), &TREE));
    }
    #[test]
    fn a_field_weighs_less_than_a_text_in_a_list_and_a_wrapper_nothing() {
        let typed = |json: &str| weight(json.as_bytes(), &TYPED);
        // A list, and behind its first value a number, a text, a literal and an object.
        assert_eq!(typed(r#"[0, 1, "a", null, {}]"#), 16 + 8 + 3 * 32);
        assert_eq!(typed(r#"{"a": {"b": {"c": 1, "d" : "e,f"}}}"#), 16);
    }
}
