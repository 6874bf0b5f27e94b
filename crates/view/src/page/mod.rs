//! One-file HTML reports with inline SVG pictures, and pictures that are files of their own: no script, no font, no file beside them.
//!
//! [`Waterfall`] and [`Plot`] are the pictures of a page. [`Junit`] is what machines read in
//! place of one. The pictures are drawn here and not by a plotting library, because labels, whiskers and the mark of a simulated box have to stay readable at every width.
//! This crate works nothing out: every number on a page comes from its caller.

mod axes;
mod beside;
mod junit;
mod plot;
mod scale;
mod svg;
mod waterfall;

pub use axes::DISTINCT_SERIES;
pub use junit::{Junit, JunitCase, JunitOutcome, JunitSuite};
pub use plot::{Axis, Plot, PlotPoint, PlotSeries, Shape};
pub(crate) use svg::escape;
pub use waterfall::{Bar, BarKind, Waterfall};
