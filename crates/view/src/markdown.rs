//! A document as Markdown, for a ticket or a wiki: the answer first, every section after it. Pictures are left out.

use std::fmt::Write as _;

use record::control::replaced;

use crate::document::{Block, Document, Item, Table};

impl Document {
    /// The document as Markdown. No text of it becomes markup or a further line.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n", escape(&self.title));
        // Writing to a String cannot fail, here and below.
        if let Some(name) = &self.simulated {
            let _ = writeln!(
                text,
                "**SIMULATED on {}: not a measurement.**\n",
                escape(name)
            );
        }
        for sentence in &self.answer {
            let _ = writeln!(text, "{}\n", escape(sentence));
        }
        items(&mut text, &self.findings);
        for next in &self.next {
            let _ = writeln!(text, "Next: {}\n", escape(&next.text));
            if let Some(command) = &next.command {
                code(&mut text, std::slice::from_ref(command));
            }
        }
        for section in &self.sections {
            if !section.heading.is_empty() {
                let _ = writeln!(text, "## {}\n", escape(&section.heading));
            }
            for block in &section.blocks {
                match block {
                    Block::Paragraph(sentence) => {
                        let _ = writeln!(text, "{}\n", escape(sentence));
                    }
                    Block::List(points) => items(&mut text, points),
                    Block::Code(lines) => code(&mut text, lines),
                    Block::Table(rows) => table(&mut text, rows),
                    _ => {}
                }
            }
        }
        text
    }
}

fn items(text: &mut String, items: &[Item]) {
    for item in items {
        let code = item.code.map(|code| format!(" `{code}`"));
        let _ = writeln!(text, "- {}{}", escape(&item.text), code.unwrap_or_default());
    }
    if !items.is_empty() {
        text.push('\n');
    }
}

fn code(text: &mut String, lines: &[String]) {
    text.push_str("```text\n");
    for line in lines {
        // A fence inside would end this one.
        let _ = writeln!(text, "{}", replaced(line).replace("```", "` ` `"));
    }
    text.push_str("```\n\n");
}

fn table(text: &mut String, table: &Table) {
    let row = |text: &mut String, cells: &[String]| {
        for at in 0..table.heads.len() {
            let cell = cells.get(at).map_or("", String::as_str);
            let _ = write!(text, "| {} ", escape(cell));
        }
        text.push_str("|\n");
    };
    row(text, &table.heads);
    text.push_str(&"|---".repeat(table.heads.len()));
    text.push_str("|\n");
    for cells in &table.rows {
        row(text, cells);
    }
    text.push('\n');
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in replaced(text).chars() {
        if matches!(c, '|' | '`' | '*' | '_' | '<' | '[' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Section;

    #[test]
    fn a_cell_stays_a_cell() {
        let mut pairs = Table::under(["pair", "GB/s"]);
        pairs.row(["a|b\nc".to_owned(), "1.0".to_owned()]);
        let document = Document {
            title: "links".to_owned(),
            answer: vec!["<b>normal".to_owned()],
            sections: vec![Section::new("Pairs", vec![Block::Table(pairs)])],
            ..Document::default()
        };
        let expected = "# links\n\n\\<b>normal\n\n## Pairs\n\n| pair | GB/s |\n|---|---|\n| a\\|b c | 1.0 |\n\n";
        assert_eq!(document.markdown(), expected);
    }
}
