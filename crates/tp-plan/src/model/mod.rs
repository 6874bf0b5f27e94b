//! Models: their facts, how a `config.json` is read, and the models that are shipped.

mod builtin;
mod config;
mod error;
mod facts;
mod family;
mod keys;
mod quantization;
mod share;
mod size;

pub use builtin::builtin_names;
pub(crate) use builtin::config_of;
pub use error::ModelError;
pub use facts::{Experts, ModelFacts, WeightFormat};
pub(crate) use keys::text_part;
pub(crate) use share::ShareSizes;

#[cfg(test)]
mod tests;
