//! Collective curves: ours, plain CSV, and the text and JSON of nccl-tests and rccl-tests.

mod csv;
mod curve;
pub(crate) mod nccl;
mod nccl_json;
pub(crate) mod nccl_text;
mod our_csv;
mod ours;
mod read;
mod trouble;
mod value;

pub use curve::CurvePoint;
pub use read::{read, read_file, troubles};
pub use trouble::Trouble;
pub use value::{CallFile, CallTrouble, CallValue};

pub(super) use our_csv::cells;
