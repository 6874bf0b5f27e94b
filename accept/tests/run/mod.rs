//! `accept run` and `accept plan` as a user runs them: on soft boxes, on host memory, and where there is no driver.
#![expect(clippy::unwrap_used, reason = "tests")]

mod boxes;
mod broken;
mod children;
mod common;
mod faults;
mod full;
mod late;
mod one_by_one;
mod planted;
mod property;
mod refused;
#[path = "../../src/report/tests/validator.rs"]
#[expect(
    dead_code,
    reason = "the schema's own text is looked at by tests inside of the program"
)]
mod schema;
mod served;
