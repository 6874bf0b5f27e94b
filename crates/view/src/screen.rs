//! A document on a terminal: details first where they are asked for, the answer last, as the eye finds it above the prompt.

use record::control::visible;

use crate::document::{Block, Document, Item, Section, Table, Tone};
use crate::page::Waterfall;

/// What a screen has room for and what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Characters of a line.
    pub width: usize,
    /// With details (`-v`).
    pub verbose: bool,
    /// Without anything but the answer (`--quiet`).
    pub quiet: bool,
    /// With colours.
    pub colour: bool,
}

impl Default for Screen {
    /// 100 characters without details or colour, as a file or a pipe gets it.
    fn default() -> Self {
        Self {
            width: 100,
            verbose: false,
            quiet: false,
            colour: false,
        }
    }
}

/// Blanks before what belongs to the line above.
const INDENT: &str = "  ";

/// The same below what is next.
const UNDER_NEXT: &str = "      ";

/// Characters that a cell needs at least to be broken into lines.
const LEAST_CELL: usize = 20;

/// Characters of the longest bar.
const BAR: usize = 30;

impl Document {
    /// The document as lines of text. Control characters of its texts are escaped; the colours are the only ones left.
    #[must_use]
    pub fn screen(&self, screen: Screen) -> String {
        let mut lines = Lines {
            text: String::new(),
            screen,
        };
        let shown = |section: &&Section| !screen.quiet && (screen.verbose || !section.detail);
        for section in self.sections.iter().filter(shown) {
            if !section.heading.is_empty() {
                let heading = lines.paint(&visible(&section.heading), "1");
                lines.push(&heading);
            }
            section.blocks.iter().for_each(|block| lines.block(block));
            lines.push("");
        }
        if let Some(name) = &self.simulated {
            let mark = format!("SIMULATED on {name}: not a measurement of this machine.");
            lines.wrapped(&mark, Tone::Open, "");
        }
        for (at, sentence) in self.answer.iter().enumerate() {
            let tone = if at == 0 { self.tone } else { Tone::Open };
            lines.wrapped(sentence, tone, "");
        }
        self.findings.iter().for_each(|item| lines.item(item));
        for (at, next) in self.next.iter().enumerate().filter(|_| !screen.quiet) {
            let head = if at == 0 { "Next: " } else { UNDER_NEXT };
            lines.wrapped(&format!("{head}{}", next.text), Tone::Open, UNDER_NEXT);
            if let Some(command) = &next.command {
                // A command is one line, so that it can be copied.
                lines.push(&format!("{UNDER_NEXT}{}", visible(command)));
            }
        }
        lines.text
    }
}

/// The lines so far, for such a screen.
struct Lines {
    text: String,
    screen: Screen,
}

impl Lines {
    fn push(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Paragraph(sentence) => {
                self.wrapped(&format!("{INDENT}{sentence}"), Tone::Open, INDENT);
            }
            Block::List(items) => items.iter().for_each(|item| self.item(item)),
            Block::Code(lines) => {
                for line in lines {
                    self.push(&format!("{INDENT}{}", visible(line)));
                }
            }
            Block::Table(table) => self.table(table),
            Block::Waterfall(waterfall) => self.waterfall(waterfall),
            // Pictures are for pages; what they show stands in tables, too.
            Block::Plot(_) => {}
        }
    }

    fn waterfall(&mut self, waterfall: &Waterfall) {
        let most = waterfall.bars.iter().map(|bar| bar.low_mid_high.1);
        let most = most.fold(f64::MIN_POSITIVE, f64::max);
        let label = waterfall.bars.iter().map(|bar| bar.label.chars().count());
        let label = label.max().unwrap_or(0);
        let (unit, digits) = (&waterfall.unit, waterfall.decimals);
        for bar in &waterfall.bars {
            let (low, mid, high) = bar.low_mid_high;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of BAR"
            )]
            let drawn = "█".repeat((mid.max(0.0) / most * BAR as f64).round() as usize);
            let range = match low < mid || high > mid {
                true => format!(" [{low:.digits$}-{high:.digits$}]"),
                false => String::new(),
            };
            let grade = match bar.grade.as_str() {
                "" => String::new(),
                grade => format!(" grade {grade}"),
            };
            let name = visible(&bar.label);
            self.push(&format!(
                "{INDENT}{name:label$} {drawn:BAR$} {mid:.digits$} {unit}{range}{grade}"
            ));
        }
    }

    fn item(&mut self, item: &Item) {
        let mark = match item.tone {
            Tone::Open => "- ",
            Tone::Good => "ok ",
            Tone::Warning => "! ",
            Tone::Bad => "x ",
        };
        let code = item.code.map(|code| format!(" [{code}]"));
        let line = format!("{mark}{}{}", item.text, code.unwrap_or_default());
        self.wrapped(&line, item.tone, INDENT);
    }

    /// Columns side by side, each as wide as its longest cell; columns of numbers stand to the right.
    fn table(&mut self, table: &Table) {
        let visible = |row: &Vec<String>| -> Vec<String> {
            let cells = row
                .iter()
                .map(|cell| visible(&cell.replace('\n', " ")).into_owned());
            cells.collect()
        };
        let table = Table {
            heads: visible(&table.heads),
            rows: table.rows.iter().map(visible).collect(),
        };
        let is_number = |column: usize| {
            let mut cells = table.rows.iter().filter_map(|row| row.get(column));
            cells.all(|cell| {
                cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit() || c == '—')
            })
        };
        let widths = table.widths().into_iter().enumerate();
        let columns: Vec<_> = widths
            .map(|(at, width)| (at, width, is_number(at)))
            .collect();
        let last = columns.len().saturating_sub(1);
        let before: usize = columns[..last].iter().map(|(_, width, _)| width + 2).sum();
        let below = " ".repeat(INDENT.len() + before);
        let has_room = self.screen.width >= below.len() + LEAST_CELL;
        for row in [&table.heads].into_iter().chain(&table.rows) {
            let cells = columns.iter().map(|(at, width, is_number)| {
                let cell = row.get(*at).map_or("", String::as_str);
                match is_number {
                    true => format!("{cell:>width$}  "),
                    false => format!("{cell:width$}  "),
                }
            });
            let mut cells: Vec<String> = cells.collect();
            let line = format!("{INDENT}{}", cells.concat());
            // A last cell that is too long goes on below itself.
            match cells.pop() {
                Some(cell) if has_room && line.trim_end().chars().count() > self.screen.width => {
                    let head = format!("{INDENT}{}", cells.concat());
                    self.wrapped_after(head, &cell, Tone::Open, &below);
                }
                _ => self.push(&line),
            }
        }
    }

    /// Writes a text in lines of at most the screen's width; words are never broken, and lines after the first are indented.
    fn wrapped(&mut self, words: &str, tone: Tone, indent: &str) {
        let words = visible(words).into_owned();
        // Blanks at the head of a text stand: they put it under what came before.
        let head: String = words.chars().take_while(|c| *c == ' ').collect();
        self.wrapped_after(head, &words, tone, indent);
    }

    /// The same behind what stands on the line.
    fn wrapped_after(&mut self, head: String, words: &str, tone: Tone, indent: &str) {
        let colour = match tone {
            Tone::Open => "",
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "31",
        };
        let mut lines = Vec::new();
        let (mut line, mut is_begun) = (head, false);
        for word in words.split_whitespace() {
            let length = line.chars().count() + 1 + word.chars().count();
            if is_begun && length > self.screen.width {
                lines.push(std::mem::replace(&mut line, indent.to_owned()));
                is_begun = false;
            }
            if is_begun {
                line.push(' ');
            }
            line.push_str(word);
            is_begun = true;
        }
        lines.push(line);
        for line in lines {
            let line = self.paint(&line, colour);
            self.push(&line);
        }
    }

    fn paint(&self, text: &str, colour: &str) -> String {
        match self.screen.colour && !colour.is_empty() {
            true => format!("\u{1b}[{colour}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Next;

    fn document() -> Document {
        let mut table = Table::under(["pair", "GB/s"]);
        table.row(["GPU0->GPU1".to_owned(), "24.9".to_owned()]);
        table.row(["GPU1->GPU0".to_owned(), "5.1".to_owned()]);
        Document {
            title: "links".to_owned(),
            simulated: Some("l40x4".to_owned()),
            tone: Tone::Bad,
            answer: vec!["Link GPU1->GPU0 is slow: 5.1 GB/s (20% of limit).".to_owned()],
            findings: vec![
                Item::of(Tone::Warning, "GPU0 was busy: \u{1b}[31mred").coded("device-busy"),
            ],
            next: vec![Next::by("Reseat the card.", "tplens doctor")],
            sections: vec![
                Section::new("Pairs", vec![Block::Table(table)]),
                Section::detail("Method", vec![Block::Paragraph("40 samples".to_owned())]),
            ],
            ..Document::default()
        }
    }

    #[test]
    fn the_answer_is_last_and_details_wait_for_verbose() {
        let expected = "\
Pairs
  pair        GB/s
  GPU0->GPU1  24.9
  GPU1->GPU0   5.1

SIMULATED on l40x4: not a measurement of this machine.
Link GPU1->GPU0 is slow: 5.1 GB/s (20% of limit).
! GPU0 was busy: \\u001b[31mred [device-busy]
Next: Reseat the card.
      tplens doctor
";
        assert_eq!(document().screen(Screen::default()), expected);
        let verbose = Screen {
            verbose: true,
            ..Screen::default()
        };
        assert!(
            document()
                .screen(verbose)
                .contains("Method\n  40 samples\n")
        );
    }

    #[test]
    fn quiet_keeps_the_mark_the_answer_and_the_findings() {
        let quiet = Screen {
            quiet: true,
            ..Screen::default()
        };
        assert_eq!(document().screen(quiet).lines().count(), 3);
    }

    #[test]
    fn lines_fit_and_no_word_is_broken() {
        let words = "a sentence with averylongwordthatdoesnotfit and others";
        let mut lines = Lines {
            text: String::new(),
            screen: Screen {
                width: 16,
                ..Screen::default()
            },
        };
        lines.wrapped(words, Tone::Open, "  ");
        assert_eq!(
            lines.text,
            "a sentence with\n  averylongwordthatdoesnotfit\n  and others\n"
        );
        let mut table = Table::under(["group", "found"]);
        table.row([
            "Links".to_owned(),
            "25.0-49.3 GB/s, worst GPU1, both ways".to_owned(),
        ]);
        lines.text.clear();
        lines.screen.width = 30;
        lines.table(&table);
        assert_eq!(
            lines.text,
            "  group  found\n  Links  25.0-49.3 GB/s, worst\n         GPU1, both ways\n"
        );
    }

    #[test]
    fn colours_stand_around_what_is_escaped() {
        let colour = Screen {
            colour: true,
            ..Screen::default()
        };
        let text = document().screen(colour);
        assert!(text.contains("\u{1b}[31mLink GPU1->GPU0"));
        assert!(!text.contains("\u{1b}[31mred"));
    }
}
