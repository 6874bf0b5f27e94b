//! `tplens serve route`: one address before prefill and decode engines, which loses no key, no header and no block.

mod args;
mod engines;
mod flow;
mod journal;
mod metrics;
mod parts;
mod peer;
mod questions;
mod relay;
mod router;
mod run;

pub(crate) use args::Args;
pub(crate) use engines::{PORT, ROUTED_PORT, is_address, spec};
pub(crate) use parts::{PartsArgs, document, parts, read};
pub(crate) use peer::{Peer, question};
pub(crate) use run::run;
