//! Models: their facts, how a `config.json` is read, and the models that are shipped.

mod builtin;
mod config;
mod facts;
mod family;
mod keys;
mod quantization;
mod size;

pub(crate) use builtin::config_of;
pub use builtin::{builtin_names, hub_id};
pub(crate) use facts::ShareSizes;
pub use facts::{Experts, ModelFacts};
pub(crate) use family::{Family, Share, Way, family};
pub use keys::ModelError;
pub(crate) use keys::text_part;
pub use quantization::WeightFormat;

#[cfg(test)]
mod tests;
