//! The chain as its user runs it: real processes with files between them, on simulated machines and on a real engine.
#![expect(clippy::unwrap_used, reason = "tests")]

mod apart;
pub(crate) mod common;
mod demo;
mod fieldcases;
mod pages;
mod planted;
mod real;
mod resumed;
mod two_sizes;
mod watched;
