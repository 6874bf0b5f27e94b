//! Collective curves: ours, plain CSV, and the text and JSON of nccl-tests and rccl-tests.

mod csv;
mod curve;
mod nccl;
mod nccl_json;
mod nccl_text;
mod ours;
mod read;
mod trouble;
mod value;

pub use curve::CurvePoint;
pub use nccl::type_name;
pub use read::{read, read_as, read_file, read_file_as};
pub use trouble::Trouble;
pub use value::{CallFile, CallTrouble, CallValue};
