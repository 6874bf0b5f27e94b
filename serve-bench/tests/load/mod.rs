//! `tplens serve run` as a program against a server that plays scripts byte by byte: each trap of a real server's replies,
//! connections, failures, files and signals. What bytes mean is tested beside the code; here it is what becomes of them.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod canary;
pub(crate) mod common;
mod connections;
mod failures;
mod files;
mod hostile;
mod limits;
pub(crate) mod mock;
mod streams;
mod tls;
mod traffic;
mod vllm_form;
