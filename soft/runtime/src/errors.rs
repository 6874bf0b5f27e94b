//! Names and texts of codes by CUDA's calls, which write them.

use crate::abi::{Out, Status};
use crate::names;
use crate::vendor::Runtime;
use softbox::{Code, Outcome};
use std::ffi::c_char;

/// A code that is not known has the null pointer as its name (cuda.h).
pub(crate) fn name(runtime: &Runtime, code: Status, to: Out<*const c_char>) -> Outcome<()> {
    let is_known = names::is_known(code);
    to.put(match is_known {
        true => names::name(runtime.vendor, code),
        false => std::ptr::null(),
    })?;
    is_known.then_some(()).ok_or(Code::INVALID_VALUE.into())
}
