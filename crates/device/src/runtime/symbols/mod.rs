//! The functions of a runtime and of its compiler, and what they take.

mod ffi;

pub(super) use ffi::{Code, CompilerFunctions, Functions, Handle};
pub(crate) use ffi::{CompilerNames, Names, compiler_names, names};
