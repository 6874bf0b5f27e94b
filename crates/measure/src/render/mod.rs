//! Text and CSV from records; prints nothing itself.

mod clean;
pub mod csv;
pub mod text;
