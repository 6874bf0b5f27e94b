//! The compiler that a vendor's installation brings, loaded when the first kernel is.

mod ffi;

pub(crate) use ffi::{CompilerNames, compiler_names};
pub(in crate::runtime) use ffi::{compile, compiler_of};
