//! [`columns`]: rows as aligned text.

/// Rows with their cells padded to columns, the first row being the head; no blanks at the ends of lines.
pub(super) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let padded: String = cells
            .map(|(cell, &width)| format!(" {cell:<width$} "))
            .collect();
        format!("{}\n", padded.trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_below_each_other_and_lines_end_without_blanks() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["A", "BB", "C"]),
            row(["—", "1", ""]),
            row(["222", "3", "4"]),
        ];
        assert_eq!(columns(&rows), " A    BB  C\n —    1\n 222  3   4\n");
    }
}
