//! Pictures of a page, and what machines read in place of one: no script, no font, no file beside them.
//!
//! [`Waterfall`] and [`Plot`] are drawn here and not by a plotting library, because labels and whiskers have to stay readable at every
//! width, on a dark page and on paper. Every number comes from the caller.

mod junit;
mod markup;
mod plot;
mod waterfall;

pub use junit::{Junit, JunitCase, JunitOutcome, JunitSuite};
pub(crate) use markup::escape;
pub use plot::{Axis, Plot, PlotPoint, PlotSeries, Shape};
pub use waterfall::{Bar, BarKind, Waterfall};
