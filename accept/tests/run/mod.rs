//! `tplens accept run` and `tplens accept plan` as a user runs them: on simulated machines, on host memory, and where there is no driver.
#![expect(clippy::unwrap_used, reason = "tests")]

mod boxes;
mod broken;
mod children;
mod common;
mod faults;
mod full;
mod one_by_one;
mod planted;
mod property;
mod refused;
mod served;
