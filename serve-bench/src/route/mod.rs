//! `tplens serve route`: one address before prefill and decode engines, which loses no key, no header and no block.

mod answer;
mod args;
mod choose;
mod counters;
mod detect;
mod engines;
mod flow;
mod journal;
mod legs;
mod metrics;
mod parts;
mod parts_document;
mod peer;
mod relay;
mod router;
mod run;
mod serve;

pub(crate) use args::Args;
pub(crate) use engines::{PORT, ROUTED_PORT, is_address, spec};
pub(crate) use legs::{question, whole};
pub(crate) use parts::Parts;
pub(crate) use parts_document::{PartsArgs, document, parts, read};
pub(crate) use peer::Peer;
pub(crate) use run::run;
