//! A document on a terminal: details first where they are asked for, the answer last, as the eye finds it above the prompt.

use std::fmt::Write as _;

use record::control::visible;

use crate::document::{Block, Document, Item, Section, Table, Tone};

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

/// Characters of the longest bar.
const BAR: usize = 30;

impl Document {
    /// The document as lines of text. Control characters of its texts are escaped; the colours are the only ones left.
    #[must_use]
    pub fn screen(&self, screen: Screen) -> String {
        let mut text = String::new();
        if !screen.quiet {
            let shown = |section: &&Section| screen.verbose || !section.detail;
            for section in self.sections.iter().filter(shown) {
                if !section.heading.is_empty() {
                    let heading = visible(&section.heading);
                    let _ = writeln!(text, "{}", paint(&heading, "1", screen.colour));
                }
                for block in &section.blocks {
                    write_block(&mut text, block, screen);
                }
                text.push('\n');
            }
        }
        if let Some(name) = &self.simulated {
            let mark = format!("SIMULATED on {name}: not a measurement of this machine.");
            wrapped(&mut text, &mark, "", "", screen.width);
        }
        for (at, sentence) in self.answer.iter().enumerate() {
            let tone = if at == 0 { self.tone } else { Tone::Open };
            wrapped(
                &mut text,
                sentence,
                ansi(tone, screen.colour),
                "",
                screen.width,
            );
        }
        for item in &self.findings {
            write_item(&mut text, item, screen);
        }
        if screen.quiet {
            return text;
        }
        for (at, next) in self.next.iter().enumerate() {
            let head = if at == 0 { "Next: " } else { "      " };
            wrapped(
                &mut text,
                &format!("{head}{}", next.text),
                "",
                "      ",
                screen.width,
            );
            if let Some(command) = &next.command {
                // A command is one line, so that it can be copied.
                let _ = writeln!(text, "      {}", visible(command));
            }
        }
        text
    }
}

fn write_block(text: &mut String, block: &Block, screen: Screen) {
    match block {
        Block::Paragraph(sentence) => {
            wrapped(
                text,
                &format!("{INDENT}{sentence}"),
                "",
                INDENT,
                screen.width,
            );
        }
        Block::List(items) => {
            for item in items {
                write_item(text, item, screen);
            }
        }
        Block::Code(lines) => {
            for line in lines {
                let _ = writeln!(text, "{INDENT}{}", visible(line));
            }
        }
        Block::Table(table) => write_table(text, table),
        Block::Waterfall(waterfall) => {
            let most = waterfall.bars.iter().map(|bar| bar.low_mid_high.1);
            let most = most.fold(f64::MIN_POSITIVE, f64::max);
            let label = waterfall.bars.iter().map(|bar| bar.label.chars().count());
            let label = label.max().unwrap_or(0);
            for bar in &waterfall.bars {
                let (low, mid, high) = bar.low_mid_high;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a share of BAR"
                )]
                let length = (mid.max(0.0) / most * BAR as f64).round() as usize;
                let digits = waterfall.decimals;
                let range = match low < mid || high > mid {
                    true => format!(" [{low:.digits$}-{high:.digits$}]"),
                    false => String::new(),
                };
                let grade = match bar.grade.as_str() {
                    "" => String::new(),
                    grade => format!(" grade {grade}"),
                };
                let name = visible(&bar.label);
                let unit = &waterfall.unit;
                let drawn = "█".repeat(length);
                let _ = writeln!(
                    text,
                    "{INDENT}{name:label$} {drawn:BAR$} {mid:.digits$} {unit}{range}{grade}"
                );
            }
        }
        // Pictures are for pages; what they show stands in tables, too.
        Block::Plot(_) => {}
    }
}

fn write_item(text: &mut String, item: &Item, screen: Screen) {
    let mark = match item.tone {
        Tone::Open => "- ",
        Tone::Good => "ok ",
        Tone::Warning => "! ",
        Tone::Bad => "x ",
    };
    let code = match item.code {
        Some(code) => format!(" [{code}]"),
        None => String::new(),
    };
    let line = format!("{mark}{}{code}", item.text);
    wrapped(
        text,
        &line,
        ansi(item.tone, screen.colour),
        INDENT,
        screen.width,
    );
}

/// Columns side by side, each as wide as its longest cell; columns of numbers stand to the right.
fn write_table(text: &mut String, table: &Table) {
    let columns = table.rows.iter().chain([&table.heads]).map(Vec::len).max();
    let cell = |row: &Vec<String>, at: usize| {
        let cell = row.get(at).map_or("", String::as_str);
        visible(&cell.replace('\n', " ")).into_owned()
    };
    let widths: Vec<(usize, bool)> = (0..columns.unwrap_or(0))
        .map(|at| {
            let lengths = table.rows.iter().chain([&table.heads]);
            let longest = lengths.map(|row| cell(row, at).chars().count()).max();
            let is_number = |row: &Vec<String>| {
                let cell = cell(row, at);
                cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit() || c == '—')
            };
            (longest.unwrap_or(0), table.rows.iter().all(is_number))
        })
        .collect();
    for row in [&table.heads].into_iter().chain(&table.rows) {
        let mut line = String::from(INDENT);
        for (at, (width, is_number)) in widths.iter().enumerate() {
            let cell = cell(row, at);
            let _ = match is_number {
                true => write!(line, "{cell:>width$}  "),
                false => write!(line, "{cell:width$}  "),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Writes a text in lines of at most `width` characters; words are never broken, and lines after the first are indented.
fn wrapped(text: &mut String, words: &str, ansi: &str, indent: &str, width: usize) {
    let words = visible(words).into_owned();
    let mut line = String::new();
    let mut lines = Vec::new();
    for word in words.split_whitespace() {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, indent.to_owned()));
        }
        if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    // Blanks at the head of a text stand: they put it under what came before.
    let head: String = words.chars().take_while(|c| *c == ' ').collect();
    lines.push(line);
    for (at, line) in lines.iter().enumerate() {
        let head = if at == 0 { head.as_str() } else { "" };
        let _ = writeln!(text, "{head}{}", paint(line, ansi, !ansi.is_empty()));
    }
}

fn ansi(tone: Tone, colour: bool) -> &'static str {
    match tone {
        _ if !colour => "",
        Tone::Open => "",
        Tone::Good => "32",
        Tone::Warning => "33",
        Tone::Bad => "31",
    }
}

fn paint(text: &str, ansi: &str, colour: bool) -> String {
    match colour && !ansi.is_empty() {
        true => format!("\u{1b}[{ansi}m{text}\u{1b}[0m"),
        false => text.to_owned(),
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
        let mut text = String::new();
        wrapped(&mut text, words, "", "  ", 16);
        assert_eq!(
            text,
            "a sentence with\n  averylongwordthatdoesnotfit\n  and others\n"
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
