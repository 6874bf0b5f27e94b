//! `tplens serve route`: one address before prefill and decode engines, which loses no key, no header and no block.

mod answer;
mod args;
mod choose;
mod detect;
mod flow;
mod journal;
mod legs;
mod metrics;
mod peer;
mod relay;
mod router;
mod run;
mod serve;

pub(crate) use args::Args;
pub(crate) use run::run;
