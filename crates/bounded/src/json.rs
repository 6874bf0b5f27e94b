//! What the values of a JSON text may take in memory, told from its bytes before it is parsed.

/// The most that they may take, bytes: with the text, and beside a program of 50 MiB, below 500 MB.
const MOST: u64 = 256 << 20;

/// Bytes in memory of one value of a kind.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    number: u64,
    other: u64,
    list: u64,
    object: u64,
}

/// Values of a type of ours: a number in a list of numbers, and what else stands between commas.
pub const TYPED: Weights = Weights {
    number: 8,
    other: 64,
    list: 64,
    object: 256,
};

/// A tree of any values: `serde_json::Value` takes 32 bytes, a list begins with four of them, an object with eleven and their keys.
pub const TREE: Weights = Weights {
    number: 32,
    other: 64,
    list: 144,
    object: 640,
};

/// Whether the values of a JSON text, or of several in one file, fit into the memory that is left for them.
#[must_use]
pub fn fits(json: &[u8], weights: &Weights) -> bool {
    let (mut bytes, mut in_text, mut escaped, mut after_comma) = (0_u64, false, false, false);
    for byte in json {
        if in_text {
            in_text = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        if after_comma && !byte.is_ascii_whitespace() {
            after_comma = false;
            bytes += match byte {
                b'-' | b'0'..=b'9' => weights.number,
                _ => weights.other,
            };
        }
        match byte {
            b'"' => in_text = true,
            b',' => after_comma = true,
            b'[' => bytes += weights.list,
            b'{' => bytes += weights.object,
            _ => {}
        }
    }
    bytes <= MOST
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
}
