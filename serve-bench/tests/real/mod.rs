//! `tplens serve run` against a real engine: llama.cpp's server with a tiny model of random weights, on this machine's CPUs.
//! Counts are held exactly against the server's own; times are only shown, since nothing tells the true ones.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "tests")]

mod llama;
mod loads;
mod turns;
