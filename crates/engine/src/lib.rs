//! A serving engine as a pure scheduler in virtual time: requests in, steps with their durations and tokens out.
//!
//! Continuous batching, chunked prefill, a limit on sequences and on key-value blocks, first come first served, and a prefix
//! cache where it is asked for. A step's duration is the sum of its parts: matrix products, attention, element-wise work, host,
//! and the collectives of [`tp_plan::plan()`] on a [`Curve`]. Nothing here sleeps, reads a clock or opens a socket, no text is
//! generated, and a running request is never preempted.
#![forbid(unsafe_code)]

mod curve;
mod error;
mod noise;
mod placement;
mod prefix;
mod profile;
mod request;
mod scheduler;
mod step;

pub use curve::Curve;
pub use error::{EngineError, Refused};
pub use placement::{Limits, surroundings};
pub use prefix::PrefixCounts;
pub use profile::Profile;
pub use request::{Admitted, Emitted, Request};
pub use scheduler::{Engine, Step};
pub use step::{StepLoad, StepParts, StepTime};
