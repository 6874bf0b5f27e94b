//! One-file HTML reports with inline SVG pictures: no script, no font, no file beside them.
//!
//! A [`Page`] is made of plain blocks; [`Waterfall`] and [`Curves`] are the pictures. The pictures are drawn here and not by a
//! plotting library, because labels, whiskers and the mark of a simulated box have to stay readable at every width.
//! This crate works nothing out: every number on a page comes from its caller.
#![forbid(unsafe_code)]

mod curves;
mod page;
mod scale;
mod svg;
mod waterfall;

pub use curves::{CurvePoint, CurveSeries, Curves, SizeMark};
pub use page::{Block, Page, Section, Table};
pub use waterfall::{Bar, BarKind, Waterfall};
