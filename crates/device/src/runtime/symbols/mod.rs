//! The functions of a runtime and of its compiler, and what they take.

mod ffi;

pub(super) use ffi::{Code, CompilerFunctions, DriverFunctions, Functions, Handle};
pub(crate) use ffi::{CompilerNames, DriverNames, Names, compiler_names, driver_names, names};
