//! Prefill and decode on engines of their own: what a router says to each, what their hand-over costs, and how many of each to run.
//!
//! [`DIALECTS`] has the protocols of vLLM, SGLang and llm-d as rows; [`KvShape`] the bytes of keys and values by model;
//! [`LinkLaw`] the time that they take; [`solve`] the ratio of prefill to decode engines; [`check`] what a published result of such
//! a system says of itself. Nothing here opens a socket, reads a clock or draws a random number.
#![forbid(unsafe_code)]

mod body;
mod check;
mod dialect;
mod kv;
mod link;
mod paper;
mod ratio;

pub use body::{Body, BodyError};
pub use check::{Claim, Finding, check, prompt_flops};
pub use dialect::{
    Ask, Bootstrap, DIALECTS, Dialect, Handover, Leg, Order, Release, Unsupported, by_name,
};
pub use kv::KvShape;
pub use link::{LinkLaw, Transfer};
pub use paper::{Figures, Paper, StepAt, wait};
pub use ratio::{Arm, Capacity, Limit, Plan, Slo, Verdict, judge, solve};
