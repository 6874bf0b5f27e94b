//! What must hold before a serving result says anything about links.

mod checks;
mod evidence;
mod gate;
mod pair;
mod shape;

pub use gate::{Gate, Verdict, gates};

pub(crate) use gate::failed;
pub(crate) use pair::{is_of_decode, pair_gates};
pub(crate) use shape::RunShape;
