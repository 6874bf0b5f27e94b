//! `serve-bench engine` as a program, and `serve-bench run` against it: what it refuses, its faults, its dialects, its prefix
//! cache, and its own log as the truth that the client's figures are held against. Bytes of single replies are tested inside.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "tests")]

mod dialects;
mod faults;
mod prefix;
mod program;
mod served;
mod truth;

use crate::load::common;
