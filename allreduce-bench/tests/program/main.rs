//! Runs the built program: on host memory, on simulated machines with known answers, with faults, and with command lines that are wrong.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test where they cannot go on"
)]

mod boxes;
mod canary;
mod cli;
mod common;
mod engine;
mod faults;
mod host;
mod interrupted;
mod killed;
mod known;
mod launched;
mod library;
mod logged;
mod plan;
mod shim;
mod soft;
mod vendors;
