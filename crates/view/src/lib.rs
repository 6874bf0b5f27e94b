//! The only crate with words: the document model that every result fills once, its forms (screen, page, CSV, JUnit), and
//! records as CSV and in the formats of other tools. It prints nothing itself and works nothing out.

#![forbid(unsafe_code)]

pub mod captured;
mod caveats;
mod cell;
mod clean;
pub mod codes;
mod collectives;
pub mod comparison;
pub mod csv;
pub mod document;
mod ends;
mod evidence;
pub mod export;
pub mod foreign;
mod html;
pub mod imported;
mod lines;
mod links;
mod numa;
pub mod page;
mod record;
mod run;
mod screen;
pub mod serve;

pub use caveats::{folded as caveats, line as caveat};
pub use document::{Block, Document, Item, Next, Section, Table, Tone};
pub use ends::direction;
pub use evidence::evidence;
pub use lines::counted;
pub use record::record;
pub use screen::Screen;
