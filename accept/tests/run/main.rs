//! `accept run` and `accept plan` as a user runs them: on soft boxes, on host memory, and where there is no driver.
#![expect(clippy::unwrap_used, reason = "tests")]

mod boxes;
mod broken;
mod common;
mod refused;
