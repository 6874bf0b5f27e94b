//! `tplens serve engine` as a program, and `tplens serve run` against it: what it refuses, its dialects, its prefix
//! cache. Bytes of single replies are tested inside.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "tests")]

mod dialects;
mod prefix;
mod program;
pub(crate) mod served;
mod talks;

use crate::load::common;
