//! Collective curves: ours, plain CSV, and the text and JSON of nccl-tests and rccl-tests.

mod csv;
mod curve;
mod nccl;
mod nccl_json;
mod nccl_text;
mod ours;
mod read;
mod trouble;

pub use curve::CurvePoint;
pub use read::{read, troubles};
pub use trouble::Trouble;
