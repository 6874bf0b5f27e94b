//! The form of a comparison's text.

/// Names that a line lists before it counts the rest.
const LISTED: usize = 6;

/// Four significant digits or two decimals, whichever is more.
#[must_use]
pub(super) fn significant(value: f64) -> String {
    if value.abs() >= 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// `1 number`, `2 numbers`.
#[must_use]
pub(super) fn numbers(count: usize) -> String {
    format!("{count} number{}", if count == 1 { "" } else { "s" })
}

/// The first few of a list, and how many more there are.
#[must_use]
pub fn listed(all: &[String], between: &str) -> String {
    let shown = all.iter().take(LISTED).cloned().collect::<Vec<_>>();
    match all.len().saturating_sub(LISTED) {
        0 => shown.join(between),
        more => format!("{} and {more} more", shown.join(between)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_counted() {
        let all: Vec<String> = (0..8).map(|number| number.to_string()).collect();
        assert_eq!(listed(&all, ", "), "0, 1, 2, 3, 4, 5 and 2 more");
        assert_eq!(listed(&all[..6], ", "), "0, 1, 2, 3, 4, 5");
    }
}
