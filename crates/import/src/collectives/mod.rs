//! Collective curves: ours, plain CSV, and the text and JSON of nccl-tests and rccl-tests.

mod csv;
mod nccl;
mod nccl_json;
mod nccl_text;
mod ours;
mod read;
mod value;

pub use read::{read, read_file, read_file_as};
pub use value::{CallFile, CallTrouble, CallValue, CurvePoint, Trouble};
