//! A box as a picture: NUMA nodes as frames, bridges and devices in them, links with their widths, distances.
//!
//! [`Drawing`] says what there is, [`Drawing::svg`] where it stands. Nothing is read here, and every text is the caller's.

mod fill;
mod groups;
mod layout;
mod model;
mod sheet;
#[cfg(test)]
mod tests;

pub(crate) use model::{Beside, Branch, Drawing, Frame, Kind, Link};
