//! Prometheus text, as much of it as counters need: name and value of each sample.
//!
//! What is not a sample is passed over: a server's page of counters may hold anything. Labels are not read, but quoted values
//! in them may hold brackets and blanks. Kinds and help texts are of no use here.

/// No counter of a serving engine is larger; sums and means of those that are not stay finite.
const MAX_VALUE: f64 = 1e15;

/// Name and value of each sample that may be one of a serving engine.
pub(super) fn samples(text: &str) -> impl Iterator<Item = (&str, f64)> {
    text.lines().filter_map(sample)
}

/// `name{label="value",..} 1.5 [time]`.
fn sample(line: &str) -> Option<(&str, f64)> {
    let line = line.trim_start();
    let length = line
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':'))
        .count();
    let (name, rest) = line.split_at(length);
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let rest = match rest.trim_start().strip_prefix('{') {
        Some(labels) => &labels[end_of_labels(labels)?..],
        None if rest.starts_with([' ', '\t']) => rest,
        None => return None,
    };
    let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
    (value.abs() <= MAX_VALUE).then_some((name, value))
}

/// Where the text goes on behind the bracket that ends the labels.
fn end_of_labels(labels: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in labels.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'}' if !quoted => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(&str, f64)> {
        samples(text).collect()
    }

    #[test]
    fn labels_may_hold_brackets_quotes_and_blanks() {
        let text = "a:b_total{m=\"x} 9 \\\" { y\",n=\"\"} 12.5 1700000000\n c 3\nd{} 1e3\r\ne {x=\"1\"} 4\n";
        assert_eq!(
            all(text),
            [("a:b_total", 12.5), ("c", 3.0), ("d", 1000.0), ("e", 4.0)]
        );
    }
}
