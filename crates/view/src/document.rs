//! The one document model: title, answer, what to do next, and sections of paragraphs, lists, tables and pictures. Each result fills
//! it once; it is shown on a screen ([`Document::screen`]) and as a page ([`Document::html`]).

use crate::codes;
use crate::page::{Plot, Waterfall};

/// What a line came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// It is good.
    Good,
    /// It is looked at.
    Warning,
    /// It is bad.
    Bad,
    /// It is unknown.
    #[default]
    Open,
}

/// A result as a person reads it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// What it is of.
    pub title: String,
    /// The simulated machine behind it; every form of the document says so.
    pub simulated: Option<String>,
    /// The colour of the answer's first sentence.
    pub tone: Tone,
    /// The answer: at most four sentences of at most 100 characters each. Last on a screen, first on a page.
    pub answer: Vec<String>,
    /// What was found that the answer needs, one line each. After the answer.
    pub findings: Vec<Item>,
    /// What to do or to measure next, the best first.
    pub next: Vec<Next>,
    /// The rest.
    pub sections: Vec<Section>,
    /// The last line of a page: what made it and when.
    pub made_by: String,
}

/// A part of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// Whether only `-v` shows it on a screen, and a page folds it.
    pub detail: bool,
    /// What stands in it.
    pub blocks: Vec<Block>,
}

/// A line with what it came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Item {
    /// Its colour and mark.
    pub tone: Tone,
    /// One sentence.
    pub text: String,
    /// The code that `help CODE` explains.
    pub code: Option<&'static str>,
}

/// A thing to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Next {
    /// One sentence: what for.
    pub text: String,
    /// The command that does it.
    pub command: Option<String>,
}

/// A block of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text.
    Paragraph(String),
    /// Points.
    List(Vec<Item>),
    /// Commands or lines of other programs, in monospace.
    Code(Vec<String>),
    /// Rows under heads.
    Table(Table),
    /// The waterfall.
    Waterfall(Waterfall),
    /// A number over another.
    Plot(Plot),
}

/// A table; rows shorter than the heads are filled with nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Column heads, with units.
    pub heads: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table under these heads.
    pub fn under<const N: usize>(heads: [&str; N]) -> Self {
        Self {
            heads: heads.map(str::to_owned).to_vec(),
            rows: Vec::new(),
        }
    }

    /// Characters of the longest cell of each column, its head among them.
    pub(crate) fn widths(&self) -> Vec<usize> {
        let rows = || self.rows.iter().chain([&self.heads]);
        let longest = |column: usize| {
            let cells = rows().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let columns = rows().map(Vec::len).max().unwrap_or(0);
        (0..columns).map(longest).collect()
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }
}

impl Item {
    /// A line without colour or code.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::of(Tone::Open, text)
    }

    /// A line of this tone.
    pub fn of(tone: Tone, text: impl Into<String>) -> Self {
        Self {
            tone,
            text: text.into(),
            code: None,
        }
    }

    /// The same line with its code.
    #[must_use]
    pub fn coded(self, code: &'static str) -> Self {
        debug_assert!(codes::page(code).is_some(), "no page for the code {code}");
        Self {
            code: Some(code),
            ..self
        }
    }
}

impl Next {
    /// A thing to do without a command.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            command: None,
        }
    }

    /// A thing to do by this command.
    pub fn by(text: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            command: Some(command.into()),
        }
    }

    /// The same on the simulated machine that was measured, if it was one.
    pub fn on(text: impl Into<String>, command: &str, simulated: Option<&str>) -> Self {
        match simulated {
            Some(name) => Self::by(text, format!("{command} --sim {name}")),
            None => Self::by(text, command),
        }
    }
}

impl Block {
    /// Points without colour.
    pub fn list<T: Into<String>>(points: impl IntoIterator<Item = T>) -> Self {
        Self::List(points.into_iter().map(Item::plain).collect())
    }

    /// Points that warn.
    pub fn warnings<T: Into<String>>(points: impl IntoIterator<Item = T>) -> Self {
        let item = |text| Item::of(Tone::Warning, text);
        Self::List(points.into_iter().map(item).collect())
    }
}

impl Section {
    /// A part that everybody sees.
    pub fn new(heading: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self {
            heading: heading.into(),
            detail: false,
            blocks,
        }
    }

    /// A part for `-v`, folded on a page.
    pub fn detail(heading: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self {
            heading: heading.into(),
            detail: true,
            blocks,
        }
    }
}
