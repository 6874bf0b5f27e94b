//! Runs the built program: on host memory, on soft boxes with known answers, with faults, and with command lines that are wrong.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test where they cannot go on"
)]

mod arms;
mod boxes;
mod cli;
mod common;
mod faults;
mod host;
mod interrupted;
mod known;
mod launched;
mod library;
mod plan;
mod soft;
