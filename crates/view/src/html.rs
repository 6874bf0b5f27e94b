//! A document as a page: one HTML file without script, font or file beside it. The answer comes first, details are folded.

use std::fmt::Write as _;

use crate::document::{Block, Document, Item, Section, Table, Tone};
use crate::page::escape;

/// Cells of at most this many characters do not wrap.
const SHORT_CELL: usize = 30;

/// The same in a table with sentences in it, which needs its width for them.
const SHORT_BESIDE_PROSE: usize = 14;

/// Characters of a row that a narrow page has room for, and those between two cells.
const NARROW_ROW: (usize, usize) = (50, 2);

/// Cells of more characters than this are sentences.
const PROSE: usize = 60;

/// What a browser may do with a page, should a text of others ever become markup: show it.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const STYLE: &str = include_str!("page/style.css");

impl Document {
    /// The whole HTML document.
    #[must_use]
    pub fn html(&self) -> String {
        let mut html =
            String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        html.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        let _ = write!(
            html,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">"
        );
        let mark = self.simulated.as_ref().map(|name| {
            format!(
                "SIMULATED machine {}: arithmetic of a machine file, not a measurement",
                escape(name)
            )
        });
        let title = escape(&self.title);
        let prefix = if mark.is_some() { "SIMULATED: " } else { "" };
        // Writing to a String cannot fail, here and below.
        let _ = write!(
            html,
            "<title>{prefix}{title}</title><style>{STYLE}</style></head>"
        );
        let _ = writeln!(
            html,
            "<body{}><main>",
            if mark.is_some() {
                " class=\"simulated\""
            } else {
                ""
            }
        );
        if let Some(mark) = &mark {
            let _ = writeln!(html, "<p class=\"banner\">{mark}</p>");
        }
        let _ = writeln!(html, "<h1>{title}</h1>");
        let said_above = |sentence: &&String| **sentence != self.title;
        for sentence in self.answer.iter().filter(said_above) {
            let _ = writeln!(html, "<p class=\"answer\">{}</p>", escape(sentence));
        }
        if !self.findings.is_empty() {
            list(&mut html, &self.findings);
        }
        if !self.next.is_empty() {
            html.push_str("<h2 class=\"next\">Next</h2><ul class=\"next\">");
            for next in &self.next {
                let _ = write!(html, "<li>{}", escape(&next.text));
                if let Some(command) = &next.command {
                    let _ = write!(html, "<pre>{}</pre>", escape(command));
                }
                html.push_str("</li>");
            }
            html.push_str("</ul>\n");
        }
        for section in &self.sections {
            self.section(&mut html, section);
        }
        let _ = writeln!(
            html,
            "<footer>{}</footer></main></body></html>",
            escape(&self.made_by)
        );
        html
    }

    fn section(&self, html: &mut String, section: &Section) {
        let heading = escape(&section.heading);
        let _ = match section.detail {
            true => writeln!(html, "<details><summary>{heading}</summary>"),
            false => writeln!(html, "<section><h2>{heading}</h2>"),
        };
        for block in &section.blocks {
            self.block(html, block);
        }
        html.push_str(match section.detail {
            true => "</details>\n",
            false => "</section>\n",
        });
    }

    fn block(&self, html: &mut String, block: &Block) {
        match block {
            Block::Paragraph(text) => {
                let _ = writeln!(html, "<p>{}</p>", escape(text));
            }
            Block::List(items) => list(html, items),
            Block::Code(lines) => {
                let _ = writeln!(html, "<pre>{}</pre>", escape(&lines.join("\n")));
            }
            Block::Table(table) => table.write(html),
            Block::Waterfall(waterfall) => self.picture(html, &waterfall.title, &waterfall.svg()),
            Block::Plot(plot) => self.picture(html, &plot.title, &plot.svg()),
        }
    }

    fn picture(&self, html: &mut String, title: &str, svg: &str) {
        if svg.is_empty() {
            return;
        }
        let mark = if self.simulated.is_some() {
            " (simulated)"
        } else {
            ""
        };
        let _ = writeln!(
            html,
            "<figure>{svg}<figcaption>{}{mark}</figcaption></figure>",
            escape(title)
        );
    }
}

fn list(html: &mut String, items: &[Item]) {
    html.push_str("<ul>");
    for item in items {
        let class = match item.tone {
            Tone::Open => "",
            Tone::Good => " class=\"good\"",
            Tone::Warning => " class=\"warning\"",
            Tone::Bad => " class=\"bad\"",
        };
        let _ = write!(html, "<li{class}>{}", escape(&item.text));
        if let Some(code) = item.code {
            let _ = write!(html, " <code>{code}</code>");
        }
        html.push_str("</li>");
    }
    html.push_str("</ul>\n");
}

impl Table {
    /// Characters of a row with the longest cell of each column, its head among them.
    fn width(&self) -> usize {
        let longest = |column: usize| {
            let cells = self.rows.iter().chain([&self.heads]);
            let cells = cells.filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let columns = self.rows.iter().chain([&self.heads]).map(Vec::len).max();
        let columns = columns.unwrap_or(0);
        let between = columns.saturating_sub(1) * NARROW_ROW.1;
        (0..columns).map(longest).sum::<usize>() + between
    }

    fn write(&self, html: &mut String) {
        let mut cells = self.rows.iter().flatten();
        let has_prose = cells.any(|cell| cell.chars().count() > PROSE);
        // Tables that are wider than a narrow page are read downwards there.
        let is_stacked = self.width() > NARROW_ROW.0;
        let short = if has_prose {
            SHORT_BESIDE_PROSE
        } else {
            SHORT_CELL
        };
        html.push_str("<div class=\"scroll\"><table");
        html.push_str(match (has_prose, is_stacked) {
            (true, _) => " class=\"prose stacked\"",
            (false, true) => " class=\"stacked\"",
            (false, false) => "",
        });
        html.push_str("><thead><tr>");
        for head in &self.heads {
            let _ = write!(html, "<th>{}</th>", escape(head));
        }
        html.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            html.push_str("<tr>");
            for index in 0..self.heads.len().max(row.len()) {
                let cell = row.get(index).map_or("", String::as_str);
                // Short cells stay on one line, long ones wrap.
                let class = if cell.chars().count() <= short {
                    " class=\"short\""
                } else {
                    ""
                };
                let head = match self.heads.get(index).filter(|_| is_stacked) {
                    Some(head) => format!(" data-head=\"{}\"", escape(head)),
                    None => String::new(),
                };
                let _ = write!(html, "<td{class}{head}>{}</td>", escape(cell));
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table></div>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Bar, BarKind, Plot, Waterfall};

    fn page(simulated: Option<&str>) -> Document {
        Document {
            title: "why <1.34x>".to_owned(),
            simulated: simulated.map(str::to_owned),
            answer: vec!["because".to_owned()],
            sections: vec![Section {
                heading: "waterfall".to_owned(),
                detail: false,
                blocks: vec![
                    Block::Waterfall(Waterfall {
                        title: "step".to_owned(),
                        unit: "ms".to_owned(),
                        decimals: 1,
                        bars: vec![Bar {
                            label: "ideal".to_owned(),
                            low_mid_high: (1.0, 1.0, 1.0),
                            grade: String::new(),
                            kind: BarKind::Total,
                        }],
                    }),
                    Block::Plot(Plot::default()),
                    Block::Table(Table {
                        heads: vec!["a".to_owned(), "b".to_owned()],
                        rows: vec![vec!["<i>".to_owned()]],
                    }),
                ],
            }],
            made_by: "tplens".to_owned(),
            ..Document::default()
        }
    }

    #[test]
    fn a_soft_page_says_so_at_its_top_in_its_title_and_under_its_pictures() {
        let html = page(Some("l40x4")).html();
        assert!(html.contains("<title>SIMULATED: why &lt;1.34x&gt;</title>"));
        assert!(html.contains("SIMULATED machine l40x4"));
        assert!(html.contains("step (simulated)"));
        assert!(
            !page(None)
                .html()
                .to_lowercase()
                .contains("simulated machine")
        );
    }

    #[test]
    fn a_page_needs_nothing_beside_it_and_no_text_becomes_markup() {
        let html = page(None).html();
        for never in ["<script", "http://", "https://", "url(", "<i>", "@import"] {
            assert!(!html.contains(never), "{never}");
        }
        assert!(html.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; "));
        // One figure: curves without points are left out. A row of one cell under two heads has two.
        assert_eq!(html.matches("<figure>").count(), 1);
        assert_eq!(html.matches("<td class=\"short\">").count(), 2);
    }

    #[test]
    fn a_table_of_sentences_has_no_line_for_nothing_on_a_narrow_page() {
        let mut page = page(None);
        page.sections[0].blocks = vec![Block::Table(Table {
            heads: ["a", "b", "c"].map(str::to_owned).to_vec(),
            rows: vec![vec!["x".repeat(61), String::new(), "y".repeat(20)]],
        })];
        let html = page.html();
        assert!(html.contains(" data-head=\"b\"></td>"), "{html}");
        assert!(html.contains("table.stacked td:empty { display: none; }"));
        // 20 characters wrap beside sentences, and would not in a table of numbers.
        assert!(html.contains("<td data-head=\"c\">yyy"), "{html}");
    }

    #[test]
    fn a_table_is_read_downwards_on_a_narrow_page_where_it_is_wider() {
        let classes = |lengths: [usize; 2]| {
            let mut page = page(None);
            page.sections[0].blocks = vec![Block::Table(Table {
                heads: vec!["a".to_owned(), "b".to_owned()],
                rows: vec![lengths.map(|length| "x".repeat(length)).to_vec()],
            })];
            let html = page.html();
            let (_, rest) = html.split_once("<table").unwrap();
            rest.split_once('>').unwrap().0.to_owned()
        };
        // With 2 between them 24 and 24 are 50 characters, 25 and 24 one more; a cell of more than 60 is a sentence.
        assert_eq!(
            [[24, 24], [25, 24], [61, 1]].map(classes),
            ["", " class=\"stacked\"", " class=\"prose stacked\""]
        );
    }

    #[test]
    fn heads_that_are_wider_than_their_cells_make_a_table_wide_too() {
        // Cells of 20 and 1 characters under heads of 1 and 28: 20 + 28 and 2 between them are 50, one more is too wide.
        let is_stacked = |head: usize| {
            let table = Table {
                heads: vec!["a".to_owned(), "h".repeat(head)],
                rows: vec![vec!["x".repeat(20), "1".to_owned()]],
            };
            let mut html = String::new();
            table.write(&mut html);
            html.contains("class=\"stacked\"")
        };
        assert_eq!([28, 29].map(is_stacked), [false, true]);
    }
}
