//! `tplens kv`: the way of keys and values between engines, at the sizes and pieces that a model has.

mod args;
mod ffi;
mod report;
mod run;
mod tool;
mod wire;

pub(crate) use args::Args;
pub(crate) use run::run;
