//! Beside a load: the server's own counters, and what a monitor sees of its machine. Nothing here runs on the load's thread.

mod args;
mod asker;
mod counters;
mod judge;
mod listeners;
mod monitor;
mod names;
mod parse;
mod start;

pub(crate) use args::BesideArgs;
pub(crate) use judge::{judge, others_prompts};
pub(crate) use start::{Beside, Server};
