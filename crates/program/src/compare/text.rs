//! The form of a comparison's text.

/// Names that a line lists before it counts the rest.
const LISTED: usize = 6;

/// Adds lines below a title, where there are some.
pub fn section(lines: &mut Vec<String>, title: &str, entries: &[String]) {
    if entries.is_empty() {
        return;
    }
    lines.push(String::new());
    lines.push(format!("{title}:"));
    lines.extend(entries.iter().map(|entry| format!("  {entry}")));
}

/// A column's width at most; a cell beyond it stands out of its column.
const MOST_WIDTH: usize = 200;

/// Rows of cells, the heads first, in columns as wide as they need; those of numbers are right-aligned. All rows have as many
/// cells as the heads.
#[must_use]
pub fn columns(cells: &[Vec<String>], of_numbers: &[usize]) -> Vec<String> {
    let count = cells.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let widths = cells.iter().filter_map(|row| row.get(column));
        let widest = widths.map(|cell| cell.chars().count()).max();
        widest.unwrap_or(0).min(MOST_WIDTH)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    cells
        .iter()
        .map(|row| {
            let padded: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| {
                    if of_numbers.contains(&column) {
                        format!("{cell:>width$}")
                    } else {
                        format!("{cell:<width$}")
                    }
                })
                .collect();
            padded.join("  ")
        })
        .collect()
}

/// Four significant digits or two decimals, whichever is more.
#[must_use]
pub fn significant(value: f64) -> String {
    if value.abs() >= 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// `1 number`, `2 numbers`.
#[must_use]
pub fn numbers(count: usize) -> String {
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

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let rows = [row(["a", "us"]), row(["long", "1"])];
        assert_eq!(columns(&rows, &[1]), ["a     us", "long   1"]);
        // A name of a file may be as long as the file; no format takes a width beyond 65,535.
        let long = "x".repeat(70_000);
        let lines = columns(&[row([&long, "us"]), row(["a", "1"])], &[1]);
        assert_eq!(
            (lines[0].len(), lines[1].len()),
            (70_000 + 4, MOST_WIDTH + 4)
        );
    }
}
