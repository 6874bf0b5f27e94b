//! One-file HTML reports with inline SVG pictures, and pictures that are files of their own: no script, no font, no file beside them.
//!
//! A [`Page`] is made of plain blocks; [`Waterfall`], [`Verdicts`], [`Plot`], [`LimitBars`], [`States`] and [`HeatMap`] are its
//! pictures. [`Junit`] is what continuous integration reads in place of a page. The pictures are drawn here and not by a
//! plotting library, because labels, whiskers and the mark of a simulated box have to stay readable at every width.
//! This crate works nothing out: every number on a page comes from its caller.

mod axes;
mod beside;
mod heat_map;
mod junit;
mod limits;
mod plot;
mod prometheus;
mod scale;
mod states;
mod stretches;
mod svg;
mod verdicts;
mod waterfall;

pub use axes::DISTINCT_SERIES;
pub use heat_map::{HeatCell, HeatMap};
pub use junit::{Junit, JunitCase, JunitOutcome, JunitSuite};
pub use limits::{LimitBar, LimitBars, Tone};
pub use plot::{Axis, Plot, PlotMark, PlotPoint, PlotSeries, Shape};
pub use prometheus::Prometheus;
pub use states::{States, StatesRow};
pub use stretches::Stretch;
pub(crate) use svg::escape;
pub use verdicts::{VerdictPoint, VerdictSeries, Verdicts};
pub use waterfall::{Bar, BarKind, Waterfall};
