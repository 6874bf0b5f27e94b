//! `tplens serve route`: one address before prefill and decode engines, which loses no key, no header and no block.

mod args;
mod choose;
mod engines;
mod flow;
mod journal;
mod legs;
mod metrics;
mod parts;
mod peer;
mod questions;
mod relay;
mod router;
mod run;

pub(crate) use args::Args;
pub(crate) use engines::{PORT, ROUTED_PORT, is_address, spec};
pub(crate) use legs::question;
pub(crate) use parts::{PartsArgs, document, parts, read};
pub(crate) use peer::Peer;
pub(crate) use run::run;
