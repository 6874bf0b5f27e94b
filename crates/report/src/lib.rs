//! One-file HTML reports with inline SVG pictures, and pictures that are files of their own: no script, no font, no file beside them.
//!
//! A [`Page`] is made of plain blocks; [`Waterfall`], [`Curves`], [`Scatter`], [`Verdicts`], [`Plot`], [`LimitBars`], [`States`] and [`HeatMap`] are its
//! pictures; [`HeatMap`] and [`Sweep`] are files of their own. [`Junit`] is what continuous integration reads in place of a page. The pictures are drawn here and not by a
//! plotting library, because labels, whiskers and the mark of a simulated box have to stay readable at every width.
//! This crate works nothing out: every number on a page comes from its caller.
#![forbid(unsafe_code)]

mod axes;
mod beside;
mod curves;
mod heat_map;
mod junit;
mod limits;
mod page;
mod plot;
mod scale;
mod scatter;
mod states;
mod stretches;
mod svg;
mod sweep;
mod verdicts;
mod waterfall;

pub use axes::DISTINCT_SERIES;
pub use curves::{CurvePoint, CurveSeries, Curves, SizeMark};
pub use heat_map::{HeatCell, HeatMap};
pub use junit::{Junit, JunitCase, JunitOutcome, JunitSuite};
pub use limits::{LimitBar, LimitBars, Tone};
pub use page::{Block, Page, Section, Table};
pub use plot::{Axis, Plot, PlotPoint, PlotSeries, Shape};
pub use scatter::{Scatter, ScatterLine, ScatterPoint};
pub use states::{States, StatesRow};
pub use stretches::Stretch;
pub use svg::{Anchor, Drawing as SvgFile};
pub use sweep::{DISTINCT_CURVES, Sweep, SweepPoint, SweepSeries};
pub use verdicts::{VerdictPoint, VerdictSeries, Verdicts};
pub use waterfall::{Bar, BarKind, Waterfall};
