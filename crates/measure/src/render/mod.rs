//! Text and CSV from records; prints nothing itself.

pub mod csv;
pub mod text;
