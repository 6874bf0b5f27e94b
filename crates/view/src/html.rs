//! A document as a page: one HTML file without script, font or file beside it. The answer comes first, details are folded.

use crate::document::{Block, Document, Item, Next, Section, Table, Tone};
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
        let title = escape(&self.title);
        let (prefix, class, banner) = match &self.simulated {
            Some(name) => (
                "SIMULATED: ",
                " class=\"simulated\"",
                format!(
                    "<p class=\"banner\">SIMULATED machine {}: arithmetic of a machine file, not a measurement</p>\n",
                    escape(name)
                ),
            ),
            None => ("", "", String::new()),
        };
        let said_above = |sentence: &&String| **sentence != self.title;
        let answer = self.answer.iter().filter(said_above);
        let answer = answer.map(|it| format!("<p class=\"answer\">{}</p>\n", escape(it)));
        let sections = self.sections.iter().map(|section| self.section(section));
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
             <title>{prefix}{title}</title><style>{STYLE}</style></head>\
             <body{class}><main>\n{banner}<h1>{title}</h1>\n{}{}{}{}\
             <footer>{}</footer></main></body></html>\n",
            answer.collect::<String>(),
            list(&self.findings),
            next(&self.next),
            sections.collect::<String>(),
            escape(&self.made_by)
        )
    }

    fn section(&self, section: &Section) -> String {
        let heading = escape(&section.heading);
        let blocks = section.blocks.iter().map(|block| self.block(block));
        let blocks: String = blocks.collect();
        match section.detail {
            true => format!("<details><summary>{heading}</summary>{blocks}</details>\n"),
            false => format!("<section><h2>{heading}</h2>{blocks}</section>\n"),
        }
    }

    fn block(&self, block: &Block) -> String {
        match block {
            Block::Paragraph(text) => format!("<p>{}</p>\n", escape(text)),
            Block::List(items) => list(items),
            Block::Code(lines) => {
                let lines = lines.iter().map(|line| escape(line));
                format!("<pre>{}</pre>\n", lines.collect::<Vec<_>>().join("\n"))
            }
            Block::Table(table) => table.html(),
            Block::Waterfall(waterfall) => self.picture(&waterfall.title, &waterfall.html()),
            Block::Plot(plot) => self.picture(&plot.title, &plot.html()),
        }
    }

    fn picture(&self, title: &str, picture: &str) -> String {
        if picture.is_empty() {
            return String::new();
        }
        let mark = self.simulated.as_ref().map_or("", |_| " (simulated)");
        let title = escape(title);
        format!("<figure>{picture}<figcaption>{title}{mark}</figcaption></figure>\n")
    }
}

fn list(items: &[Item]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let line = |item: &Item| {
        let class = match item.tone {
            Tone::Open => "",
            Tone::Good => " class=\"good\"",
            Tone::Warning => " class=\"warning\"",
            Tone::Bad => " class=\"bad\"",
        };
        let code = item.code.map(|code| format!(" <code>{code}</code>"));
        let (text, code) = (escape(&item.text), code.unwrap_or_default());
        format!("<li{class}>{text}{code}</li>")
    };
    format!("<ul>{}</ul>\n", items.iter().map(line).collect::<String>())
}

fn next(all: &[Next]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let line = |next: &Next| {
        let command = next.command.as_ref();
        let command = command.map(|command| format!("<pre>{}</pre>", escape(command)));
        let (text, command) = (escape(&next.text), command.unwrap_or_default());
        format!("<li>{text}{command}</li>")
    };
    let lines: String = all.iter().map(line).collect();
    format!("<h2 class=\"next\">Next</h2><ul class=\"next\">{lines}</ul>\n")
}

impl Table {
    fn html(&self) -> String {
        let widths = self.widths();
        let width = widths.iter().sum::<usize>() + widths.len().saturating_sub(1) * NARROW_ROW.1;
        let mut cells = self.rows.iter().flatten();
        let (class, short) = match cells.any(|cell| cell.chars().count() > PROSE) {
            true => (" class=\"prose stacked\"", SHORT_BESIDE_PROSE),
            // Tables that are wider than a narrow page are read downwards there.
            false if width > NARROW_ROW.0 => (" class=\"stacked\"", SHORT_CELL),
            false => ("", SHORT_CELL),
        };
        let cell = |row: &[String], index: usize| {
            let cell = row.get(index).map_or("", String::as_str);
            // Short cells stay on one line, long ones wrap.
            let is_short = match cell.chars().count() <= short {
                true => " class=\"short\"",
                false => "",
            };
            let head = self.heads.get(index).filter(|_| !class.is_empty());
            let head = head.map(|head| format!(" data-head=\"{}\"", escape(head)));
            let head = head.unwrap_or_default();
            format!("<td{is_short}{head}>{}</td>", escape(cell))
        };
        let row = |row: &Vec<String>| {
            let cells = (0..widths.len()).map(|index| cell(row, index));
            format!("<tr>{}</tr>", cells.collect::<String>())
        };
        let heads = self
            .heads
            .iter()
            .map(|head| format!("<th>{}</th>", escape(head)));
        format!(
            "<div class=\"scroll\"><table{class}><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>\n",
            heads.collect::<String>(),
            self.rows.iter().map(row).collect::<String>()
        )
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
            table.html().contains("class=\"stacked\"")
        };
        assert_eq!([28, 29].map(is_stacked), [false, true]);
    }
}
