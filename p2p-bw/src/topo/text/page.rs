//! [`Page`]: lines and columns of text, in which no text of others can draw anything.

use measure::control;

/// What stands where nothing is known.
pub(crate) const ABSENT: &str = "—";

/// How a fact that is not known begins.
const UNKNOWN: &str = "unknown";

/// The most characters of one cell; names that drivers and files give are shorter.
const CELL: usize = 100;

/// A text that grows by lines.
#[derive(Debug, Default)]
pub(crate) struct Page {
    text: String,
}

impl Page {
    /// A line, whose control characters are replaced.
    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(control::replaced(line).trim_end());
        self.text.push('\n');
    }

    /// An empty line and a line that says what follows.
    pub(crate) fn title(&mut self, title: &str) {
        self.line("");
        self.line(title);
    }

    /// Rows in columns of equal width, two spaces apart and two from the edge; empty columns are left out.
    pub(crate) fn table(&mut self, head: &[&str], rows: Vec<Vec<String>>) {
        let head = head.iter().map(|&name| name.to_owned()).collect();
        let rows: Vec<Vec<String>> = std::iter::once(head)
            .chain(rows)
            .map(|row: Vec<String>| row.iter().map(|cell| clean(cell)).collect())
            .collect();
        let cells = |column: usize| {
            rows.iter()
                .map(move |row| row.get(column).map_or("", String::as_str))
        };
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        // A head alone is no column.
        let widths: Vec<Option<usize>> = (0..columns)
            .map(|column| {
                let is_empty = rows.len() > 1
                    && column > 0
                    && cells(column)
                        .skip(1)
                        .all(|cell| cell.is_empty() || cell == ABSENT);
                (!is_empty).then(|| {
                    cells(column)
                        .map(|cell| cell.chars().count())
                        .max()
                        .unwrap_or_default()
                })
            })
            .collect();
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                if let Some(width) = width {
                    line.push_str(&format!("  {cell:<width$}"));
                }
            }
            self.line(&line);
        }
    }

    /// The same, where a column that is unknown for one reason in every row becomes a line below.
    pub(crate) fn folded(&mut self, head: &[&str], mut rows: Vec<Vec<String>>) {
        let mut said = Vec::new();
        for (column, name) in head.iter().enumerate() {
            let mut cells = rows.iter().filter_map(|row| row.get(column));
            let Some(first) = cells
                .next()
                .filter(|cell| cell.starts_with(UNKNOWN))
                .cloned()
            else {
                continue;
            };
            if cells.all(|cell| *cell == first) {
                said.push((*name, first));
                rows.iter_mut().for_each(|row| row[column].clear());
            }
        }
        self.table(head, rows);
        for (name, unknown) in said {
            self.line(&format!("  {name}: {unknown}"));
        }
    }

    /// What is not told, below a title.
    pub(crate) fn notes(&mut self, notes: &[String]) {
        if !notes.is_empty() {
            self.title("Not told here");
        }
        for note in notes {
            self.line(&format!("  {note}"));
        }
    }

    /// All of it.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// A value, or the mark for none.
pub(crate) fn or_absent(value: Option<impl ToString>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| value.to_string())
}

/// A cell without control characters, cut where it is far too long.
fn clean(cell: &str) -> String {
    let cell = control::replaced(cell);
    match cell.char_indices().nth(CELL) {
        Some((end, _)) => format!("{}…", &cell[..end]),
        None => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let mut page = Page::default();
        let rows = [["GPU0", "—", "NVIDIA L40"], ["GPU10", "—", "x"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        page.table(&["", "driver", "model"], rows);
        assert_eq!(
            page.finish(),
            "         model\n  GPU0   NVIDIA L40\n  GPU10  x\n"
        );
    }

    #[test]
    fn a_column_that_is_unknown_for_one_reason_is_a_line() {
        let mut page = Page::default();
        let rows = [
            ["GPU0", "unknown, root", "unknown, a"],
            ["GPU1", "unknown, root", "off"],
        ];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        page.folded(&["", "ACS", "ASPM"], rows);
        assert_eq!(
            page.finish(),
            "        ASPM\n  GPU0  unknown, a\n  GPU1  off\n  ACS: unknown, root\n"
        );
    }

    #[test]
    fn no_name_draws_a_row_or_fills_the_screen() {
        let mut page = Page::default();
        let name = format!("a\n\u{1b}[2J{}", "b".repeat(200));
        page.table(&["name"], vec![vec![name]]);
        let text = page.finish();
        assert_eq!(text.lines().count(), 2);
        assert!(!text.contains('\u{1b}') && text.ends_with("…\n"), "{text}");
    }
}
